#include "catalogue/mutex/rows.hpp"

#include <algorithm>

#include "catalogue/families.hpp"
#include "protocols/mutex/voting_sets.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::catalogue {

std::vector<Entry> mutex_rows() {
  return {central_server(),
          central_token(),
          token_ring(),
          lamport(),
          ricart_agrawala(),
          ricart_agrawala_just_released(),
          carvalho_roucairol(),
          maekawa(),
          maekawa_deadlock_free(),
          bakery_messages()};
}

std::unique_ptr<trace::Monitor> mutex_monitor(const sim::Options& options, const Setting&) {
  return std::make_unique<trace::MutexMonitor>(options.nodes <= most_nodes_for_vectors);
}

std::pair<std::uint32_t, std::uint32_t> voting_set_sizes(std::uint32_t nodes) {
  const NodeSet all = NodeSet::range({1}, nodes);
  const mutex::VotingSystem system(all);
  std::uint32_t least = nodes;
  std::uint32_t most = 0;
  for (NodeId member : all) {
    const std::uint32_t size = system.of(member).size();
    least = std::min(least, size);
    most = std::max(most, size);
  }
  return {least, most};
}

}  // namespace conclave::catalogue
