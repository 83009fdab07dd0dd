// A call that we made: waits for a connection, travels on it, and ends exactly once.
#pragma once
#include "rpc/client.hpp"
#include "rpc/message_stream.hpp"
#include "rpc/timer_wheel.hpp"

namespace conclave::rpc {

class ClientCall final : public MessageStream {
 public:
  ClientCall(const std::shared_ptr<ChannelCore>& core, std::string_view path, const CallOptions& options,
             bool unary, StreamEvents events);

  // ---- what arrives
  void header(std::string_view name, std::string_view value) override;
  void headers_complete(bool last) override;
  void data(std::string_view bytes) override { take_data(bytes); }
  void ended() override { take_end(); }
  void drained() override;
  void closed(std::uint32_t error) override;

  // ---- what the channel does with it
  Metadata head(bool tls, std::string_view authority) const;
  bool fails_fast() const { return !wait_for_ready_; }
  void fail(const Status& status);  // it never left

  // ---- what `ClientStream` offers
  bool over() const override { return over_; }
  void half_close();
  void cancel(Status status);
  std::move_only_function<void()> writable = {};

 private:
  void take_message(std::string_view message) override;
  void input_ended() override;
  void refuse(const Status& status) override;
  bool may_send() override { return !half_closed_; }
  void too_large(std::size_t bytes) override;
  void added(std::size_t bytes) override;
  void deadline_passed();
  void give_up(const Status& status);  // and tell the server
  void finish(const Status& status, bool may_have_run);
  Status status_from_trailers() const;
  bool request_left() const;

  std::weak_ptr<ChannelCore> core_;
  std::string path_;
  Metadata metadata_;
  std::optional<Clock::time_point> deadline_ = {};
  StreamEvents events_;
  Metadata headers_ = {};
  Metadata trailers_ = {};
  std::string answer_ = {};          // of a unary call
  std::optional<Status> wish_ = {};  // how it ends on the next turn of the loop
  TimedMember<ClientCall, &ClientCall::deadline_passed> deadline_timer_{*this};
  std::size_t header_bytes_ = 0;
  std::size_t refusals_ = 0;
  bool unary_;
  bool wait_for_ready_;
  bool head_done_ = false;
  bool got_message_ = false;
  bool half_closed_ = false;
  bool over_ = false;
};
using ClientCallPtr = boost::intrusive_ptr<ClientCall>;

}  // namespace conclave::rpc
