// Locks, elections and leases of a conclave group or of etcd, for C++ programs.
//
//   auto client = conclave::connect({.endpoints = {"127.0.0.1:2379"}});
//   if (!client) return complain(client.error().message);
//   conclave::Mutex printer(*client, "printer");
//   std::unique_lock hold(printer);                       // or printer.acquire(), which throws nothing
//   print(document, printer.fence(), printer.lost());     // a token that grows, and a warning in time
//
// All calls may come from any thread and wait for their outcome; what goes on between them (renewing leases,
// looking for another server) is done by one thread that the client owns. What fails is told as a value;
// only `lock` and its kin throw, because the standard's locks leave them no other way.
//
// A stop token that warns of a loss is fired by the client's thread: callbacks registered on it should be
// short. Calls of this library made inside them are refused (ErrorKind::misuse).
#pragma once
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace conclave {

// Runs on while the process is stopped and while the machine sleeps: leases do so too.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

enum class ErrorKind {
  invalid,      // what was asked makes no sense: an empty name, a file that is no certificate
  unreachable,  // no server answered
  timed_out,
  stopped,      // the caller's stop token was fired
  lost,         // the lease, and what depends on it, is gone
  refused,      // the server said no
  unsupported,  // the server does not know such calls
  misuse,       // a call from inside a callback of the client's thread; unlocking what is not locked
};

struct Error {
  ErrorKind kind = ErrorKind::refused;
  std::string message = {};
};

struct Options {
  // "host:port", or with http:// or https://. The first that answers is used, until it does not.
  std::vector<std::string> endpoints = {};
  // Files in PEM. If one is named, endpoints without a scheme are taken for https.
  std::string certificate = {};  // ours, with `key`
  std::string key = {};
  std::string authority = {};    // who signs the servers' certificates; else whom the system trusts
  std::string server_name = {};  // expected in the certificate instead of the endpoint's host
  // For calls that are answered at once, and for how long a waiting one looks for a server.
  std::chrono::milliseconds call_timeout{5'000};
};

// A handle; copies share one connection, which ends with the last of them and of what was made from it.
class Client {
 public:
  class Impl;
  explicit Client(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// Reads the files and starts the client. It does not wait for a server: the first call does.
std::expected<Client, Error> connect(const Options& options);

// ---- leases

// A promise of the server that lasts for `ttl` and is renewed every third of it, until this object is
// destroyed or revoked. It is counted from the moment when the last successful renewal was *sent*, so the
// server's count ends later than ours.
class Lease {
 public:
  static std::expected<Lease, Error> grant(const Client& client, std::chrono::seconds ttl,
                                           std::stop_token stop = {});
  Lease(Lease&&) noexcept;
  Lease& operator=(Lease&&) noexcept;
  ~Lease();  // revokes

  std::int64_t id() const;
  std::chrono::seconds ttl() const;  // as granted; etcd grants no less than 2 s
  // Fires a quarter of the ttl before the lease can end, or at once when the server says that it is gone.
  std::stop_token lost() const;
  BootClock::time_point good_until() const;  // when `lost` will fire if nothing is renewed any more
  BootClock::duration margin() const;        // from then until the server may let it end
  // By the clock, not by the token: true means that a process which was stopped and has just gone on still
  // has it.
  bool alive() const;
  std::expected<void, Error> revoke();

  class Impl;

 private:
  explicit Lease(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// ---- locks

struct MutexOptions {
  // Zero: no lease; the lock is held as long as the connection. Conclave's members do that; a lock without
  // lease at etcd ends after 60 s without a word. `lost` then fires when the connection is found to be gone,
  // which can be later than the server's giving the lock to somebody else: rely on the fence.
  std::chrono::seconds ttl{10};
  // For how long `try_lock` waits for the server's answer. A time-out shorter than this is taken for this.
  std::chrono::milliseconds try_wait{500};
};

// A lock between processes, and between the threads that share this object. Not recursive.
class Mutex {
 public:
  Mutex(const Client& client, std::string name, const MutexOptions& options = {});
  ~Mutex();  // releases
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Waits for its turn. The value is the fence.
  std::expected<std::int64_t, Error> acquire(std::stop_token stop = {});
  std::expected<std::int64_t, Error> acquire_for(std::chrono::nanoseconds timeout, std::stop_token stop = {});
  // If the server cannot be told, the lock ends with its lease, which is no longer renewed.
  std::expected<void, Error> release();

  // As std::timed_mutex, for std::unique_lock and std::scoped_lock. They throw std::system_error where no
  // server can be reached or one refuses. `try_lock` asks and waits for `try_wait`: false says that somebody
  // else has the lock, or that the server was slow.
  void lock();
  bool try_lock();
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& timeout) {
    return lock_for(std::chrono::ceil<std::chrono::nanoseconds>(timeout));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& end) {
    return lock_for(std::chrono::ceil<std::chrono::nanoseconds>(end - Clock::now()));
  }
  void unlock();

  // Of the present hold, or the last one. A later holder, anywhere, has a greater one: a store that refuses
  // lower fences than it has seen is safe from those that were stopped for too long.
  std::int64_t fence() const;
  // Of the present hold; fires before the lock can be lost (see Lease::lost). May fire after a release.
  std::stop_token lost() const;
  bool held() const;                         // by this object, judged by the clock
  BootClock::time_point good_until() const;  // without a lease: the end of time, or of the connection
  BootClock::duration margin() const;

  class Impl;

 private:
  bool lock_for(std::chrono::nanoseconds timeout);
  std::unique_ptr<Impl> impl_;
};

// ---- elections

struct Leader {
  std::string value = {};    // what it campaigned with, or proclaimed since
  std::int64_t fence = 0;    // grows from leader to leader
  std::int64_t lease = 0;    // its lease
  std::int64_t version = 0;  // of its value; grows with every proclamation
  bool operator==(const Leader&) const = default;
};

struct ElectionOptions {
  std::chrono::seconds ttl{10};
  std::chrono::milliseconds least_wait{500};  // a shorter time-out is taken for this
};

class Election {
 public:
  Election(const Client& client, std::string name, const ElectionOptions& options = {});
  ~Election();  // resigns
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  // Waits until elected. The value is the fence.
  std::expected<std::int64_t, Error> campaign(std::string value, std::stop_token stop = {});
  std::expected<std::int64_t, Error> campaign_for(std::string value, std::chrono::nanoseconds timeout,
                                                  std::stop_token stop = {});
  std::expected<void, Error> proclaim(std::string value);  // another value, still leader
  std::expected<void, Error> resign();

  // Who leads; empty: nobody.
  std::expected<std::optional<Leader>, Error> leader(std::stop_token stop = {}) const;
  // Tells, in the caller's thread, who leads now and every change, until stopped or until no server can be
  // reached. That nobody leads is not told: etcd says nothing then. Of changes in quick succession, or while
  // the connection is down, the last is told.
  std::expected<void, Error> observe(const std::function<void(const Leader&)>& tell,
                                     std::stop_token stop) const;

  // As those of Mutex, for our own leadership.
  std::int64_t fence() const;
  std::stop_token lost() const;
  bool leading() const;
  BootClock::time_point good_until() const;
  BootClock::duration margin() const;

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace conclave
