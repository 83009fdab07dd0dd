// One request of a client, whether it came as gRPC or as JSON: who asks, and how to answer.
#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "rpc/peer.hpp"
#include "rpc/status.hpp"

namespace google::protobuf {
class Message;
}

namespace conclave::rpc {

class Caller {
 public:
  virtual ~Caller() = default;
  // The whole answer; or a refusal. Nothing after it.
  virtual void answer(const google::protobuf::Message& response) = 0;
  virtual void refuse(const Status& status) = 0;
  // One answer of many, for who watches.
  virtual void tell(const google::protobuf::Message& response) = 0;
  virtual bool congested() const = 0;
  virtual void on_room(std::move_only_function<void()> then) = 0;  // once, when it is congested no more
  // How many bytes an answer may have now, as it is sent. Who reads looks before the answer is made: more
  // than `largest_answer` is refused, more than `room` waits for `when_room`, which tells once, on a later
  // turn of the loop, that an answer of this size may be made now. Answers to writes are always taken.
  virtual std::size_t room() const = 0;
  virtual std::size_t largest_answer() const = 0;
  virtual void when_room(std::size_t bytes, std::move_only_function<void()> then) = 0;

  // What an answer is being made of takes so much memory now; 0: it is given back.
  virtual void reserve(std::size_t bytes) = 0;
  // So much is kept as long as the call, for who watches. False if there is no room for more than before.
  virtual bool hold(std::size_t bytes) = 0;
  // An answer in pieces, so that nobody must have the whole of it: its size, then all of it, then the end. It
  // is the message as protobuf or as JSON.
  virtual bool takes_json() const = 0;
  virtual void begin_answer(std::size_t bytes) = 0;
  virtual void add_to_answer(std::string_view piece) = 0;
  virtual void end_answer() = 0;

  virtual bool over() const = 0;
  // It cancelled, vanished or ran out of time before it was answered.
  virtual void on_gone(std::move_only_function<void()> then) = 0;
  virtual const Peer& peer() const = 0;
};

using CallerPtr = std::shared_ptr<Caller>;

}  // namespace conclave::rpc
