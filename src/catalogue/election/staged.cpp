#include "catalogue/election/staged.hpp"

namespace conclave::catalogue {

sim::Report run_staged(const Entry& entry, const Staged& staged, trace::Observer* observer) {
  sim::Options options = {.nodes = staged.members.size(), .members = staged.members};
  options.delay.usual = {sim::Delay::Shape::fixed, staged.latency, staged.latency};
  options.detector = false;
  options.ranked = true;
  options.step_limit = 100'000'000;
  sim::Script script;
  for (NodeId node : staged.dead)
    script.push_back({.what = sim::Action::What::crash, .node = node, .forever = true});
  for (NodeId node : staged.starters) script.push_back({.what = sim::Action::What::wish, .node = node});
  options.script = script;
  return entry.simulate(options,
                        {.protocol = std::string(entry.name),
                         .variant = staged.variant,
                         .members = staged.members,
                         .ring = staged.ring,
                         .coordinator = staged.coordinator,
                         .parameters = staged.parameters},
                        observer);
}

double messages_of(const Entry& entry, const Staged& staged) {
  const sim::Report report = run_staged(entry, staged);
  return static_cast<double>(report.messages - report.bounced);
}

}  // namespace conclave::catalogue
