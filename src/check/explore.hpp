// Every reachable state of a configuration of one protocol.
#pragma once
#include "check/machine.hpp"
#include "check/options.hpp"
#include "check/report.hpp"

namespace conclave::check {

// What the search must know of the protocol beside its processes.
struct Traits {
  Assumptions assumes = {};
  bool in_rounds = false;
};

// Makes the processes anew: a second look at the same configuration needs them without the reductions.
Report explore_with(const std::function<std::unique_ptr<Locals>(bool symmetry)>& make, const Traits& traits,
                    const Options& options);

template <Protocol P, FamilyJudge J>
Report explore(const Options& options, const NodeSet& all, const typename P::Setup& setup, const J& judge) {
  const bool timed = P::assumes.timing == Timing::synchronous && !InRounds<P>;
  if (timed) ensure(options.unit.count > 0, "a synchronous algorithm is explored with a bound on delays");
  const auto make = [&](bool symmetry) -> std::unique_ptr<Locals> {
    return std::make_unique<Machine<P, J>>(Cast{.all = all,
                                                .unit = timed ? options.unit : Ticks{},
                                                .entries = options.entries,
                                                .entries_of = options.entries_of,
                                                .for_ever = options.for_ever,
                                                .with_past = J::needs_past(options.properties),
                                                .count_messages = options.count_messages,
                                                .symmetry = symmetry},
                                           setup, judge);
  };
  return explore_with(make, {.assumes = P::assumes, .in_rounds = InRounds<P>}, options);
}

}  // namespace conclave::check
