#include "client/claim.hpp"

namespace conclave {

using namespace std::chrono_literals;

// ---- what it stands on

std::expected<std::shared_ptr<Footing>, Error> Footing::find(const std::shared_ptr<Client::Impl>& client,
                                                             std::chrono::seconds ttl, Timeout timeout,
                                                             const std::stop_token& stop) {
  auto result = std::make_shared<Footing>(client);
  if (ttl == 0s) {
    result->presence_ = std::make_shared<Presence>(*client);
    client->run_on_loop([&] { result->presence_->start(); });
    return result;
  }
  auto lease = Lease::Impl::grant(client, ttl, timeout, stop);
  if (!lease) return std::unexpected(std::move(lease.error()));
  result->lease_ = std::move(*lease);
  return result;
}

Footing::~Footing() {
  if (presence_) client_->run_on_loop([&] { presence_->stop(); });
}

BootClock::time_point Footing::good_until() const {
  if (lease_) return lease_->keeper().good_until();
  return alive() ? BootClock::time_point::max() : BootClock::time_point::min();
}

std::expected<void, Error> Claim::find_footing(const Deadline& deadline, const std::stop_token& stop) {
  if (const auto present = footing(); present && present->alive()) return {};
  drop_footing();
  const Timeout most = client_->call_timeout();
  const Timeout here = left(deadline);
  auto found = Footing::find(client_, ttl_, here ? std::min(*here, *most) : most, stop);
  if (!found) return std::unexpected(std::move(found.error()));
  const std::lock_guard lock(mutex_);
  footing_ = std::move(*found);
  return {};
}

void Claim::drop_footing() {
  std::shared_ptr<Footing> gone;  // revokes outside the lock
  const std::lock_guard lock(mutex_);
  gone = std::exchange(footing_, nullptr);
}

std::shared_ptr<Footing> Claim::footing() const {
  const std::lock_guard lock(mutex_);
  return footing_;
}

// ---- taking

bool Claim::wait_for_turn(const Deadline& deadline, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto free = [&] { return !busy_; };
  const bool ours =
      deadline.end() ? turn_.wait_until(lock, stop, *deadline.end(), free) : turn_.wait(lock, stop, free);
  if (ours) busy_ = true;
  return ours;
}

void Claim::end_turn(bool keep_footing) {
  std::shared_ptr<Footing> gone;  // revokes outside the lock
  const std::lock_guard lock(mutex_);
  if (!keep_footing) gone = std::exchange(footing_, nullptr);
  busy_ = false;
  held_ = false;
  turn_.notify_one();
}

Timeout Claim::left(const Deadline& deadline) const {
  const Timeout left = deadline.left();
  return left ? std::max(*left, least_wait_) : left;
}

std::expected<std::int64_t, Error> Claim::take(Timeout timeout, const std::stop_token& stop, const Ask& ask) {
  if (client_->on_loop())
    return std::unexpected(Error{ErrorKind::misuse, "a callback of the client's thread must not wait"});
  const Deadline deadline(timeout);
  if (!wait_for_turn(deadline, stop)) {
    return std::unexpected(stop.stop_requested() ? Error{ErrorKind::stopped, "stopped by the caller"}
                                                 : Error{ErrorKind::timed_out, "another thread has it"});
  }
  auto granted = contend(deadline, stop, ask);
  if (!granted) {
    end_turn(false);
    return std::unexpected(std::move(granted.error()));
  }
  const std::lock_guard lock(mutex_);
  held_ = true;
  granted_ = std::move(*granted);
  return granted_.fence;
}

std::expected<Claim::Granted, Error> Claim::contend(const Deadline& deadline, const std::stop_token& stop,
                                                    const Ask& ask) {
  for (;;) {
    if (auto found = find_footing(deadline, stop); !found) return std::unexpected(std::move(found.error()));
    const auto present = footing();
    auto granted = ask(present->lease(), left(deadline), stop, present->lost());
    // What was granted on a lease that ended meanwhile may be somebody else's by now: etcd 3.4 does not look.
    if (granted && present->alive()) return granted;
    const Error why =
        granted ? Error{ErrorKind::lost, "the lease ended while waiting"} : std::move(granted.error());
    drop_footing();
    if (why.kind != ErrorKind::lost && why.kind != ErrorKind::unreachable) return std::unexpected(why);
    if (deadline.passed()) return std::unexpected(Error{ErrorKind::timed_out, why.message});
    if (!Client::Impl::pause(stop))
      return std::unexpected(Error{ErrorKind::stopped, "stopped by the caller"});
  }
}

// ---- holding

std::expected<std::string, Error> Claim::key() const {
  const std::lock_guard lock(mutex_);
  if (!held_) return std::unexpected(Error{ErrorKind::misuse, "it is not held"});
  if (!footing_->alive()) return std::unexpected(Error{ErrorKind::lost, "it was lost"});
  return granted_.key;
}

std::expected<void, Error> Claim::give_back(const Tell& tell) {
  if (client_->on_loop())
    return std::unexpected(Error{ErrorKind::misuse, "a callback of the client's thread must not wait"});
  const auto held = key();
  if (!held && held.error().kind == ErrorKind::misuse) return std::unexpected(held.error());
  std::expected<void, Error> result = {};
  if (held)
    result = tell(*held);
  else
    result = std::unexpected(held.error());
  end_turn(result.has_value());
  return result;
}

std::int64_t Claim::fence() const {
  const std::lock_guard lock(mutex_);
  return granted_.fence;
}

bool Claim::held() const {
  const std::lock_guard lock(mutex_);
  return held_ && footing_->alive();
}

std::stop_token Claim::lost() const {
  const std::lock_guard lock(mutex_);
  return footing_ ? footing_->lost() : std::stop_token();
}

BootClock::time_point Claim::good_until() const {
  const std::lock_guard lock(mutex_);
  return held_ ? footing_->good_until() : BootClock::time_point::min();
}

BootClock::duration Claim::margin() const {
  const std::lock_guard lock(mutex_);
  return footing_ ? footing_->margin() : BootClock::duration(0);
}

}  // namespace conclave
