// Fills the functions of an entry that explore every interleaving of one protocol type.
#pragma once
#include "catalogue/entry.hpp"
#include "check/explore.hpp"

namespace conclave::catalogue {

template <FamilyJudge J>
void leave_as_is(J&, const Setting&) {}

// `prepare` tells the judge what it cannot know from the members alone.
template <Protocol P, FamilyJudge J, typename P::Setup (*setup)(const Setting&),
          void (*prepare)(J&, const Setting&) = leave_as_is<J>>
void bind_check(Entry& entry) {
  entry.checkable = J::properties();
  entry.check = [](const check::Options& options, const Setting& setting) {
    const NodeSet& all = setting.members;
    J judge = J::start(HasServer<P> ? all.without(all.min()) : all, options.properties);
    prepare(judge, setting);
    return check::explore<P, J>(options, setting.members, setup(setting), judge);
  };
}

}  // namespace conclave::catalogue
