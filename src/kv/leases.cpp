#include "kv/leases.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::kv {

Digest Leases::digest_of(LeaseId id, const Lease& lease) {
  return kv::digest({static_cast<std::uint64_t>(id), static_cast<std::uint64_t>(lease.ttl), lease.deadline});
}

void Leases::set_deadline(LeaseId id, Lease& lease, std::uint64_t deadline) {
  digest_ -= digest_of(id, lease);
  if (lease.deadline != 0 && deadline != 0) {
    auto moved = running_.extract({lease.deadline, id});
    moved.value() = {deadline, id};
    running_.insert(std::move(moved));
  } else if (lease.deadline != 0) {
    running_.erase({lease.deadline, id});
  } else if (deadline != 0) {
    running_.insert({deadline, id});
  }
  lease.deadline = deadline;
  digest_ += digest_of(id, lease);
}

void Leases::grant(LeaseId id, std::int64_t ttl) { restore(id, ttl, 0); }

void Leases::restore(LeaseId id, std::int64_t ttl, std::uint64_t deadline) {
  const auto [place, is_new] = leases_.try_emplace(id, Lease{.ttl = ttl, .deadline = deadline});
  ensure(is_new, "a lease is granted once");
  digest_ += digest_of(id, place->second);
  if (deadline == 0) {
    fresh_.push_back(id);
  } else {
    running_.insert({deadline, id});
  }
}

std::int64_t Leases::renew(LeaseId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return 0;
  if (found->second.deadline != 0) {
    set_deadline(id, found->second, 0);
    fresh_.push_back(id);
  }
  return found->second.ttl;
}

void Leases::remove(LeaseId id) {
  const auto found = leases_.find(id);
  ensure(found != leases_.end() && found->second.keys.empty(), "its keys go before the lease");
  const bool was_fresh = is_fresh(found->second);
  if (!was_fresh) running_.erase({found->second.deadline, id});
  digest_ -= digest_of(id, found->second);
  leases_.erase(found);
  if (was_fresh) forget_gone();
}

// Without a step of the clock nobody else would: it stands still while there are no leases, and leases may
// come and go without it.
void Leases::forget_gone() {
  if (++gone_ * 2 <= fresh_.size()) return;
  gone_ = 0;
  std::ranges::sort(fresh_);  // in whatever order they begin: all do at once
  const auto twice = std::ranges::unique(fresh_);
  fresh_.erase(twice.begin(), twice.end());
  std::erase_if(fresh_, [this](LeaseId id) {
    const Lease* lease = find(id);
    return !lease || !is_fresh(*lease);
  });
}

std::int64_t Leases::remaining(const Lease& lease) const {
  if (lease.deadline == 0) return lease.ttl;
  return lease.deadline <= clock_ms_ ? 0 : static_cast<std::int64_t>((lease.deadline - clock_ms_) / 1000);
}

void Leases::attach(LeaseId id, Key& key) {
  if (id == 0) return;
  const auto found = leases_.find(id);
  ensure(found != leases_.end(), "a key goes with a lease that exists");
  auto& keys = found->second.keys;
  const std::size_t before = keys.size();
  keys.insert(keys.end(), &key);  // those of a snapshot come in their order
  attached_ += keys.size() - before;
}

void Leases::detach(LeaseId id, Key& key) {
  if (id == 0) return;
  const auto found = leases_.find(id);
  ensure(found != leases_.end(), "a lease takes its keys with it");
  attached_ -= found->second.keys.erase(&key);
}

void Leases::advance(std::uint64_t elapsed_ms) {
  clock_ms_ += elapsed_ms;
  for (const LeaseId id : fresh_) {
    const auto found = leases_.find(id);
    if (found == leases_.end() || found->second.deadline != 0) continue;
    set_deadline(id, found->second, clock_ms_ + static_cast<std::uint64_t>(found->second.ttl) * 1000);
  }
  fresh_.clear();
  gone_ = 0;
}

}  // namespace conclave::kv
