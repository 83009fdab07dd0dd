// One TCP connection on the member's loop, with or without TLS: bytes in, bytes out, and its end.
//
// Writing never blocks and keeps nothing of the caller's: what a connection takes is in the kernel's hands,
// or copied for TLS. Once closed it calls nobody any more.
#pragma once
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "live/frames.hpp"
#include "live/tls.hpp"

namespace conclave::live {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Error = boost::system::error_code;

  struct Handlers {
    std::function<void()> ready;                 // TLS, if any, is up: bytes may flow
    std::function<std::size_t(ByteView)> bytes;  // all that is there; returns how many of them are done with
    std::function<void()> room;                  // after a write that did not take everything
    std::function<void(const std::string&)> lost;
  };

  explicit Connection(Socket socket) : socket_(std::move(socket)), in_(in_bytes) {}

  // `host` is the name that the dialler checks in the certificate, if any.
  enum class Side { dialler, acceptor };
  void start(Handlers handlers, boost::asio::ssl::context* tls, Side side, const std::string& host);

  // How many bytes were taken, from the front; `room` tells when more may be.
  std::size_t write(std::span<const ByteView> pieces);
  // Sends these last bytes, waits for the other side to have read them, and reads no more itself.
  void part(Bytes last_words);
  void close();

  bool closed() const { return closed_; }
  // What ties the handshake to this very TLS session; empty without TLS.
  std::string binding();
  std::string remote() const { return remote_; }

 private:
  static constexpr std::size_t in_bytes = 64 * 1024;
  static constexpr std::size_t staged_bytes = 64 * 1024;
  static constexpr std::size_t most_pieces = 16;

  void read();
  void on_read(const Error& error, std::size_t bytes);
  void begin();
  void wait_for_room();
  std::size_t write_plain(std::span<const ByteView> pieces);
  std::size_t write_secured(std::span<const ByteView> pieces);
  void say_goodbye();
  void drain();
  void fail_later(const Error& error);
  void fail(const Error& error);

  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  Handlers handlers_;
  std::vector<std::byte> in_;
  std::size_t filled_ = 0;
  std::vector<std::byte> staged_;  // what TLS is writing
  Bytes last_words_;
  std::string remote_;
  bool writing_ = false;  // until then there is no room
  bool parting_ = false;
  bool closed_ = false;
};

}  // namespace conclave::live
