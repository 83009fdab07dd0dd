#include "live/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "live/frames.hpp"
#include "live/secrets.hpp"

namespace conclave::live {

std::string wrong_with(const DiscoveryOptions& options) {
  if (options.group.empty() || options.group.size() > longest_group)
    return fmt::format("the name of a group has 1 to {} bytes", longest_group);
  if (options.expected == 0 || options.expected > most_discovered)
    return fmt::format("a group that is discovered has 1 to {} members", most_discovered);
  if (options.self.host.empty() || options.self.host.size() > longest_host || options.self.port == 0)
    return fmt::format("the others need an address host:port of this process, of {} bytes at most",
                       longest_host);
  if (options.every <= options.every.zero() || options.forget < 3 * options.every)
    return "nobody is forgotten before three announcements were missed";
  return {};
}

Address meeting_place(const std::string& group) {
  const std::string digest = sha256("conclave meets: " + group);
  const auto* const bytes = reinterpret_cast<const std::byte*>(digest.data());
  constexpr unsigned first_port = 20'000;
  constexpr unsigned ports = 10'000;
  return {
      fmt::format("239.255.{}.{}", std::to_integer<unsigned>(bytes[0]), std::to_integer<unsigned>(bytes[1])),
      static_cast<std::uint16_t>(first_port + load<std::uint32_t>(bytes + 2) % ports)};
}

std::vector<Peer> settle_ids(const std::vector<Sighting>& in_order) {
  std::set<NodeId> taken;
  for (const Sighting& one : in_order) {
    if (one.id) taken.insert(*one.id);
  }
  std::vector<Peer> members;
  NodeId next = {1};
  for (const Sighting& one : in_order) {
    while (!one.id && taken.contains(next)) ++next.value;
    members.push_back({one.id ? *one.id : next, one.host, one.port});
    if (!one.id) taken.insert(next);
  }
  std::ranges::sort(members, {}, &Peer::id);
  return members;
}

std::string same_id(const std::vector<Sighting>& seen, const Sighting& ours) {
  for (const Sighting& other : seen) {
    if (!ours.id || other.id != ours.id || other.handle == ours.handle) continue;
    if (other.address() == ours.address()) continue;  // a former process at this place
    return fmt::format("two processes have id {}: this one at {} and another at {}", ours.id->value,
                       in_words(ours.address()), in_words(other.address()));
  }
  return {};
}

}  // namespace conclave::live
