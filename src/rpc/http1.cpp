#include "rpc/http1.hpp"

#include <algorithm>

namespace conclave::rpc {

namespace http = boost::beast::http;
namespace asio = boost::asio;
using boost::system::error_code;

// The answer to one request. The connection may go before it, and it before the connection.
class Http1Sink final : public HttpSink {
 public:
  Http1Sink(Http1& connection, bool chunks, bool head_only, bool keep_alive)
      : connection_(&connection), chunks_(chunks), head_only_(head_only), keep_alive_(keep_alive) {}

  void begin(unsigned status, const Metadata& headers, std::optional<std::size_t> length) override {
    if (connection_ == nullptr || began_) return;
    began_ = true;
    chunks_ = chunks_ && !length;
    if (!length && !chunks_) keep_alive_ = false;  // HTTP/1.0: the end is where the connection ends
    std::string head = "HTTP/1.1 " + std::to_string(status) + ' ';
    const boost::beast::string_view reason = http::obsolete_reason(static_cast<http::status>(status));
    head.append(reason.data(), reason.size()).append("\r\n");
    for (std::size_t i = 0; i < headers.size(); ++i)
      head.append(headers[i].first).append(": ").append(headers[i].second).append("\r\n");
    if (length) head.append("content-length: ").append(std::to_string(*length)).append("\r\n");
    if (chunks_) head.append("transfer-encoding: chunked\r\n");
    head.append(keep_alive_ ? "\r\n" : "connection: close\r\n\r\n");
    connection_->owner_.http_write(head);
  }

  bool write(std::string_view bytes) override {
    if (connection_ == nullptr) return false;
    if (head_only_ || bytes.empty()) return true;
    if (!chunks_) {
      connection_->owner_.http_write(bytes);
      return true;
    }
    char size[2 * sizeof(std::size_t) + 2];
    const int length = std::snprintf(size, sizeof size, "%zx", bytes.size());
    std::string chunk(size, static_cast<std::size_t>(length));
    chunk.append("\r\n").append(bytes).append("\r\n");
    connection_->owner_.http_write(chunk);
    return true;
  }

  void end() override {
    if (connection_ == nullptr) return;
    Http1& connection = *connection_;
    connection_ = nullptr;
    closed_ = nullptr;
    if (chunks_ && !head_only_) connection.owner_.http_write("0\r\n\r\n");
    if (!keep_alive_) connection.last_request_ = true;
    connection.owner_.http_hold(0);
    connection.answered();
  }

  bool over() const override { return connection_ == nullptr; }
  bool congested() const override {
    return connection_ != nullptr &&
           connection_->owner_.http_pending() >= connection_->limits_.stream_output_bytes;
  }
  void on_writable(std::move_only_function<void()> then) override { writable_ = std::move(then); }
  bool hold(std::size_t bytes) override { return over() || connection_->owner_.http_hold(bytes); }
  std::size_t room() const override { return over() ? 0 : connection_->owner_.http_room(); }
  std::size_t largest_answer() const override { return over() ? 0 : connection_->limits_.answer_bytes; }
  // A connection makes one answer at a time: what it has no room for now, it has none for at all.
  void when_room(std::size_t, std::move_only_function<void()> then) override {
    writable_ = std::move(then);
    if (!over()) connection_->owner_.http_wait_for_room();
  }
  void on_closed(std::move_only_function<void()> then) override {
    if (connection_ != nullptr) closed_ = std::move(then);
  }

  void drained() {
    if (auto then = std::exchange(writable_, nullptr)) then();
  }
  void lost() {
    connection_ = nullptr;
    writable_ = nullptr;
    if (auto then = std::exchange(closed_, nullptr)) then();
  }

 private:
  Http1* connection_;
  bool chunks_;
  bool head_only_;
  bool keep_alive_;
  bool began_ = false;
  std::move_only_function<void()> writable_ = {};
  std::move_only_function<void()> closed_ = {};
};

namespace {

// Every chunked body ends with these bytes: "0\r\n\r\n". Beast 1.81, when shown a part of them twice, is sure
// to have five, and gives up the process if the second time there are four.
constexpr std::size_t shortest_chunked_end = 5;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

unsigned status_of(const error_code& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  return 400;
}

Metadata lower_case(const http::fields& fields) {
  Metadata result;
  for (const auto& field : fields) {
    std::string name(view(field.name_string()));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    result.add(name, view(field.value()));
  }
  return result;
}

}  // namespace

Http1::Http1(const SessionLimits& limits, const Peer& peer, Owner& owner)
    : limits_(limits), peer_(peer), owner_(owner) {
  fresh_parser();
}

Http1::~Http1() { lost(); }

void Http1::lost() {
  closed_ = true;
  if (const auto sink = std::move(sink_)) sink->lost();
}

void Http1::fresh_parser() {
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(limits_.header_list_bytes);
  parser_->body_limit(limits_.message_bytes);
  continue_sent_ = false;
}

void Http1::receive(std::string_view bytes) {
  if (closed_) return;
  input_.append(bytes);
  parse();
}

void Http1::parse() {
  if (parsing_) return;  // an answer given at once comes back here
  parsing_ = true;
  while (!closed_ && sink_ == nullptr && !input_.empty()) {
    if (!under_way_) owner_.http_expects(true);
    under_way_ = true;
    if (parser_->is_header_done() && parser_->chunked() && input_.size() < shortest_chunked_end) break;
    error_code error;
    const std::size_t used = parser_->put(asio::buffer(input_), error);
    input_.erase(0, used);
    if (error && error != http::error::need_more) {
      refuse(status_of(error));
      break;
    }
    if (parser_->is_done()) {
      dispatch();
      continue;
    }
    if (parser_->is_header_done() && !continue_sent_ &&
        view(parser_->get()[http::field::expect]) == "100-continue") {
      continue_sent_ = true;
      owner_.http_write("HTTP/1.1 100 Continue\r\n\r\n");
    }
    if (used == 0 || error == http::error::need_more) break;
  }
  parsing_ = false;
}

void Http1::dispatch() {
  const auto message = parser_->release();
  const bool http11 = message.version() >= 11;
  if (!message.keep_alive()) last_request_ = true;
  sink_ = std::make_shared<Http1Sink>(*this, http11, message.method() == http::verb::head,
                                      message.keep_alive() && !last_request_);
  under_way_ = false;
  const Metadata headers = lower_case(message.base());
  const std::string_view target = view(message.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  const HttpRequest request = {.method = view(message.method_string()),
                               .path = target.substr(0, mark),
                               .query = mark < target.size() ? target.substr(mark + 1) : std::string_view(),
                               .body = message.body(),
                               .headers = headers,
                               .peer = peer_};
  fresh_parser();
  owner_.http_request(request, HttpReply(sink_));
}

void Http1::answered() {
  sink_.reset();
  if (closed_) return;
  if (last_request_) {
    closed_ = true;
    return owner_.http_close();
  }
  owner_.http_expects(false);
  parse();
}

void Http1::refuse(unsigned status) {
  last_request_ = true;
  sink_ = std::make_shared<Http1Sink>(*this, false, false, false);
  const boost::beast::string_view reason = http::obsolete_reason(static_cast<http::status>(status));
  HttpReply(sink_).send(status, "text/plain", std::string(view(reason)) + "\n");
}

void Http1::drained() {
  if (const auto sink = sink_) sink->drained();
}

}  // namespace conclave::rpc
