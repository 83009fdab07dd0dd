// What a lock without a lease stands on: the connection. A stream that stays open beside it tells of its end.
#pragma once
#include "client/background.hpp"

namespace conclave {

class Presence : public std::enable_shared_from_this<Presence> {
 public:
  explicit Presence(Client::Impl& client) : client_(client) {}
  // ---- on the loop
  void start();
  void stop();
  // ---- from any thread
  std::stop_token lost() const { return lost_.get_token(); }

 private:
  void lose();
  Client::Impl& client_;
  rpc::ClientStream stream_ = {};
  std::shared_ptr<std::function<void()>> on_loss_ = {};
  std::stop_source lost_ = {};
};

}  // namespace conclave
