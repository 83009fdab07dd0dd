// One call that a client made, as its handler sees it. A handle: copy it, keep it, answer when the answer is
// there.
//
// Everything happens on the loop that runs the server; from another thread, post to it first. A call whose
// client is gone stays valid: it says `over`, and what is sent goes nowhere.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "rpc/metadata.hpp"
#include "rpc/peer.hpp"
#include "rpc/status.hpp"

namespace google::protobuf {
class MessageLite;
}

namespace conclave::rpc {

class ServerCall;

class Call {
 public:
  using Clock = std::chrono::steady_clock;

  Call() = default;  // no call: only assignable
  explicit Call(ServerCall* call);
  Call(const Call& other);
  Call(Call&& other) noexcept;
  Call& operator=(Call other) noexcept;
  ~Call();
  explicit operator bool() const { return call_ != nullptr; }
  bool operator==(const Call&) const = default;

  // ---- what the client said
  std::string_view path() const;
  const Metadata& metadata() const;  // all headers, those with ':' too
  std::optional<Clock::time_point> deadline() const;
  const Peer& peer() const;
  // Nobody waits for an answer: it was given, or the client cancelled, vanished or ran out of time.
  bool over() const;

  // ---- answering
  // One message and OK: all there is to say to a unary call.
  void reply(std::string_view message);
  void reply(const google::protobuf::MessageLite& message);
  // Ends the call: after what was sent comes the status.
  void finish(Status status);
  // One message of many. False if the call is over.
  bool send(std::string_view message);
  bool send(const google::protobuf::MessageLite& message);
  // Sends the headers now rather than with the first message: a watcher wants to know that it is connected.
  void begin();
  void add_trailer(std::string_view name, std::string_view value);

  // ---- back-pressure
  // So much waits that the sender should wait too.
  bool congested() const;
  std::size_t pending_bytes() const;
  // Called once, on a later turn of the loop, when the call has room (again).
  void on_writable(std::move_only_function<void()> then);
  // How many bytes one answer may have now: a small one is always taken, a large one when not too much waits
  // on the connection and memory is left. The answer to a write is taken whatever its size.
  std::size_t room() const;
  std::size_t largest_answer() const;  // … and what it may have at most, ever
  // What an answer is being made of takes so much memory now.
  void reserve(std::size_t bytes);
  // So much is kept as long as the call, for who watches. False if there is no room for more than before.
  bool hold(std::size_t bytes);
  // A message in pieces: its size, which stays reserved until it is there, and then all of it, bit by bit.
  bool begin_message(std::size_t bytes);
  bool add_to_message(std::string_view piece);
  // Called once, on a later turn of the loop, when an answer of this size may be made.
  void when_room(std::size_t bytes, std::move_only_function<void()> then);

  // ---- streams: what else the client says. Messages are valid during the call.
  void on_message(std::move_only_function<void(std::string_view)> then);
  void on_half_close(std::move_only_function<void()> then);  // the client sends nothing more
  // While paused nothing is delivered, and the client is held back by flow control.
  void pause();
  void resume();

  // ---- the end that was not ours: cancelled, connection lost, deadline passed. Called at most once; all
  // other callbacks are forgotten then, and when the call is finished.
  void on_cancel(std::move_only_function<void(const Status&)> then);

 private:
  ServerCall* call_ = nullptr;
};

}  // namespace conclave::rpc
