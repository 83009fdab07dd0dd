// The state of a channel: which endpoint, which connection, which calls wait for one.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <random>

#include "rpc/address.hpp"
#include "rpc/client_call.hpp"
#include "rpc/wire.hpp"

namespace conclave::rpc {

class ClientConnection;

struct ChannelCore : std::enable_shared_from_this<ChannelCore> {
  ChannelCore(boost::asio::io_context& the_loop, const ChannelOptions& the_options);

  void start(ClientCallPtr call);
  void again(ClientCallPtr call);  // it was refused before anybody looked at it
  void dequeue(ClientCall& call);
  void close();
  void leave_endpoint();

  // ---- told by a connection
  void connection_works();                               // the server said something
  void connection_leaves(ClientConnection& connection);  // takes no new calls, finishes those it has
  void connection_lost(ClientConnection& connection, const std::string& why, bool worked);

  const Address& address() const { return addresses[current]; }

  boost::asio::io_context& loop;
  ChannelOptions options;
  std::vector<Address> addresses = {};
  TlsPtr tls = {};
  TimerWheel wheel;
  std::function<void(const std::string&, const Status&)> told = {};
  std::shared_ptr<ClientConnection> connection = {};
  bool closed = false;

 private:
  void send_waiting();
  void connect_if_needed();
  void try_next();
  void resolved(const boost::asio::ip::tcp::resolver::results_type& found, std::uint64_t attempt);
  void connected(std::shared_ptr<Wire> wire, std::uint64_t attempt);
  void attempt_failed(std::uint64_t attempt, const std::string& why);
  void round_failed();
  void wait_and_try();
  void tell(const Status& status);

  std::size_t current = 0;     // endpoint in use or being tried
  std::size_t failed_ = 0;     // endpoints that failed in this round
  std::string reasons_ = {};   // of this round
  std::uint64_t attempt_ = 0;  // what belongs to an earlier one is ignored
  enum class Phase { idle, connecting, waiting, connected } phase_ = Phase::idle;
  std::deque<ClientCallPtr> waiting_ = {};
  std::vector<std::shared_ptr<ClientConnection>> leaving_ = {};
  std::chrono::milliseconds wait_;
  std::minstd_rand random_;
  boost::asio::ip::tcp::resolver resolver_;
  std::shared_ptr<boost::asio::ip::tcp::socket> socket_ = {};
  std::shared_ptr<Wire> handshaking_ = {};
  boost::asio::steady_timer timer_;
};

}  // namespace conclave::rpc
