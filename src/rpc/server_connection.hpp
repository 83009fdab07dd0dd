// One connection of a server: TLS if asked for, then whatever the first bytes say, HTTP/2 or HTTP/1.1.
#pragma once
#include "rpc/http1.hpp"
#include "rpc/server_call.hpp"
#include "rpc/wire.hpp"

namespace conclave::rpc {

class ServerConnection final : public std::enable_shared_from_this<ServerConnection>,
                               public Wire::Owner,
                               public Session::Owner,
                               public Http1::Owner {
 public:
  ServerConnection(ServerCore& core, ConnectionId id, boost::asio::ip::tcp::socket socket, const TlsPtr& tls);
  ~ServerConnection();

  void start();
  // Takes nothing new; closes when what is under way is answered.
  void wind_down();
  // Ends every call as UNAVAILABLE, and closes.
  void end_now();
  void cut_off();

 private:
  // Wire
  void received(std::string_view bytes) override;
  void writable() override;
  void lost(std::string_view why) override;
  // Session
  StreamPtr open_stream() override;
  void output_waits() override;
  void goaway_received() override {}
  void pong_received() override { ping_sent_.reset(); }
  // Http1
  void http_request(const HttpRequest& request, HttpReply reply) override;
  void http_write(std::string_view bytes) override;
  std::size_t http_pending() const override { return wire_->pending(); }
  void http_expects(bool request_under_way) override;
  void http_close() override;

  void sniff(std::string_view bytes);
  void speak_http2(std::string_view bytes);
  void speak_http1(std::string_view bytes);
  void take_http2(std::string_view bytes);
  void pump();
  void note_progress();
  void regulate_reading();
  void look_around();  // the timer: who is silent, stalled, or slow?
  void look_at_http2();
  void look_at_http1();
  void wait_for_http1();
  void schedule_look();
  void give_up();
  void close();  // politely; forgets the connection

  ServerCore& core_;
  boost::intrusive_ptr<CountedPeer> peer_;
  std::shared_ptr<Wire> wire_;
  std::string sniffed_ = {};
  std::unique_ptr<Session> session_ = {};
  std::unique_ptr<Http1> http1_ = {};
  std::size_t received_ = 0;
  Clock::time_point heard_ = Clock::now();
  std::optional<Clock::time_point> ping_sent_ = {};
  std::optional<Clock::time_point> stalled_since_ = {};
  std::optional<Clock::time_point> request_due_ = {};  // HTTP/1.1: by then the next request is there
  bool pump_scheduled_ = false;
  bool in_turn_ = false;
  bool winding_down_ = false;
  bool reading_paused_ = false;
  bool looking_ = false;  // the preface is there, and the timer looks for other things
  bool closed_ = false;
  TimedMember<ServerConnection, &ServerConnection::look_around> timer_{*this};
};

}  // namespace conclave::rpc
