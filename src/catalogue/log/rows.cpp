#include "catalogue/log/rows.hpp"

#include "catalogue/families.hpp"
#include "catalogue/log/store_monitor.hpp"

namespace conclave::catalogue {

std::vector<Entry> log_rows() { return {multi_paxos(), raft()}; }

std::unique_ptr<trace::Monitor> log_monitor(const sim::Options&, const Setting&) {
  return std::make_unique<StoreMonitor>(trace::LogMonitor::SecondAct{});
}

}  // namespace conclave::catalogue
