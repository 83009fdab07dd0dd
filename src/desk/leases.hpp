// The leases that this member granted: each ends when nobody renews it in time, and what hangs on it ends
// with it.
//
// Leases belong to one member. They are counted on its monotonic clock, which no operator sets; a lease never
// ends before its time, and at most a few milliseconds after it.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/node_id.hpp"
#include "rpc/call.hpp"
#include "rpc/shares.hpp"
#include "rpc/timer_wheel.hpp"

namespace conclave::desk {

using LeaseId = std::int64_t;  // 0: none

// A number as etcd writes it into keys.
std::string in_hex(LeaseId id);

enum class LeaseEnd { revoked, expired, lost };

struct LeaseLimits {
  std::size_t most = 100'000;
  std::chrono::seconds longest = std::chrono::hours(1);
};

class Leases {
 public:
  using Clock = rpc::Clock;
  // Beyond this etcd refuses; up to it, more than the longest is granted as the longest.
  static constexpr std::int64_t most_seconds = 9'000'000'000;

  struct Gone {
    LeaseId id;
    LeaseEnd how;
    const std::set<std::string>& attached;  // what hung on it
    rpc::Call stream;                       // by which it was last renewed, if by any
  };
  // Called when a lease is no longer there.
  using Ended = std::function<void(const Gone&)>;

  Leases(boost::asio::io_context& loop, NodeId self, LeaseLimits limits, Ended ended);

  // What would be granted for so many seconds, or why not. `id` 0: whichever is free.
  std::expected<std::chrono::seconds, rpc::Status> check(std::int64_t seconds, LeaseId id) const;
  // After `check`, and nothing in between.
  LeaseId grant(std::chrono::seconds time, LeaseId id, rpc::Shares::Part part = {});
  // The seconds until it ends, from now on; nothing if there is no such lease.
  std::optional<std::chrono::seconds> renew(LeaseId id, const rpc::Call& stream = {});
  bool end(LeaseId id, LeaseEnd how);

  bool exists(LeaseId id) const { return leases_.contains(id); }
  void attach(LeaseId id, const std::string& key) { leases_.at(id).attached.insert(key); }
  void detach(LeaseId id, const std::string& key);

  struct Remaining {
    std::chrono::seconds left;  // whole seconds, rounded down
    std::chrono::seconds granted;
    const std::set<std::string>* attached;
  };
  std::optional<Remaining> remaining(LeaseId id) const;
  std::vector<LeaseId> all() const;
  std::size_t size() const { return leases_.size(); }
  // A positive number that no lease has, and that no other member of the group chooses.
  LeaseId fresh_id();

 private:
  struct Lease final : rpc::Timed {
    Lease(Leases& the_owner, LeaseId the_id) : owner(the_owner), id(the_id) {}
    void expired() override { owner.end(id, LeaseEnd::expired); }
    Leases& owner;
    LeaseId id;
    std::chrono::seconds time = {};
    std::set<std::string> attached = {};
    rpc::Call stream = {};
    rpc::Shares::Part part = {};  // of whoever asked for it
  };

  rpc::TimerWheel wheel_;
  LeaseLimits limits_;
  Ended ended_;
  std::uint64_t member_bits_;
  std::uint64_t last_;
  std::unordered_map<LeaseId, Lease> leases_ = {};
};

}  // namespace conclave::desk
