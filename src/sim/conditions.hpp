// The conditions of a simulated run, whatever algorithm runs: its options, how long messages take, what is
// done to them, which links are cut, and the report that grows. The World of a protocol builds on it, and
// only what needs to know the protocol is compiled for each.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/assumptions.hpp"
#include "sim/members.hpp"
#include "sim/options.hpp"
#include "sim/random.hpp"

namespace conclave::sim {

class Conditions {
 protected:
  // What a protocol says of itself and its world.
  struct Nature {
    Assumptions assumes;
    bool in_rounds;
    bool has_server;
  };

  // What comes first at equal times, in a world that ranks.
  enum class Rank : std::uint8_t { crash, delivery, timer, other };

  struct Cut {
    Action::Cut kind;
    NodeSet group;
    NodeId bridge;
  };

  Conditions(const Options& options, const Nature& nature);
  void set_disks();
  ~Conditions();

  // Before the first step: how long faults last, when patience ends, and what happens at which time.
  void set_window();
  void set_deadline();
  Script planned_actions(const NodeSet& all) const;
  // The clients that act by themselves, of so many nodes.
  std::vector<std::uint32_t> starters(std::uint32_t nodes) const;

  std::uint64_t sample_delay(std::uint32_t from, NodeId from_id, NodeId to_id, std::uint64_t nth) const;
  // The nth message of a node, which may have a delay of its own by its type.
  std::uint64_t delay_of(std::uint32_t from, NodeId from_id, NodeId to_id, std::string_view type,
                         std::uint64_t nth) const;
  std::uint64_t usual_delay(std::uint32_t from);
  // The faults that befall the nth message of a node: from the script, or drawn.
  std::vector<Action> message_faults(NodeId from, std::uint64_t nth) const;
  bool is_cut(NodeId from, NodeId to) const;
  // When a message may arrive at the earliest, if its link keeps the order.
  std::uint64_t after_earlier(std::uint32_t from, std::uint32_t to, std::uint64_t at);
  std::int64_t drawn_ppb(std::uint32_t i, std::uint64_t nth, std::int64_t most) const;
  std::uint64_t hold_of(std::uint32_t i, std::uint64_t request) const;
  // To whom the nth request of a client makes it say a word, if to anybody.
  std::optional<std::uint32_t> listener(std::uint32_t i, std::uint64_t nth, std::uint32_t nodes) const;
  void record(const Action& action);
  void count_messages(std::span<const std::string_view> types, std::span<const std::uint64_t> counts);
  void lose(Members& members, std::uint64_t id, const char* why);
  void duplicate(Members& members, std::uint64_t id);

  Options options_;
  Nature nature_;
  Ticks now_ = {};
  Ticks deadline_ = {};
  Report report_;
  // Links.
  bool plain_links_ = true;  // one delay for all, no order to keep, no faults: the fast path
  bool swift_ = true;        // and nothing is cut
  std::optional<std::uint64_t> fixed_delay_;
  bool fifo_ = false;
  bool lossy_ = false;
  std::vector<std::uint64_t> sent_;  // per node, if anything is drawn for messages or links are cut
  std::vector<Cut> cuts_;
  bool slow_disks_ = false;  // now and then
  // The script, or what was planned from the seed.
  std::vector<Action> actions_;
  std::uint64_t actions_left_ = 0;

 private:
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> last_arrival_;  // per link, to keep its order
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Action>> scripted_;  // by node and message
};

}  // namespace conclave::sim
