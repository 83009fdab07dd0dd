// The lock service of etcd, as a mutex.
#include <proto/lock.pb.h>

#include <system_error>

#include "client/claim.hpp"
#include "client/names.hpp"

namespace conclave {

class Mutex::Impl {
 public:
  Impl(const Client& the_client, std::string the_name, const MutexOptions& options)
      : client(the_client.impl()), name(std::move(the_name)), claim(client, options.ttl, options.try_wait) {}

  std::expected<std::int64_t, Error> acquire(Timeout timeout, const std::stop_token& stop) {
    if (auto wrong = wrong_name("lock", name)) return std::unexpected(std::move(*wrong));
    auto fence = claim.take(timeout, stop, [&](auto... terms) { return ask(terms...); });
    if (!fence && fence.error().kind == ErrorKind::timed_out && timeout)
      fence.error().message = "lock '" + name + "' was not to be had in time";
    return fence;
  }

  // The revision at which the lock was found to be ours. The holder before us had its key then no more, and
  // had it at the revision that was its fence: so fences grow from holder to holder.
  std::expected<Claim::Granted, Error> ask(std::int64_t lease, Timeout timeout, const std::stop_token& stop,
                                           const std::stop_token& lost) {
    v3lockpb::LockRequest request;
    request.set_name(name);
    request.set_lease(lease);
    const auto answer =
        client->ask<v3lockpb::LockResponse>("/v3lockpb.Lock/Lock", request, timeout, stop, lost);
    if (!answer) return std::unexpected(answer.error());
    return Claim::Granted{answer->header().revision(), answer->key()};
  }

  std::expected<void, Error> release() {
    return claim.give_back([&](const std::string& key) -> std::expected<void, Error> {
      v3lockpb::UnlockRequest request;
      request.set_key(key);
      const auto answer =
          client->ask<v3lockpb::UnlockResponse>("/v3lockpb.Lock/Unlock", request, client->call_timeout());
      if (!answer) return std::unexpected(answer.error());
      return {};
    });
  }

  std::shared_ptr<Client::Impl> client;
  std::string name;
  Claim claim;
};

Mutex::Mutex(const Client& client, std::string name, const MutexOptions& options)
    : impl_(std::make_unique<Impl>(client, std::move(name), options)) {}

Mutex::~Mutex() { static_cast<void>(impl_->release()); }

std::expected<std::int64_t, Error> Mutex::acquire(std::stop_token stop) {
  return impl_->acquire(std::nullopt, stop);
}
std::expected<std::int64_t, Error> Mutex::acquire_for(std::chrono::nanoseconds timeout,
                                                      std::stop_token stop) {
  return impl_->acquire(timeout, stop);
}
std::expected<void, Error> Mutex::release() { return impl_->release(); }

// ---- as the standard's locks want it

namespace {

[[noreturn]] void raise(const Error& error) {
  const auto code = [&] {
    switch (error.kind) {
      case ErrorKind::invalid: return std::errc::invalid_argument;
      case ErrorKind::unreachable: return std::errc::host_unreachable;
      case ErrorKind::timed_out: return std::errc::timed_out;
      case ErrorKind::misuse: return std::errc::resource_deadlock_would_occur;
      case ErrorKind::unsupported: return std::errc::not_supported;
      default: return std::errc::operation_not_permitted;
    }
  };
  throw std::system_error(std::make_error_code(code()), error.message);
}

}  // namespace

void Mutex::lock() {
  if (const auto fence = acquire(); !fence) raise(fence.error());
}

bool Mutex::try_lock() {
  const auto fence = impl_->acquire(std::chrono::nanoseconds(0), {});
  if (!fence && fence.error().kind != ErrorKind::timed_out) raise(fence.error());
  return fence.has_value();
}

bool Mutex::lock_for(std::chrono::nanoseconds timeout) {
  const auto fence = acquire_for(timeout);
  if (!fence && fence.error().kind != ErrorKind::timed_out) raise(fence.error());
  return fence.has_value();
}

// Where the server cannot be told, the lock ends with its lease; there is nothing else that a caller could
// do.
void Mutex::unlock() { static_cast<void>(release()); }

std::int64_t Mutex::fence() const { return impl_->claim.fence(); }
std::stop_token Mutex::lost() const { return impl_->claim.lost(); }
bool Mutex::held() const { return impl_->claim.held(); }
BootClock::time_point Mutex::good_until() const { return impl_->claim.good_until(); }
BootClock::duration Mutex::margin() const { return impl_->claim.margin(); }

}  // namespace conclave
