// A lease as the client's other parts use it.
#pragma once
#include "client/lease_keeper.hpp"

namespace conclave {

class Lease::Impl {
 public:
  static std::expected<std::unique_ptr<Impl>, Error> grant(const std::shared_ptr<Client::Impl>& client,
                                                           std::chrono::seconds ttl, Timeout timeout,
                                                           const std::stop_token& stop);
  Impl(std::shared_ptr<Client::Impl> client, std::shared_ptr<LeaseKeeper> keeper)
      : client_(std::move(client)), keeper_(std::move(keeper)) {}
  ~Impl();  // revokes, and does not wait for the answer
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const LeaseKeeper& keeper() const { return *keeper_; }
  bool alive() const { return !revoked_ && keeper_->alive(); }
  std::expected<void, Error> revoke();

 private:
  void revoke_later();
  std::shared_ptr<Client::Impl> client_;  // outlives the keeper, whose timers are the loop's
  std::shared_ptr<LeaseKeeper> keeper_;
  std::atomic<bool> revoked_ = false;
};

}  // namespace conclave
