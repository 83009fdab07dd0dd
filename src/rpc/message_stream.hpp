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
  // So much waits that the sender should wait too; `drained` tells when that is over.
  bool congested();

  virtual bool over() const = 0;  // nobody wants what arrives, or takes what is sent

 protected:
  virtual void take_message(std::string_view message) = 0;
  virtual void input_ended() = 0;                 // after the last message
  virtual void refuse(const Status& status) = 0;  // what arrives cannot be taken
  virtual bool may_send() = 0;                    // one more message
  virtual void added(std::size_t bytes) = 0;      // to the outbox

  // For `data` and `ended` of a stream whose content is messages.
  void take_data(std::string_view bytes);
  void take_end();
  void clear_input();

 private:
  void deliver(std::string_view bytes);
  void refuse_frame(FrameError error);

  FrameReader reader_;
  std::string held_ = {};  // received while paused
  bool paused_ = false;
  bool end_held_ = false;  // the end came while paused
};

}  // namespace conclave::rpc
