// Datagrams on the loop of a process: a UDP socket that takes no more than it was told to, and seals against
// strangers.
//
//   auto socket = live::Datagrams::open(loop, {"127.0.0.1", 7700}, most_bytes, [](const auto& from, auto
//   bytes) { … });
//   (*socket)->send(to, bytes);
//
// What is sent may be lost, doubled and overtaken, and nobody is told: this is for algorithms that assume no
// better.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "live/frames.hpp"
#include "live/members.hpp"

namespace conclave::live {

class Datagrams {
 public:
  using Endpoint = boost::asio::ip::udp::endpoint;
  // May send; what `bytes` point to is valid during the call.
  using Receive = std::function<void(const Endpoint& from, ByteView bytes)>;

  // Port 0: one that is free. Longer datagrams than `most` are dropped.
  static std::expected<std::unique_ptr<Datagrams>, std::string> open(boost::asio::io_context& loop,
                                                                     const Address& listen, std::size_t most,
                                                                     Receive receive);
  // Hears what anybody sends to that group of addresses through that interface, itself included. Many
  // processes of one machine may do so; what they send does not leave the local network.
  static std::expected<std::unique_ptr<Datagrams>, std::string> join(boost::asio::io_context& loop,
                                                                     const Address& group,
                                                                     const std::string& interface,
                                                                     std::size_t most, Receive receive);
  ~Datagrams();

  // What the kernel does not take is lost, as it might be later.
  void send(const Endpoint& to, ByteView bytes);
  Endpoint local() const;
  std::uint64_t too_long() const;  // datagrams that were dropped for that

 private:
  struct Socket;
  explicit Datagrams(std::shared_ptr<Socket> socket);
  std::shared_ptr<Socket> socket_;  // only ours: what waits in the loop sees when it is gone
};

// Asks the resolver, and waits for it: for times when nothing else is to be done.
std::expected<Datagrams::Endpoint, std::string> resolve_datagrams(boost::asio::io_context& loop,
                                                                  const Address& address);

// The bytes, preceded by a digest that only who knows the key can make. `purpose` keeps what was sealed for
// one use from being taken for another. With an empty key the seal holds off accidents, not people.
inline constexpr std::size_t seal_bytes = digest_bytes;
Bytes sealed(std::string_view key, std::string_view purpose, ByteView bytes);
// What is under the seal, if it is whole.
std::optional<ByteView> unsealed(std::string_view key, std::string_view purpose, ByteView bytes);

}  // namespace conclave::live
