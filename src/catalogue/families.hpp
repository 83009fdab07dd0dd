// Every family's rows, in the order in which the catalogue shows them.
#pragma once
#include <vector>

#include "catalogue/entry.hpp"

namespace conclave::catalogue {

std::vector<Entry> mutex_rows();
std::vector<Entry> election_rows();
std::vector<Entry> consensus_rows();
std::vector<Entry> log_rows();
std::vector<Entry> timesync_rows();
std::vector<Entry> membership_rows();
std::vector<Entry> registers_rows();
std::vector<Entry> overlay_rows();
std::vector<Entry> causality_rows();
std::vector<Entry> limits_rows();

}  // namespace conclave::catalogue
