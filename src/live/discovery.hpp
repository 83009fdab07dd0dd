// Processes of one group that start separately find each other, by multicast on the local network or through
// a registry, and agree on who is who.
//
// Every process announces itself again and again: its group, its address and, if it was given one, its id.
// When as many as expected are known, ids are settled and the list is complete. From then on its
// announcements carry the list: whoever missed one takes the list over, and so does a process that comes back
// to its address after a crash. docs/discovery.md says more.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "live/log.hpp"
#include "live/members.hpp"

namespace conclave::live {

inline constexpr std::uint32_t most_discovered = 64;  // members of a group
inline constexpr std::size_t longest_group = 200;     // bytes of its name
inline constexpr std::size_t longest_host = 64;       // bytes of a member's

struct DiscoveryOptions {
  std::string group = {};
  std::optional<NodeId> id = {};  // else given when all are known
  Address self = {};              // where the others will reach this process
  std::uint32_t expected = 3;
  std::string key = {};  // shared by all; empty: anybody on the network may take part
  // Multicast, unless there is a registry.
  Address multicast = {};               // empty: made from the name of the group
  std::string interface = "127.0.0.1";  // through which to speak: this machine only
  std::optional<Address> registry = {};

  using Duration = std::chrono::nanoseconds;
  Duration every = std::chrono::milliseconds(200);  // from one announcement to the next
  Duration forget = std::chrono::seconds(2);        // who was not heard for so long is down
};

struct Discovered {
  NodeId self = {};
  std::vector<Peer> members = {};  // by ascending id, this process among them
  bool came_back = false;          // the others were complete already: a former process had this place
};

struct DiscoveryEvents {
  // Once. May destroy the discovery only later: whoever is late still learns the list from it.
  std::function<void(const Discovered&)> found;
  // Everybody else knows it too, or had the time to; may be left out.
  std::function<void()> settled;
  // Two processes with one id, more processes than expected: a sentence. Before `found` it cannot come to a
  // good end any more.
  std::function<void(const std::string& why)> trouble;
};

// Works while the loop runs and this lives.
class Discovery {
 public:
  virtual ~Discovery() = default;
  // How many were heard so far, this process among them.
  virtual std::size_t known() const = 0;
};

// What is wrong with the options, as a sentence; nothing if they will do.
std::string wrong_with(const DiscoveryOptions& options);

// Where a group of that name meets: 239.255.x.y and a port that the kernel does not give away.
Address meeting_place(const std::string& group);

// An announcement's facts of one process.
struct Sighting {
  NodeId handle = {};         // drawn at its start
  std::uint64_t started = 0;  // microseconds, by the clock of its machine
  std::optional<NodeId> id = {};
  std::string host = {};
  std::uint16_t port = 0;
  bool knows = false;  // it has the complete list
  bool operator==(const Sighting&) const = default;
  Address address() const { return {host, port}; }
};

// The list of members: who was given an id keeps it, the others take the least free numbers from 1 on, in the
// given order.
std::vector<Peer> settle_ids(const std::vector<Sighting>& in_order);

// The sentence for a second process with our id, if one of these is one.
std::string same_id(const std::vector<Sighting>& seen, const Sighting& ours);

}  // namespace conclave::live
