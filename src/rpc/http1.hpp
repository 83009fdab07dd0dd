// HTTP/1.1 on one connection: requests one after the other, answers whole or in chunks. It knows no socket.
#pragma once
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/http.hpp"
#include "rpc/limits.hpp"

namespace conclave::rpc {

class Http1Sink;

class Http1 {
 public:
  class Owner {
   public:
    virtual void http_request(const HttpRequest& request, HttpReply reply) = 0;
    virtual void http_write(std::string_view bytes) = 0;
    virtual std::size_t http_pending() const = 0;         // written, but not gone
    virtual std::size_t http_room() const = 0;            // for answers
    virtual void http_wait_for_room() = 0;                // until `drained`
    virtual bool http_hold(std::size_t) { return true; }  // kept until the answer ends, if there is room
    // A request began to arrive, or the last one is answered and none began.
    virtual void http_expects(bool request_under_way) = 0;
    virtual void http_close() = 0;  // after what was written

   protected:
    ~Owner() = default;
  };

  Http1(const SessionLimits& limits, const Peer& peer, Owner& owner);
  ~Http1();
  Http1(const Http1&) = delete;
  Http1& operator=(const Http1&) = delete;

  void receive(std::string_view bytes);
  void drained();                // output left
  void lost();                   // the connection is gone
  void refuse(unsigned status);  // answers what did not arrive in full, and closes
  // While an answer is made, what the client sends ahead is kept; this much is enough.
  bool wants_more() const { return input_.size() < most_ahead; }
  // Received, but not a request yet.
  std::size_t held() const { return input_.size() + (under_way_ ? parser_->get().body().size() : 0); }
  bool answering() const { return sink_ != nullptr; }
  void close_after_answer() { last_request_ = true; }

 private:
  friend class Http1Sink;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  static constexpr std::size_t most_ahead = 64 * 1024;

  void fresh_parser();
  void parse();
  void dispatch();
  void answered();  // by the sink

  const SessionLimits& limits_;
  const Peer& peer_;
  Owner& owner_;
  std::string input_ = {};
  std::optional<Parser> parser_ = {};
  std::shared_ptr<Http1Sink> sink_ = {};  // of the request that is being answered
  bool under_way_ = false;                // some of a request came
  bool continue_sent_ = false;
  bool last_request_ = false;
  bool parsing_ = false;
  bool closed_ = false;
};

}  // namespace conclave::rpc
