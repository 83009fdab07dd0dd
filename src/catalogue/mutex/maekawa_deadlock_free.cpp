#include "protocols/mutex/maekawa_deadlock_free.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::MaekawaDeadlockFree::Setup setup(const Setting& setting) {
  return {.sets = setting.voting_sets.empty() ? mutex::voting_sets(setting.members) : setting.voting_sets};
}

Claims claims(std::uint32_t nodes, bool high_load) {
  const auto [least, most] = voting_set_sizes(nodes);
  // Every vote may be called back from the requester once per earlier request.
  return {.messages = high_load ? at_least(3.0 * (least - 1), fmt::format("{}+3 per yield", 3 * (most - 1)))
                                : within(3.0 * (least - 1), 3.0 * (most - 1)),
          .client_delay = exactly(2),
          .synchronisation_delay = exactly(2)};
}

}  // namespace

Entry maekawa_deadlock_free() {
  Entry entry = {.name = "maekawa-deadlock-free",
                 .family = "mutex",
                 .title = "Maekawa's quorum voting without deadlock",
                 .paper = "Maekawa, TOCS 3(2), 1985; Sanders, TOCS 5(3), 1987",
                 .year = 1987,
                 .source = "src/protocols/mutex/maekawa_deadlock_free.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "3(K-1) messages, and 3 per vote called back",
                 .properties = {"EM1", "EM2", "ND", "fence"},
                 .remark = "EM3: a later request may collect its votes first",
                 .why_it_differs =
                     "who waits is often itself the voter whose vote it waits for, and saves a hop; a vote "
                     "called back costs some",
                 .variants = {{"canonical", "as published"}},
                 .most_nodes = 10'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::MaekawaDeadlockFree, setup>(entry);
  bind_lock<mutex::MaekawaDeadlockFree, setup>(entry);
  bind_check<mutex::MaekawaDeadlockFree, mutex::Judge, setup>(entry);
  bind_live<mutex::MaekawaDeadlockFree, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.entries = 2; };
  return entry;
}

}  // namespace conclave::catalogue
