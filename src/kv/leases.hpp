// Leases on the cluster's clock, which stands still unless the log says that time has passed.
//
// A lease that was granted or renewed begins to run at the next step of the clock, not at the last one:
// between two steps nobody knows how late it is, and a lease may end late but never early.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "kv/record.hpp"

namespace conclave::kv {

struct KeyOrder {
  using is_transparent = void;
  bool operator()(const Key* a, const Key* b) const { return a->text() < b->text(); }
  bool operator()(const Key* a, std::string_view b) const { return a->text() < b; }
  bool operator()(std::string_view a, const Key* b) const { return a < b->text(); }
};

struct Lease {
  std::int64_t ttl = 0;                // seconds, as granted
  std::uint64_t deadline = 0;          // by the cluster's clock; 0: runs from the next step on
  std::set<Key*, KeyOrder> keys = {};  // that go with it
};

class Leases {
 public:
  std::uint64_t clock_ms() const { return clock_ms_; }
  // The sum of the digests of all leases; whose keys are whose is in the records.
  Digest digest() const { return digest_; }
  const std::map<LeaseId, Lease>& all() const { return leases_; }
  std::size_t fresh() const { return fresh_.size(); }
  const Lease* find(LeaseId id) const {
    const auto found = leases_.find(id);
    return found == leases_.end() ? nullptr : &found->second;
  }

  // What they take of memory, about: nodes of the maps, with what an allocator adds.
  std::uint64_t bytes() const { return leases_.size() * lease_bytes + attached_ * attached_bytes; }
  // A renewal now would change nothing: the lease begins to run with the next step anyway.
  static bool is_fresh(const Lease& lease) { return lease.deadline == 0; }

  void grant(LeaseId id, std::int64_t ttl);
  // Whole seconds until it may end, 0 if there is no such lease.
  std::int64_t renew(LeaseId id);
  void remove(LeaseId id);
  // Whole seconds left.
  std::int64_t remaining(const Lease& lease) const;

  // 0 is no lease.
  void attach(LeaseId id, Key& key);
  void detach(LeaseId id, Key& key);

  void advance(std::uint64_t elapsed_ms);
  bool has_due() const { return !running_.empty() && running_.begin()->first <= clock_ms_; }
  // The one that should have ended first.
  LeaseId first_due() const { return running_.begin()->second; }

  void restore_clock(std::uint64_t clock_ms) { clock_ms_ = clock_ms; }
  void restore(LeaseId id, std::int64_t ttl, std::uint64_t deadline);

 private:
  static constexpr std::uint64_t lease_bytes = 256;
  static constexpr std::uint64_t attached_bytes = 64;

  void forget_gone();
  static Digest digest_of(LeaseId id, const Lease& lease);
  void set_deadline(LeaseId id, Lease& lease, std::uint64_t deadline);

  std::map<LeaseId, Lease> leases_;
  std::set<std::pair<std::uint64_t, LeaseId>> running_;  // by deadline
  std::vector<LeaseId> fresh_;  // to begin at the next step; some may have gone since
  std::size_t gone_ = 0;        // at most so many of them
  std::size_t attached_ = 0;    // keys, to all leases
  std::uint64_t clock_ms_ = 0;
  Digest digest_ = 0;
};

}  // namespace conclave::kv
