// One connection of a channel, from a TCP connection that stands until it is lost.
#pragma once
#include "rpc/channel_core.hpp"
#include "rpc/http2_connection.hpp"

namespace conclave::rpc {

class ClientConnection final : public std::enable_shared_from_this<ClientConnection>,
                               public Http2Connection::Owner {
 public:
  ClientConnection(ChannelCore& core, std::shared_ptr<Wire> wire, Address address);

  void start() { http2_->start({}); }
  bool takes_calls() const { return !closed_ && !leaving_ && http2_->session().takes_requests(); }
  bool send(ClientCall& call);
  void leave();  // no new calls; closes when the last one ended
  void close();  // now; calls end as if the connection was lost
  const Address& address() const { return address_; }

 private:
  StreamPtr open_stream() override;
  void goaway_received() override;
  void moved(std::size_t received, std::size_t sent) override;
  void over(Http2Connection::End end, const std::string& why) override;

  ChannelCore& core_;  // not to be used when closed
  Address address_;
  std::shared_ptr<Http2Connection> http2_;
  bool works_ = false;  // the server said something
  bool leaving_ = false;
  bool closed_ = false;
};

}  // namespace conclave::rpc
