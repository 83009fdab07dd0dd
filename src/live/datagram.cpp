#include "live/datagram.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/multicast.hpp>
#include <vector>

#include "live/secrets.hpp"

namespace conclave::live {

namespace asio = boost::asio;
using asio::ip::udp;
using boost::system::error_code;

namespace {

// Taken in one turn of the loop: a flood must leave time for the timers.
constexpr int most_in_a_turn = 64;

std::string no_socket(const Address& where, const error_code& error) {
  return fmt::format("cannot receive datagrams at {}: {}", in_words(where), error.message());
}

}  // namespace

struct Datagrams::Socket : std::enable_shared_from_this<Socket> {
  Socket(asio::io_context& loop, std::size_t most, Receive then)
      : socket(loop), buffer(most + 1), receive(std::move(then)) {}

  void wait() {
    socket.async_wait(udp::socket::wait_read, [weak = weak_from_this()](const error_code& error) {
      const auto self = weak.lock();
      if (error || !self) return;
      for (int i = 0; i < most_in_a_turn && self->take_one(); ++i) {
      }
      self->wait();
    });
  }

  // False if there is nothing more to take. Errors here are about datagrams sent earlier, which may be lost.
  bool take_one() {
    Endpoint from;
    error_code error;
    const std::size_t size = socket.receive_from(asio::buffer(buffer), from, 0, error);
    if (error == asio::error::would_block) return false;
    if (error) return true;
    if (size == buffer.size()) {
      ++too_long;
    } else {
      receive(from, ByteView(buffer).first(size));
    }
    return true;
  }

  udp::socket socket;
  std::vector<std::byte> buffer;
  Receive receive;
  std::uint64_t too_long = 0;
};

Datagrams::Datagrams(std::shared_ptr<Socket> socket) : socket_(std::move(socket)) { socket_->wait(); }
Datagrams::~Datagrams() = default;

std::expected<std::unique_ptr<Datagrams>, std::string> Datagrams::open(asio::io_context& loop,
                                                                       const Address& listen,
                                                                       std::size_t most, Receive receive) {
  const auto where = resolve_datagrams(loop, listen);
  if (!where) return std::unexpected(where.error());
  auto socket = std::make_shared<Socket>(loop, most, std::move(receive));
  error_code error;
  socket->socket.open(where->protocol(), error);
  if (!error) socket->socket.bind(*where, error);
  if (!error) socket->socket.non_blocking(true, error);
  if (error) return std::unexpected(no_socket(listen, error));
  return std::unique_ptr<Datagrams>(new Datagrams(std::move(socket)));
}

std::expected<std::unique_ptr<Datagrams>, std::string> Datagrams::join(asio::io_context& loop,
                                                                       const Address& group,
                                                                       const std::string& interface,
                                                                       std::size_t most, Receive receive) {
  namespace multicast = asio::ip::multicast;
  error_code error;
  const auto address = asio::ip::make_address_v4(group.host, error);
  if (error || !address.is_multicast())
    return std::unexpected(
        fmt::format("{} is no multicast address (224.0.0.0 to 239.255.255.255)", group.host));
  const auto through = asio::ip::make_address_v4(interface, error);
  if (error)
    return std::unexpected(fmt::format("'{}' is no address of an interface of this machine", interface));
  auto socket = std::make_shared<Socket>(loop, most, std::move(receive));
  udp::socket& one = socket->socket;
  one.open(udp::v4(), error);
  if (!error) one.set_option(udp::socket::reuse_address(true), error);
  if (!error) one.bind({address, group.port}, error);
  if (!error) one.set_option(multicast::join_group(address, through), error);
  if (!error) one.set_option(multicast::outbound_interface(through), error);
  if (!error) one.set_option(multicast::enable_loopback(true), error);
  if (!error) one.set_option(multicast::hops(1), error);
  if (!error) one.non_blocking(true, error);
  if (error)
    return std::unexpected(
        fmt::format("cannot join {} through {}: {}", in_words(group), interface, error.message()));
  return std::unique_ptr<Datagrams>(new Datagrams(std::move(socket)));
}

void Datagrams::send(const Endpoint& to, ByteView bytes) {
  error_code lost;
  socket_->socket.send_to(asio::buffer(bytes.data(), bytes.size()), to, 0, lost);
}

Datagrams::Endpoint Datagrams::local() const { return socket_->socket.local_endpoint(); }
std::uint64_t Datagrams::too_long() const { return socket_->too_long; }

std::expected<Datagrams::Endpoint, std::string> resolve_datagrams(asio::io_context& loop,
                                                                  const Address& address) {
  udp::resolver resolver(loop);
  error_code error;
  const auto found =
      resolver.resolve(address.host, std::to_string(address.port), udp::resolver::numeric_service, error);
  if (error || found.empty())
    return std::unexpected(fmt::format("there is no host '{}': {}", address.host, error.message()));
  return found.begin()->endpoint();
}

namespace {

std::string digest_of(std::string_view key, std::string_view purpose, ByteView bytes) {
  std::string text = sha256(purpose);  // of one length, so that it is clear where the bytes begin
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return hmac_sha256(key, text);
}

}  // namespace

Bytes sealed(std::string_view key, std::string_view purpose, ByteView bytes) {
  const std::string digest = digest_of(key, purpose, bytes);
  Bytes out(digest.begin(), digest.end());
  const auto numbers = numbers_of(bytes);
  out.insert(out.end(), numbers.begin(), numbers.end());
  return out;
}

std::optional<ByteView> unsealed(std::string_view key, std::string_view purpose, ByteView bytes) {
  if (bytes.size() < seal_bytes) return std::nullopt;
  const ByteView under = bytes.subspan(seal_bytes);
  const std::string_view shown(reinterpret_cast<const char*>(bytes.data()), seal_bytes);
  if (!same_secret(shown, digest_of(key, purpose, under))) return std::nullopt;
  return under;
}

}  // namespace conclave::live
