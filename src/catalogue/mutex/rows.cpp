#include "catalogue/mutex/rows.hpp"

#include <algorithm>

#include "protocols/mutex/voting_sets.hpp"

namespace conclave::catalogue {

Figure exactly(double value) { return {fmt::format("{:g}", value), value, value}; }

Figure within(double low, double high) {
  if (low == high) return exactly(low);
  return {fmt::format("{:g} … {:g}", low, high), low, high};
}

Figure at_least(double low, std::string text) { return {std::move(text), low, -1}; }

Figure unclaimed() { return {"-"}; }

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
