// A group of members as the front desk of one of them sees it: named locks, or named elections, decided
// between all members by the engine they run.
//
// The desk's clients are many; to the group this member is one process of the paper. So at most one request
// of this member stands for each name, and the desk hands the lock from one of its clients to the next by
// giving it back and asking again: other members get their turn in between.
//
// Everything happens on the loop of the member. Events may come from inside a call of `acquire` or `release`,
// and from inside an event the desk may call `release`, `note` and `status`.
#pragma once
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/node_id.hpp"
#include "live/frames.hpp"

namespace conclave::live {

inline constexpr std::size_t longest_name = 1024;  // bytes of a lock's or an election's

struct GroupEvents {
  // This member holds the lock, until it releases it. Fences of a name never fall, whoever holds it.
  std::function<void(const std::string& name, std::uint64_t fence)> granted;
  // It does no longer, although it did not release it: it was evicted, or the algorithm gave it up for lost.
  // Its clients have to be told at once.
  std::function<void(const std::string& name, const std::string& why)> lost;
  // Election engines: somebody leads, or nobody that this member knows of.
  std::function<void(const std::string& name, std::optional<NodeId> leader)> elected;
  // What the desk of another member sent with `note`.
  std::function<void(NodeId from, ByteView note)> noted;
  std::function<void(NodeId peer)> peer_up;
  std::function<void(NodeId peer)> peer_down;
  // It was taken out, by whomever: what its clients held or led is over.
  std::function<void(NodeId peer)> peer_evicted;
};

struct MemberStatus {
  NodeId id = {};
  std::string address = {};
  bool self = false;
  bool up = false;
  bool evicted = false;
  std::uint64_t incarnation = 0;
  std::chrono::nanoseconds since = {};  // up or down for so long
};

struct NameStatus {
  std::string name = {};
  std::uint64_t epoch = 0;                  // of this name: grows when it begins anew after a loss
  std::string phase = {};                   // "idle", "waiting", "holding", "gathering"; one word
  std::optional<std::uint64_t> fence = {};  // while this member holds it
  std::optional<NodeId> leader = {};        // election engines
  std::vector<NodeId> waits_for = {};       // members without whose message it cannot go on
  std::chrono::nanoseconds waiting_since = {};
  std::string words = {};  // what it waits for, in a sentence; empty: nothing
};

struct GroupStatus {
  NodeId self = {};
  std::string engine = {};
  std::string group = {};
  std::uint64_t epoch = 0;  // of the membership: grows with every eviction
  std::vector<MemberStatus> members = {};
  std::vector<NameStatus> names = {};
  std::uint64_t messages = 0;           // of the algorithm, sent to other members
  std::vector<std::string> notes = {};  // what an operator should know, a sentence each
};

class Group {
 public:
  enum class Kind { locks, elections };

  virtual ~Group() = default;
  virtual Kind kind() const = 0;
  // The desk says what it wants to hear before the first call.
  virtual void listen(GroupEvents events) = 0;

  // Locks: asks for the lock; `granted` answers. Not while this member asks or holds already.
  virtual void acquire(const std::string& name) = 0;
  // Gives it back; or takes the request back while it is not granted: then `granted` may still come, no more
  // than once, and the desk releases at once; unless it has asked again meanwhile: then that grant is the
  // answer, and no other comes.
  virtual void release(const std::string& name) = 0;

  // Elections: from now on this member takes part in the election of that name, and hears of leaders.
  virtual void take_part(const std::string& name) = 0;
  virtual std::optional<NodeId> leader(const std::string& name) const = 0;

  // To the desk of another member, in order and exactly once while both processes live.
  virtual void note(NodeId to, ByteView note) = 0;

  virtual GroupStatus status() const = 0;
  // Takes a member out that will not come back, in its present incarnation if that is 0; a sentence if not.
  // The new epoch of the membership.
  virtual std::expected<std::uint64_t, std::string> evict(NodeId member, std::uint64_t incarnation) = 0;
  // Clients of a member that dies may go on for so long, because this is the longest time for which the
  // member has leased anything: the group waits it out before it begins anew without that member. Answers
  // when every peer that is up knows it.
  virtual void promise_longest_lease(std::chrono::nanoseconds lease,
                                     std::move_only_function<void()> then) = 0;
};

}  // namespace conclave::live
