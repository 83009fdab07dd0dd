// The rows of the consensus family, and what their runs have in common.
#pragma once
#include "catalogue/entry.hpp"
#include "catalogue/judge.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::catalogue {

Entry sync_flooding();
Entry sync_crash_tolerant();
Entry byzantine_signed();
Entry byzantine_oral();
Entry paxos();

// Judges a run without traitors.
std::unique_ptr<trace::Monitor> consensus_monitor(const sim::Options& options, const Setting& setting);

// One run, judged and with the figures that only a consensus has.
struct ConsensusRun {
  Judged judged = {};
  trace::ConsensusMonitor::Summary summary = {};
};
ConsensusRun judge_consensus(const Entry& entry, const sim::Options& options, const Setting& setting);

}  // namespace conclave::catalogue
