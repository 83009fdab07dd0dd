#include "rpc/wire.hpp"

#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>

namespace conclave::rpc {

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// One buffer for all plain connections of a loop: a connection that waits for bytes needs no memory for them.
constexpr std::size_t read_bytes = 64 * 1024;
std::array<char, read_bytes>& scratch() {
  static thread_local std::array<char, read_bytes> buffer;
  return buffer;
}

// Buffers that once were large give their memory back.
constexpr std::size_t worth_keeping = 128 * 1024;
constexpr std::size_t worth_resting = 4 * 1024;
void clear(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > worth_keeping) buffer.shrink_to_fit();
}

}  // namespace

Wire::Wire(tcp::socket socket, TlsPtr tls)
    : socket_(std::move(socket)), linger_timer_(socket_.get_executor()), tls_(std::move(tls)) {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  if (!tls_) return;
  stream_.emplace(socket_, tls_->context);
  tls_buffer_ = std::make_unique<std::array<char, tls_read_bytes>>();
}

void Wire::accept(Done done) {
  if (!stream_) return done({});
  stream_->async_handshake(asio::ssl::stream_base::server,
                           [self = shared_from_this(), done = std::move(done)](const error_code& error) {
                             if (!self->closed_) done(error);
                           });
}

void Wire::connect(const std::string& host, Done done) {
  if (!stream_) return done({});
  const std::string& name = tls_->files.server_name.empty() ? host : tls_->files.server_name;
  error_code is_name;
  asio::ip::make_address(name, is_name);
  if (is_name) SSL_set_tlsext_host_name(stream_->native_handle(), name.c_str());
  if (!tls_->files.trust_anybody) stream_->set_verify_callback(asio::ssl::host_name_verification(name));
  stream_->async_handshake(asio::ssl::stream_base::client,
                           [self = shared_from_this(), done = std::move(done)](const error_code& error) {
                             if (!self->closed_) done(error);
                           });
}

void Wire::start(Owner& owner) {
  owner_ = &owner;
  established_ = true;
  read();
}

void Wire::resume_reading() {
  wants_reading_ = true;
  if (owner_ != nullptr) read();
}

void Wire::read() {
  if (reading_ || closed_ || closing_ || !wants_reading_) return;
  reading_ = true;
  if (stream_) return read_tls();
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& error) {
    self->reading_ = false;
    if (self->closed_ || self->owner_ == nullptr) return;
    if (error) return self->lose(error);
    if (!self->wants_reading_) return;
    self->read_plain();
  });
}

void Wire::read_plain() {
  error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(scratch()), error);
  if (error == asio::error::would_block || error == asio::error::interrupted) return read();
  if (error) return lose(error);
  owner_->received({scratch().data(), count});
  if (!closed_ && owner_ != nullptr) read();
}

void Wire::read_tls() {
  stream_->async_read_some(asio::buffer(*tls_buffer_),
                           [self = shared_from_this()](const error_code& error, std::size_t count) {
                             self->reading_ = false;
                             if (self->closed_) return;
                             if (self->goodbye_waits_) return self->say_goodbye();
                             if (self->owner_ == nullptr) return;
                             if (error) return self->lose(error);
                             self->owner_->received({self->tls_buffer_->data(), count});
                             if (!self->closed_ && self->owner_ != nullptr) self->read();
                           });
}

void Wire::flush() {
  if (busy_ || closed_ || out_.empty()) return;
  if (stream_)
    write_tls();
  else
    write_plain();
}

void Wire::write_plain() {
  error_code error;
  std::size_t written = 0;
  while (written < out_.size() && !error)
    written += socket_.write_some(asio::buffer(out_.data() + written, out_.size() - written), error);
  if (written == out_.size()) {
    clear(out_);
    return written_all();
  }
  out_.erase(0, written);
  if (error != asio::error::would_block && error != asio::error::interrupted) return lose(error);
  busy_ = true;
  socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const error_code& failed) {
    self->busy_ = false;
    if (self->closed_) return;
    if (failed) return self->lose(failed);
    self->write_plain();
    if (!self->closed_ && !self->busy_ && self->owner_ != nullptr) self->owner_->writable();
  });
}

void Wire::write_tls() {
  busy_ = true;
  flying_.swap(out_);
  asio::async_write(*stream_, asio::buffer(flying_),
                    [self = shared_from_this()](const error_code& error, std::size_t) {
                      self->busy_ = false;
                      clear(self->flying_);
                      if (self->closed_) return;
                      if (error) return self->lose(error);
                      if (self->out_.empty()) self->written_all();
                      if (!self->closed_ && self->owner_ != nullptr) self->owner_->writable();
                      self->flush();
                    });
}

void Wire::rest() {
  for (std::string* buffer : {&out_, &flying_})
    if (buffer->empty() && buffer->capacity() > worth_resting) buffer->shrink_to_fit();
}

void Wire::written_all() {
  if (closing_) say_goodbye();
}

void Wire::say_goodbye() {
  if (stream_) {
    goodbye_waits_ = reading_;
    if (reading_) {  // one thing at a time is read from a TLS stream
      error_code ignored;
      socket_.cancel(ignored);
      return;
    }
    stream_->async_shutdown([self = shared_from_this()](const error_code&) { self->close(); });
    return;
  }
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  discard();
}

void Wire::discard() {
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](error_code error) {
    if (self->closed_) return;
    if (!error) self->discarded_ += self->socket_.read_some(asio::buffer(scratch()), error);
    const bool is_bad = error && error != asio::error::would_block;
    if (is_bad || self->discarded_ > most_discarded) return self->close();
    self->discard();
  });
}

void Wire::lose(const error_code& error) {
  Owner* owner = owner_;
  close();
  if (owner == nullptr) return;
  const bool ended = error == asio::error::eof || error == asio::ssl::error::stream_truncated;
  owner->lost(ended ? std::string("the peer closed the connection") : error.message());
}

void Wire::close() {
  if (closed_) return;
  closed_ = true;
  owner_ = nullptr;
  linger_timer_.cancel();
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  held_.reset();
}

void Wire::close_when_written() {
  if (closed_ || closing_) return;
  if (!established_) return close();
  owner_ = nullptr;
  closing_ = true;
  linger_timer_.expires_after(linger_);
  linger_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->close();
  });
  if (busy_) return;
  if (out_.empty()) return say_goodbye();
  flush();
}

std::string Wire::peer_address() const {
  error_code error;
  const auto end = socket_.remote_endpoint(error);
  if (error) return "unknown";
  const std::string host = end.address().to_string();
  return (end.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(end.port());
}

std::string Wire::peer_certificate_name() const {
  if (!stream_) return {};
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(const_cast<Stream&>(*stream_).native_handle()), &X509_free);
  if (!certificate) return {};
  std::array<char, 256> name = {};
  const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName,
                                               name.data(), static_cast<int>(name.size()));
  return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : std::string();
}

}  // namespace conclave::rpc
