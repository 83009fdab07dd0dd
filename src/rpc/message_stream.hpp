// A stream that carries gRPC messages, on either side: cuts what arrives into messages, holds it back while
// paused, frames what is sent.
#pragma once
#include "rpc/framing.hpp"
#include "rpc/session.hpp"
#include "rpc/status.hpp"

namespace google::protobuf {
class MessageLite;
}

namespace conclave::rpc {

class MessageStream : public Stream {
 public:
  explicit MessageStream(std::size_t largest_message) : reader_(largest_message) {}

  // While paused nothing is delivered, and flow control stops the peer.
  void pause() { paused_ = true; }
  void resume();

  // Puts one message behind what waits to be sent. False if that goes nowhere any more.
  bool send(std::string_view message);
  bool send(const google::protobuf::MessageLite& message);
  // The same in pieces, so that nobody must have the whole message: its size, which is reserved and counted
  // until it is there; then the pieces, which have that size together.
  bool begin_message(std::size_t bytes);
  bool add_to_message(std::string_view piece);
  // Of the message that was begun, so much is missing.
  std::size_t missing() const { return missing_; }
  // So much waits that the sender should wait too; `drained` tells when that is over.
  bool congested();
  void go_on() override;

  virtual bool over() const = 0;  // nobody wants what arrives, or takes what is sent

 protected:
  virtual void take_message(std::string_view message) = 0;
  virtual void input_ended() = 0;                 // after the last message
  virtual void refuse(const Status& status) = 0;  // what arrives cannot be taken
  virtual bool may_send() = 0;                    // one more message
  virtual void too_large(std::size_t bytes) = 0;  // … but not of this size
  // Whether a message is taken now. Otherwise it is held back until there is room for an answer.
  virtual bool takes_messages() const { return true; }
  virtual void added(std::size_t bytes) = 0;  // to the outbox

  // For `data` and `ended` of a stream whose content is messages.
  void take_data(std::string_view bytes);
  void take_end();
  void clear_input();
  bool waits_for_turn_ = false;
  std::size_t missing_ = 0;

 private:
  bool holds_back() const { return paused_ || waits_for_turn_; }
  void wait_for_turn();
  void deliver_held();
  bool fits(std::size_t bytes);
  void deliver(std::string_view bytes);
  void refuse_frame(FrameError error);

  FrameReader reader_;
  std::string held_ = {};  // received, but held back
  bool paused_ = false;
  bool end_held_ = false;  // the end came meanwhile
};

}  // namespace conclave::rpc
