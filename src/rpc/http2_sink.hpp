// The answer to a plain HTTP request that came over HTTP/2.
#pragma once
#include "rpc/server_call.hpp"

namespace conclave::rpc {

class Http2Sink final : public HttpSink {
 public:
  explicit Http2Sink(ServerCall& call) : call_(&call) {}

  void begin(unsigned status, const Metadata& headers, std::optional<std::size_t> length) override {
    call_->begin_http(status, headers, length);
  }
  bool write(std::string_view bytes) override { return call_->write_http(bytes); }
  void end() override { call_->end_http(); }
  bool over() const override { return call_->over(); }
  bool congested() const override { return call_->congested(); }
  void on_writable(std::move_only_function<void()> then) override {
    if (call_->over()) return;
    call_->writable = std::move(then);
    call_->session()->wait_for_room(*call_);
  }
  std::size_t room() const override { return call_->room(); }
  std::size_t largest_answer() const override { return call_->largest_answer(); }
  void when_room(std::size_t bytes, std::move_only_function<void()> then) override {
    if (call_->over()) return;
    call_->writable = std::move(then);
    call_->session()->wait_for_room(*call_, bytes);
  }
  bool hold(std::size_t bytes) override { return call_->over() || call_->session()->hold(*call_, bytes); }
  void on_closed(std::move_only_function<void()> then) override {
    if (call_->over()) return;
    call_->cancelled = [then = std::move(then)](const Status&) mutable { then(); };
  }

 private:
  boost::intrusive_ptr<ServerCall> call_;
};

}  // namespace conclave::rpc
