#include "scenario/scenario.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::scenario {

bool Played::holds() const { return !observed.empty() && std::ranges::all_of(observed, &Observation::seen); }

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> list;
    for (const auto& group :
         {order_scenarios, deadlock_scenarios, token_scenarios, register_scenarios, bully_scenarios,
          split_scenarios, election_scenarios, consensus_scenarios, limit_scenarios}) {
      for (Scenario& scenario : group()) list.push_back(std::move(scenario));
    }
    return list;
  }();
  return all;
}

const Scenario* find(std::string_view name) {
  const auto found = std::ranges::find(scenarios(), name, &Scenario::name);
  return found == scenarios().end() ? nullptr : &*found;
}

Played play(const Scenario& scenario) {
  try {
    return scenario.play();
  } catch (const InvariantViolation& violation) {
    Played failed;
    failed.expect(false, std::string("the run goes as directed: ") + violation.what());
    return failed;
  }
}

}  // namespace conclave::scenario
