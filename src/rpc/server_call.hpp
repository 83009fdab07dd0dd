// A stream of a server: first a head, then a gRPC call or a plain HTTP request. `Call` is the handle to it.
#pragma once
#include "rpc/message_stream.hpp"
#include "rpc/request_head.hpp"
#include "rpc/server_core.hpp"

namespace conclave::rpc {

class ServerCall final : public MessageStream {
 public:
  ServerCall(CallPool& pool, std::size_t largest_message) : MessageStream(largest_message), pool_(pool) {}

  // Taken from the pool for a new stream of a connection.
  void open(ServerCore& core, PeerPtr peer);

  // ---- what arrives
  void header(std::string_view name, std::string_view value) override;
  void headers_complete(bool last) override;
  void data(std::string_view bytes) override;
  void ended() override;
  void drained() override;
  void go_on() override;
  void too_slow() override;
  void not_taken() override;
  void closed(std::uint32_t error) override;
  const Metadata* trailers() override { return last_word_; }

  // ---- what `Call` offers
  const RequestHead& head() const { return head_; }
  std::optional<Clock::time_point> deadline() const { return deadline_; }
  const Peer& peer() const { return *peer_; }
  bool over() const override { return answered_ || session_ == nullptr; }
  void begin();
  void finish(const Status& status);
  void add_trailer(std::string_view name, std::string_view value) { trailers_.add(name, value); }
  // Ends the call although its handler did not, and tells it so.
  void abort(const Status& status);
  // How many bytes an answer may have now, and at most ever.
  std::size_t room() const;
  std::size_t largest_answer() const { return session_ == nullptr ? 0 : session_->limits().answer_bytes; }
  // The same, and what waits to be sent is dropped.
  void drop(const Status& status, std::uint32_t error);

  std::move_only_function<void()> writable = {};
  std::move_only_function<void(std::string_view)> message = {};
  std::move_only_function<void()> half_close = {};
  std::move_only_function<void(const Status&)> cancelled = {};

  // ---- the same for plain HTTP
  void begin_http(unsigned status, const Metadata& headers, std::optional<std::size_t> length);
  bool write_http(std::string_view bytes);
  void end_http();

 private:
  enum class Kind : std::uint8_t { unknown, grpc, http };

  void unreferenced() override;
  void start_grpc();
  bool take_deadline();
  void deadline_passed();
  void take_message(std::string_view bytes) override;
  void input_ended() override;
  void refuse(const Status& status) override;
  bool may_send() override { return true; }
  void too_large(std::size_t bytes) override;
  bool takes_messages() const override;
  bool may_begin();
  void added(std::size_t bytes) override;
  void take_body(std::string_view bytes);
  void answer_http();
  void refuse_http(unsigned status);
  void drop_callbacks();
  void clear();

  CallPool& pool_;
  ServerCore* core_ = nullptr;
  PeerPtr peer_ = {};
  RequestHead head_ = {};
  std::string body_ = {};  // of a plain HTTP request
  Metadata trailers_ = {};
  const Metadata* last_word_ = nullptr;  // the trailers to send, once they are known
  const Method* method_ = nullptr;
  std::optional<Clock::time_point> deadline_ = {};
  TimedMember<ServerCall, &ServerCall::deadline_passed> deadline_timer_{*this};
  Kind kind_ = Kind::unknown;
  bool head_done_ = false;
  bool counted_ = false;  // among the open calls
  bool got_message_ = false;
  bool began_ = false;     // our head is on its way
  bool answered_ = false;  // our end is on its way

  friend class CallPool;
};

// Calls that are over, kept for the next ones: a steady server allocates none.
class CallPool {
 public:
  explicit CallPool(std::size_t largest_message) : largest_message_(largest_message) {}
  boost::intrusive_ptr<ServerCall> take();
  void give_back(ServerCall* call);
  // The server goes; the pool follows when the last call that somebody holds is given back.
  void orphan();

 private:
  ~CallPool();
  static constexpr std::size_t most_spare = 1024;

  std::size_t largest_message_;
  std::vector<ServerCall*> spare_ = {};
  std::size_t taken_ = 0;
  bool orphaned_ = false;
};

}  // namespace conclave::rpc
