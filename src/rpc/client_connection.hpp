// One connection of a channel, from a TCP connection that stands until it is lost.
#pragma once
#include "rpc/channel_core.hpp"

namespace conclave::rpc {

class ClientConnection final : public std::enable_shared_from_this<ClientConnection>,
                               public Wire::Owner,
                               public Session::Owner {
 public:
  ClientConnection(ChannelCore& core, std::shared_ptr<Wire> wire, Address address);
  ~ClientConnection();

  void start();
  bool takes_calls() const { return !closed_ && !leaving_ && session_.takes_requests(); }
  bool send(ClientCall& call);
  void leave();  // no new calls; closes when the last one ended
  void close();  // now; calls end as if the connection was lost
  const Address& address() const { return address_; }

 private:
  // Wire
  void received(std::string_view bytes) override;
  void writable() override;
  void lost(std::string_view why) override;
  // Session
  StreamPtr open_stream() override;
  void output_waits() override;
  void goaway_received() override;
  void pong_received() override { ping_sent_.reset(); }

  void pump();
  void look_around();
  void schedule_look();

  ChannelCore* core_;  // gone when closed
  std::shared_ptr<Wire> wire_;
  Address address_;
  Session session_;
  Clock::time_point heard_ = Clock::now();
  std::optional<Clock::time_point> ping_sent_ = {};
  std::optional<Clock::time_point> stalled_since_ = {};
  bool works_ = false;
  bool pump_scheduled_ = false;
  bool in_turn_ = false;
  bool leaving_ = false;
  bool closed_ = false;
  TimedMember<ClientConnection, &ClientConnection::look_around> timer_{*this};
};

}  // namespace conclave::rpc
