// One connection of a server: TLS if asked for, then whatever the first bytes say, HTTP/2 or HTTP/1.1.
#pragma once
#include "rpc/http1.hpp"
#include "rpc/http2_connection.hpp"
#include "rpc/server_call.hpp"

namespace conclave::rpc {

class ServerConnection final : public std::enable_shared_from_this<ServerConnection>,
                               public Guest,
                               public Wire::Owner,
                               public Http2Connection::Owner,
                               public Http1::Owner {
 public:
  ServerConnection(ServerCore& core, ConnectionId id, boost::asio::ip::tcp::socket socket, const TlsPtr& tls,
                   std::shared_ptr<AddressRecord> address);
  ~ServerConnection();

  void start();
  // Takes nothing new; closes when what is under way is answered.
  void wind_down();
  // Ends every call as UNAVAILABLE, and closes.
  void end_now();
  void cut_off() override;

  ConnectionId id() const { return peer_->connection; }
  bool tls() const { return wire_->tls(); }
  const Account& account() const { return account_; }
  const std::shared_ptr<AddressRecord>& address() const { return address_; }
  bool idle() const override;
  Clock::time_point heard() const override;

 private:
  // Wire, until it is known what is spoken, and for HTTP/1.1
  void received(std::string_view bytes) override;
  void writable() override;
  void lost(std::string_view why) override;
  // HTTP/2
  StreamPtr open_stream() override;
  void goaway_received() override {}
  void moved(std::size_t received, std::size_t sent) override;
  void stream_reset() override;
  void settled() override;
  void over(Http2Connection::End end, const std::string& why) override;
  // HTTP/1.1
  void http_request(const HttpRequest& request, HttpReply reply) override;
  void http_write(std::string_view bytes) override;
  std::size_t http_pending() const override { return wire_->pending(); }
  std::size_t http_room() const override;
  void http_wait_for_room() override;
  bool http_hold(std::size_t bytes) override;
  void http_expects(bool request_under_way) override;
  void http_close() override { close(true); }

  void sniff(std::string_view bytes);
  void wait_for_http1();
  void count_http1();
  void room_again();
  void time_passed();
  void close(bool politely);

  ServerCore& core_;
  std::shared_ptr<AddressRecord> address_;
  Account account_;
  boost::intrusive_ptr<CountedPeer> peer_;
  std::shared_ptr<Wire> wire_;
  std::string sniffed_ = {};
  std::shared_ptr<Http2Connection> http2_ = {};
  std::unique_ptr<Http1> http1_ = {};
  std::optional<Clock::time_point> request_due_ = {};    // by then the next request is there
  std::optional<Clock::time_point> stalled_since_ = {};  // the client takes nothing
  Clock::time_point heard_ = Clock::now();
  bool winding_down_ = false;
  bool closed_ = false;
  TimedMember<ServerConnection, &ServerConnection::time_passed> timer_{*this};
  TimedMember<ServerConnection, &ServerConnection::room_again> room_timer_{*this};
};

}  // namespace conclave::rpc
