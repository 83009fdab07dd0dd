#include "catalogue/consensus/rows.hpp"

#include "catalogue/families.hpp"

namespace conclave::catalogue {

std::vector<Entry> consensus_rows() {
  return {sync_flooding(), sync_crash_tolerant(), byzantine_signed(), byzantine_oral(), paxos()};
}

std::unique_ptr<trace::Monitor> consensus_monitor(const sim::Options&, const Setting&) {
  return std::make_unique<trace::ConsensusMonitor>();
}

ConsensusRun judge_consensus(const Entry& entry, const sim::Options& options, const Setting& setting) {
  trace::ConsensusMonitor second;
  ConsensusRun run = {.judged = judge(entry, options, setting, &second)};
  run.summary = second.summary();
  return run;
}

}  // namespace conclave::catalogue
