#include <proto/rpc.pb.h>

#include "client/lease.hpp"

namespace conclave {

using namespace std::chrono_literals;

namespace {

constexpr std::int64_t longest_ttl = 9'000'000'000;  // what etcd takes

}  // namespace

std::expected<std::unique_ptr<Lease::Impl>, Error> Lease::Impl::grant(
    const std::shared_ptr<Client::Impl>& client, std::chrono::seconds ttl, Timeout timeout,
    const std::stop_token& stop) {
  if (ttl < 1s || ttl.count() > longest_ttl)
    return std::unexpected(Error{ErrorKind::invalid, "a lease lasts from 1 to 9,000,000,000 seconds"});
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(ttl.count());
  const auto asked = BootClock::now();
  const auto granted = client->ask_patiently<etcdserverpb::LeaseGrantResponse>(
      "/etcdserverpb.Lease/LeaseGrant", request, timeout, stop);
  if (!granted) return std::unexpected(granted.error());
  if (granted->id() == 0 || granted->ttl() < 1 || granted->ttl() > longest_ttl)
    return std::unexpected(Error{ErrorKind::refused, "the server granted a lease that is none"});
  auto keeper =
      std::make_shared<LeaseKeeper>(*client, granted->id(), std::chrono::seconds(granted->ttl()), asked);
  client->run_on_loop([&] { keeper->start(); });
  return std::make_unique<Impl>(client, std::move(keeper));
}

Lease::Impl::~Impl() {
  if (!revoked_) revoke_later();
}

void Lease::Impl::revoke_later() {
  revoked_ = true;
  client_->run_on_loop([&] { keeper_->stop(); });
  client_->revoke_later(keeper_->id());
}

std::expected<void, Error> Lease::Impl::revoke() {
  if (revoked_) return {};
  if (client_->on_loop()) return std::unexpected(Error{ErrorKind::misuse, "a callback must not wait"});
  revoked_ = true;
  client_->run_on_loop([&] { keeper_->stop(); });
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(keeper_->id());
  const auto answer = client_->ask<etcdserverpb::LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke",
                                                                      request, client_->call_timeout());
  if (!answer && answer.error().kind != ErrorKind::lost) return std::unexpected(answer.error());
  return {};
}

// ---- the public face

Lease::Lease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;
Lease::~Lease() = default;

std::expected<Lease, Error> Lease::grant(const Client& client, std::chrono::seconds ttl,
                                         std::stop_token stop) {
  auto impl = Impl::grant(client.impl(), ttl, client.impl()->call_timeout(), stop);
  if (!impl) return std::unexpected(std::move(impl.error()));
  return Lease(std::move(*impl));
}

std::int64_t Lease::id() const { return impl_->keeper().id(); }
std::chrono::seconds Lease::ttl() const { return impl_->keeper().ttl(); }
std::stop_token Lease::lost() const { return impl_->keeper().lost(); }
BootClock::time_point Lease::good_until() const { return impl_->keeper().good_until(); }
BootClock::duration Lease::margin() const { return impl_->keeper().margin(); }
bool Lease::alive() const { return impl_->alive(); }
std::expected<void, Error> Lease::revoke() { return impl_->revoke(); }

}  // namespace conclave
