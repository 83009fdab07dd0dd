#include "live/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>

namespace conclave::live {

namespace asio = boost::asio;
using asio::ip::tcp;

void Connection::start(Handlers handlers, asio::ssl::context* tls, Side side, const std::string& host) {
  handlers_ = std::move(handlers);
  Error ignored;  // whatever is wrong with the socket shows when it is read
  const tcp::endpoint far = socket_.remote_endpoint(ignored);
  remote_ = fmt::format("{}:{}", far.address().to_string(), far.port());
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  if (!tls) return begin();
  tls_.emplace(socket_, *tls);
  if (side == Side::dialler && !host.empty())
    tls_->set_verify_callback(asio::ssl::host_name_verification(host));
  const auto role = side == Side::dialler ? asio::ssl::stream_base::client : asio::ssl::stream_base::server;
  tls_->async_handshake(role, [self = shared_from_this()](const Error& error) {
    if (error) return self->fail(error);
    if (!self->closed_) self->begin();
  });
}

void Connection::begin() {
  handlers_.ready();
  if (!closed_ && !parting_) read();
}

std::string Connection::binding() { return tls_ ? session_secret(tls_->native_handle()) : std::string(); }

void Connection::read() {
  const auto room = asio::buffer(in_.data() + filled_, in_.size() - filled_);
  const auto done = [self = shared_from_this()](const Error& error, std::size_t bytes) {
    self->on_read(error, bytes);
  };
  tls_ ? tls_->async_read_some(room, done) : socket_.async_read_some(room, done);
}

void Connection::on_read(const Error& error, std::size_t bytes) {
  if (closed_ || parting_) return;
  if (error) return fail(error);
  filled_ += bytes;
  const std::size_t done_with = handlers_.bytes({in_.data(), filled_});
  if (closed_ || parting_) return;
  filled_ -= done_with;
  if (done_with > 0 && filled_ > 0) std::memmove(in_.data(), in_.data() + done_with, filled_);
  // A frame longer than the buffer; whoever allowed its length has bounded this.
  if (filled_ == in_.size()) in_.resize(2 * in_.size());
  read();
}

std::size_t Connection::write(std::span<const ByteView> pieces) {
  if (closed_ || parting_ || writing_ || pieces.empty()) return 0;
  return tls_ ? write_secured(pieces) : write_plain(pieces);
}

std::size_t Connection::write_plain(std::span<const ByteView> pieces) {
  std::array<asio::const_buffer, most_pieces> buffers;
  const std::size_t count = std::min(pieces.size(), most_pieces);
  std::size_t offered = 0;
  for (std::size_t i = 0; i < count; ++i) {
    buffers[i] = asio::buffer(pieces[i].data(), pieces[i].size());
    offered += pieces[i].size();
  }
  Error error;
  const std::size_t taken = socket_.write_some(std::span(buffers).first(count), error);
  if (error && error != asio::error::would_block) {
    fail_later(error);
    return 0;
  }
  if (taken < offered || count < pieces.size()) wait_for_room();
  return taken;
}

void Connection::wait_for_room() {
  writing_ = true;
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const Error& error) {
    self->writing_ = false;
    if (self->closed_ || self->parting_) return;
    if (error) return self->fail(error);
    self->handlers_.room();
  });
}

// Copied, since a message may be given up while TLS still works on it; and joined, since each write becomes a
// record of its own.
std::size_t Connection::write_secured(std::span<const ByteView> pieces) {
  staged_.clear();
  for (const ByteView piece : pieces) {
    const std::size_t fits = std::min(piece.size(), staged_bytes - staged_.size());
    staged_.insert(staged_.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(fits));
  }
  writing_ = true;
  asio::async_write(*tls_, asio::buffer(staged_),
                    [self = shared_from_this()](const Error& error, std::size_t) {
                      self->writing_ = false;
                      if (self->closed_) return;
                      if (self->parting_) return self->say_goodbye();
                      if (error) return self->fail(error);
                      self->handlers_.room();
                    });
  return staged_.size();
}

void Connection::part(Bytes last_words) {
  if (closed_ || parting_) return;
  parting_ = true;
  last_words_ = std::move(last_words);
  if (tls_ && writing_) return;  // whoever is writing goes on with it
  say_goodbye();
}

// A socket that is closed while something arrives is reset, and a reset destroys what was sent last. So we
// close our half, and read until the other side closes its own.
void Connection::say_goodbye() {
  const auto done = [self = shared_from_this()](const Error& error, std::size_t) {
    if (self->closed_) return;
    if (error) return self->fail(error);
    Error ignored;
    self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
    self->drain();
  };
  const auto words = asio::buffer(last_words_);
  tls_ ? asio::async_write(*tls_, words, done) : asio::async_write(socket_, words, done);
}

void Connection::drain() {
  socket_.async_read_some(asio::buffer(in_), [self = shared_from_this()](const Error& error, std::size_t) {
    if (self->closed_) return;
    if (error) return self->fail(error);
    self->drain();
  });
}

void Connection::close() {
  closed_ = true;
  Error ignored;
  socket_.close(ignored);
}

// Whoever writes is in the middle of something else.
void Connection::fail_later(const Error& error) {
  writing_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this(), error] { self->fail(error); });
}

void Connection::fail(const Error& error) {
  if (closed_) return;
  handlers_.lost(error.message());
}

}  // namespace conclave::live
