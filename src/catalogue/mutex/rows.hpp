// The rows of the mutual exclusion family, and the figures they claim.
#pragma once
#include <utility>

#include "catalogue/entry.hpp"

namespace conclave::catalogue {

Entry central_server();
Entry central_token();
Entry token_ring();
Entry lamport();
Entry ricart_agrawala();
Entry ricart_agrawala_just_released();
Entry carvalho_roucairol();
Entry maekawa();
Entry maekawa_deadlock_free();
Entry bakery_messages();

std::unique_ptr<trace::Monitor> mutex_monitor(const sim::Options& options, const Setting& setting);

// The least and the greatest voting set among that many members.
std::pair<std::uint32_t, std::uint32_t> voting_set_sizes(std::uint32_t nodes);

}  // namespace conclave::catalogue
