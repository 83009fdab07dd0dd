// The rows of the replicated logs.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

Entry multi_paxos();
Entry raft();

std::unique_ptr<trace::Monitor> log_monitor(const sim::Options& options, const Setting& setting);

}  // namespace conclave::catalogue
