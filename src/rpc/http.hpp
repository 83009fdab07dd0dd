// Plain HTTP beside gRPC on the same port: the JSON gateway, /health, /metrics, the web page. The same
// handlers serve HTTP/1.1 and, over TLS mostly, HTTP/2.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/metadata.hpp"
#include "rpc/peer.hpp"

namespace conclave::rpc {

// Valid during the call of the handler.
struct HttpRequest {
  std::string_view method;
  std::string_view path;   // without the query, as it was sent: no %XX is decoded
  std::string_view query;  // after the '?'
  std::string_view body;
  const Metadata& headers;  // names in lower case
  const Peer& peer;
};

// The other end of a request, whatever the version; implemented by HTTP/1.1 and HTTP/2.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  virtual void begin(unsigned status, const Metadata& headers, std::optional<std::size_t> length) = 0;
  virtual bool write(std::string_view bytes) = 0;
  virtual void end() = 0;
  virtual bool over() const = 0;
  virtual bool congested() const = 0;
  virtual void on_writable(std::move_only_function<void()> then) = 0;
  virtual void on_closed(std::move_only_function<void()> then) = 0;
  // As with a `Call`: how large an answer may be now, and ever, and when it may be so large.
  virtual std::size_t room() const = 0;
  virtual std::size_t largest_answer() const = 0;
  virtual void when_room(std::size_t bytes, std::move_only_function<void()> then) = 0;
  virtual bool hold(std::size_t) { return true; }  // for who watches; nobody counts it
};

// The answer to one request: a handle, to be used at once or later, on the loop.
class HttpReply {
 public:
  explicit HttpReply(std::shared_ptr<HttpSink> sink) : sink_(std::move(sink)) {}

  // The whole answer.
  void send(unsigned status, std::string_view content_type, std::string_view body) const {
    send(status, {{"content-type", content_type}}, body);
  }
  void send(unsigned status, const Metadata& headers, std::string_view body) const {
    sink_->begin(status, headers, body.size());
    sink_->write(body);
    sink_->end();
  }

  // An answer in pieces, as long as there is something to tell: begin, write …, end.
  // The length, if it is known, is that of all pieces together.
  void begin(unsigned status, const Metadata& headers, std::optional<std::size_t> length = {}) const {
    sink_->begin(status, headers, length);
  }
  bool write(std::string_view piece) const { return sink_->write(piece); }  // false: nobody reads any more
  void end() const { sink_->end(); }

  bool over() const { return sink_->over(); }
  bool congested() const { return sink_->congested(); }
  void on_writable(std::move_only_function<void()> then) const { sink_->on_writable(std::move(then)); }
  // The client went away before the end.
  void on_closed(std::move_only_function<void()> then) const { sink_->on_closed(std::move(then)); }
  std::size_t room() const { return sink_->room(); }
  std::size_t largest_answer() const { return sink_->largest_answer(); }
  void when_room(std::size_t bytes, std::move_only_function<void()> then) const {
    sink_->when_room(bytes, std::move(then));
  }
  bool hold(std::size_t bytes) const { return sink_->hold(bytes); }

 private:
  std::shared_ptr<HttpSink> sink_;
};

using HttpHandler = std::function<void(const HttpRequest&, HttpReply)>;

}  // namespace conclave::rpc
