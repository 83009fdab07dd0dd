#include "catalogue/election/rows.hpp"

#include "catalogue/election/scatternet.hpp"
#include "catalogue/families.hpp"
#include "trace/election_monitor.hpp"

namespace conclave::catalogue {

std::vector<Entry> election_rows() {
  return {all_to_all(),    chang_roberts(), ring_list(),  bully(),      bully_send_to_all(),
          bully_delayed(), bully_polite(),  invitation(), scatternet(), proof_of_work()};
}

std::unique_ptr<trace::Monitor> election_monitor(const sim::Options&, const Setting&) {
  return std::make_unique<trace::ElectionMonitor>();
}

std::unique_ptr<trace::Monitor> polite_election_monitor(const sim::Options&, const Setting&) {
  return std::make_unique<trace::ElectionMonitor>(trace::ElectionMonitor::Winner::any_live);
}

}  // namespace conclave::catalogue
