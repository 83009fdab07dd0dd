// One TCP connection, plain or TLS: bytes in as they come, bytes out as far as the peer takes them.
#pragma once
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/tls.hpp"

namespace conclave::rpc {

class Wire : public std::enable_shared_from_this<Wire> {
 public:
  // What the wire tells its owner. After `lost` nothing more comes.
  class Owner {
   public:
    virtual void received(std::string_view bytes) = 0;  // valid during the call
    virtual void writable() = 0;                        // what was written is gone: there is room again
    virtual void lost(std::string_view why) = 0;

   protected:
    ~Owner() = default;
  };

  using tcp = boost::asio::ip::tcp;
  using Done = std::function<void(const boost::system::error_code&)>;

  Wire(tcp::socket socket, TlsPtr tls);

  // With TLS both begin with the handshake; without, they are done at once.
  void accept(Done done);
  void connect(const std::string& host, Done done);  // the TCP connection stands already

  void start(Owner& owner);
  void pause_reading() { wants_reading_ = false; }
  void resume_reading();

  // What waits to be written: append to it, then flush. While `busy` the peer does not keep up.
  std::string& out() { return out_; }
  void flush();
  bool busy() const { return busy_; }
  // Nothing is written for now: what waiting took is given back.
  void rest();
  std::size_t pending() const { return out_.size() + flying_.size(); }

  // Nothing more is told; what was handed over but not written is lost.
  void close();
  // Writes what is there, says good-bye and waits briefly for the peer to do the same: closing at once could
  // destroy what it has not read yet.
  void close_when_written();
  // … very briefly: others want the descriptor.
  void be_brief() { linger_ = brief_linger; }
  // Held until the socket is closed.
  void hold(std::shared_ptr<void> held) { held_ = std::move(held); }

  std::string peer_address() const;           // "192.0.2.7:4711"
  std::string peer_certificate_name() const;  // CN of a verified client certificate
  bool closed() const { return closed_; }
  bool tls() const { return tls_ != nullptr; }
  tcp::socket& socket() { return socket_; }

 private:
  using Stream = boost::asio::ssl::stream<tcp::socket&>;
  static constexpr std::size_t tls_read_bytes = 4 * 1024;
  static constexpr std::chrono::milliseconds usual_linger{2000};
  static constexpr std::chrono::milliseconds brief_linger{500};
  // More cannot have been on its way when the peer was told: who goes on sending gets no more of our time.
  static constexpr std::size_t most_discarded = std::size_t{4} << 20;

  void read();
  void read_plain();
  void read_tls();
  void write_plain();
  void write_tls();
  void written_all();
  void say_goodbye();
  void discard();
  void lose(const boost::system::error_code& error);

  tcp::socket socket_;
  boost::asio::steady_timer linger_timer_;
  TlsPtr tls_;
  std::shared_ptr<void> held_ = {};
  std::chrono::milliseconds linger_ = usual_linger;
  std::optional<Stream> stream_ = {};
  std::unique_ptr<std::array<char, tls_read_bytes>> tls_buffer_ = {};
  Owner* owner_ = nullptr;
  std::string out_ = {};
  std::string flying_ = {};  // TLS: what the engine works on must stay where it is
  bool wants_reading_ = true;
  bool reading_ = false;
  bool busy_ = false;
  bool established_ = false;  // TLS: the handshake is done
  bool closing_ = false;
  bool goodbye_waits_ = false;  // for the read under way to end
  std::size_t discarded_ = 0;   // since the good-bye
  bool closed_ = false;
};

}  // namespace conclave::rpc
