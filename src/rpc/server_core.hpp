// What the connections of one server share.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "rpc/account.hpp"
#include "rpc/bucket.hpp"
#include "rpc/server.hpp"
#include "rpc/timer_wheel.hpp"

namespace conclave::rpc {

class ServerConnection;
class CallPool;

struct Method {
  Server::UnaryHandler unary = {};
  Server::StreamHandler stream = {};
};

struct Route {
  HttpHandler handler;
  Access access;
};

// Looked up by string_view, without making a string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// Counted without atomics: everything here belongs to the loop.
struct CountedPeer : Peer, boost::intrusive_ref_counter<CountedPeer, boost::thread_unsafe_counter> {};
using PeerPtr = boost::intrusive_ptr<const CountedPeer>;

struct Listener {
  boost::asio::ip::tcp::acceptor acceptor;
  boost::asio::steady_timer pause;  // after an error such as too many open files
  TlsPtr tls;
};

// A connection among those of its address.
class Guest : public boost::intrusive::list_base_hook<> {
 public:
  // Nothing is under way: nobody loses anything when it ends.
  virtual bool idle() const = 0;
  virtual Clock::time_point heard() const = 0;
  virtual void cut_off() = 0;

 protected:
  ~Guest() = default;
};

// What the clients of one address have together. For IPv6, of one network of 64 bits: a host may have all of
// it.
struct AddressRecord {
  AddressRecord(const ServerLimits& limits, Account& server)
      : account(limits.memory_bytes / 4 * 3, &server),
        resets(limits.address_resets_burst, limits.address_resets_per_second) {}

  Account account;
  Bucket resets;
  boost::intrusive::list<Guest> guests = {};  // its connections, that which was looked at last at the end
  std::size_t places = 0;                     // descriptors, of connections that are ending too
  std::size_t handshakes = 0;
};

struct ServerCore : std::enable_shared_from_this<ServerCore> {
  ServerCore(boost::asio::io_context& the_loop, const ServerLimits& the_limits);
  ~ServerCore();

  const Method* method(std::string_view path) const;
  const Route* route(std::string_view path) const;
  void answer_http(const HttpRequest& request, HttpReply reply);
  bool is_ours(std::string_view name) const;
  void accept_on(const std::shared_ptr<Listener>& listener);
  void add_connection(boost::asio::ip::tcp::socket socket, const TlsPtr& tls);
  // The record of an address; records that say nothing any more are forgotten on the way.
  std::shared_ptr<AddressRecord> record_of(const boost::asio::ip::address& address);
  // Whether there is a place for one more of this address. If the server is full, an idle connection of the
  // address that has most gives way to others; and any connection of one that has more than its part.
  bool make_place(AddressRecord& newcomer);
  bool full() const;
  // A descriptor of this address is taken as long as what is returned is held.
  std::shared_ptr<void> take_place(const std::shared_ptr<AddressRecord>& address);
  void count_place(AddressRecord& address, int more);
  // So many places are taken that nobody should keep one without need.
  bool crowded() const { return places * 2 >= limits.connections; }
  // TLS begins, and is done or over. If too many have only begun, the oldest of them ends.
  void handshake_begins(ServerConnection& connection);
  void handshake_over(ServerConnection& connection);
  // On the next turn of the loop, connections that have most are ended until all accounts are within limits.
  void relieve();
  void relieve_now();
  void forget(ConnectionId id);
  void close_all();
  void tell_if_drained();

  boost::asio::io_context& loop;
  const ServerLimits limits;
  Account memory;
  std::map<boost::asio::ip::address, std::shared_ptr<AddressRecord>> addresses = {};
  bool relieving = false;
  TimerWheel wheel;
  CallPool* pool;  // outlives us while calls are held
  ServerStats stats = {};
  std::unordered_map<std::string, Method, TextHash, std::equal_to<>> methods = {};
  std::map<std::string, Route, std::less<>> routes = {};
  std::function<bool(std::string_view)> called = {};
  std::string machine_name = {};
  std::function<Status(const Call&)> before_each = {};
  std::function<Status(std::string_view)> unknown = {};
  std::function<void(ConnectionId)> disconnected = {};
  std::vector<std::shared_ptr<Listener>> listeners = {};
  std::vector<TlsPtr> certificates = {};
  std::unordered_map<std::uint64_t, std::shared_ptr<ServerConnection>> connections = {};
  std::uint64_t last_connection = 0;
  std::size_t places = 0;
  std::set<std::pair<std::size_t, AddressRecord*>> by_places = {};
  std::map<std::uint64_t, ServerConnection*> handshakes = {};  // the oldest first
  bool draining = false;
  std::move_only_function<void()> drained = {};
  boost::asio::steady_timer grace;
};

}  // namespace conclave::rpc
