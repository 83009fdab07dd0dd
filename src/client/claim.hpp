// What locks and elections have in common: asking for something that stands on a lease, and holding it.
//
// A call that did not end well may still be at work at the server: it may take what nobody waits for any
// longer, or give back what was taken again since. Both are done under the name of the lease, so after every
// such call the lease is given up, and the next try has a new one.
#pragma once
#include "client/lease.hpp"
#include "client/presence.hpp"

namespace conclave {

// A lease, or without one the connection.
class Footing {
 public:
  static std::expected<std::shared_ptr<Footing>, Error> find(const std::shared_ptr<Client::Impl>& client,
                                                             std::chrono::seconds ttl, Timeout timeout,
                                                             const std::stop_token& stop);
  explicit Footing(std::shared_ptr<Client::Impl> client) : client_(std::move(client)) {}
  ~Footing();
  Footing(const Footing&) = delete;
  Footing& operator=(const Footing&) = delete;

  std::int64_t lease() const { return lease_ ? lease_->keeper().id() : 0; }
  std::stop_token lost() const { return lease_ ? lease_->keeper().lost() : presence_->lost(); }
  bool alive() const { return lease_ ? lease_->alive() : !presence_->lost().stop_requested(); }
  BootClock::time_point good_until() const;
  BootClock::duration margin() const { return lease_ ? lease_->keeper().margin() : BootClock::duration(0); }

 private:
  std::shared_ptr<Client::Impl> client_;
  std::unique_ptr<Lease::Impl> lease_ = {};
  std::shared_ptr<Presence> presence_ = {};
};

class Claim {
 public:
  struct Granted {
    std::int64_t fence = 0;
    std::string key = {};  // under which the server knows it
  };
  // Asks the server once, until the time-out, a stop, or the loss of the lease.
  using Ask = std::function<std::expected<Granted, Error>(
      std::int64_t lease, Timeout, const std::stop_token& stop, const std::stop_token& lost)>;
  using Tell = std::function<std::expected<void, Error>(const std::string& key)>;

  // A shorter time-out than `least_wait` is too short for a server to answer at all, and is taken for that.
  Claim(std::shared_ptr<Client::Impl> client, std::chrono::seconds ttl, std::chrono::milliseconds least_wait)
      : client_(std::move(client)), ttl_(ttl), least_wait_(least_wait) {}

  // One thread at a time asks or holds; the others wait for their turn.
  std::expected<std::int64_t, Error> take(Timeout timeout, const std::stop_token& stop, const Ask& ask);
  std::expected<void, Error> give_back(const Tell& tell);
  // The key, if it is held.
  std::expected<std::string, Error> key() const;

  std::int64_t fence() const;
  bool held() const;
  std::stop_token lost() const;
  BootClock::time_point good_until() const;
  BootClock::duration margin() const;

 private:
  bool wait_for_turn(const Deadline& deadline, const std::stop_token& stop);
  void end_turn(bool keep_footing);
  Timeout left(const Deadline& deadline) const;
  std::expected<Granted, Error> contend(const Deadline& deadline, const std::stop_token& stop,
                                        const Ask& ask);
  std::expected<void, Error> find_footing(const Deadline& deadline, const std::stop_token& stop);
  void drop_footing();
  std::shared_ptr<Footing> footing() const;

  std::shared_ptr<Client::Impl> client_;
  const std::chrono::seconds ttl_;
  const std::chrono::nanoseconds least_wait_;
  mutable std::mutex mutex_ = {};
  std::condition_variable_any turn_ = {};
  bool busy_ = false;  // a thread asks or holds
  bool held_ = false;
  Granted granted_ = {};
  std::shared_ptr<Footing> footing_ = {};  // kept from hold to hold
};

}  // namespace conclave
