// Raft between real processes, as one of them plays it.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

live::Played play_raft(const live::Casting& casting, const Setting& setting, trace::Observer& observer);

}  // namespace conclave::catalogue
