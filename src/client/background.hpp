// The client's thread: one loop, one channel, and how other threads ask through it.
#pragma once
#include <google/protobuf/message_lite.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <conclave/client.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "rpc/client.hpp"

namespace conclave {

// How long a call may take; empty: as long as the caller waits.
using Timeout = std::optional<std::chrono::nanoseconds>;

// What remains of a time-out that began earlier.
class Deadline {
 public:
  explicit Deadline(Timeout timeout);
  Timeout left() const;  // never negative
  bool passed() const { return end_ && BootClock::now() >= *end_; }
  const std::optional<BootClock::time_point>& end() const { return end_; }

 private:
  std::optional<BootClock::time_point> end_ = {};
};

Error to_error(const rpc::Status& status);

// Endpoints without a scheme are taken for https if a file of TLS is named.
rpc::ChannelOptions channel_options(const Options& options);

class Client::Impl {
 public:
  static std::expected<std::shared_ptr<Impl>, Error> start(const Options& options);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // ---- from any thread but the loop's
  // Waits for the answer. Cancels the call when `stop` or `also` is fired.
  template <class Response>
  std::expected<Response, Error> ask(std::string_view path, const google::protobuf::MessageLite& request,
                                     Timeout timeout, const std::stop_token& stop = {},
                                     const std::stop_token& also = {}) {
    auto bytes = ask_bytes(path, request, timeout, stop, also);
    if (!bytes) return std::unexpected(std::move(bytes.error()));
    Response response;
    if (!response.ParseFromString(*bytes))
      return std::unexpected(Error{ErrorKind::refused, "the server's answer cannot be read"});
    return response;
  }
  // The same for what may be asked twice: again and again until the time-out while no server can be reached.
  template <class Response>
  std::expected<Response, Error> ask_patiently(std::string_view path,
                                               const google::protobuf::MessageLite& request, Timeout timeout,
                                               const std::stop_token& stop = {}) {
    const Deadline deadline(timeout);
    std::optional<Error> unreachable;
    for (;;) {
      auto answer = ask<Response>(path, request, deadline.left(), stop);
      if (answer) return answer;
      // The last call waits for a connection until the end: why there is none, an earlier one has heard.
      if (answer.error().kind == ErrorKind::timed_out && unreachable) return std::unexpected(*unreachable);
      if (answer.error().kind != ErrorKind::unreachable || deadline.passed()) return answer;
      unreachable = answer.error();
      if (!pause(stop)) return std::unexpected(Error{ErrorKind::stopped, "stopped by the caller"});
    }
  }
  // Before another try; false: stopped.
  static bool pause(const std::stop_token& stop);
  // Runs `job` on the loop and waits until it has run.
  void run_on_loop(const std::function<void()>& job);

  // ---- from any thread
  bool on_loop() const { return std::this_thread::get_id() == thread_.get_id(); }
  // Revokes a lease without waiting for the answer. The client's end waits for it, a little.
  void revoke_later(std::int64_t lease);

  // ---- on the loop
  rpc::Channel& channel() { return *channel_; }
  // Leaves the present endpoint, unless the connection changed since `connections` was read.
  void leave_endpoint(std::uint64_t since);
  std::uint64_t connections() const { return connections_; }
  // Told when a connection is lost or could not be made, as long as somebody holds `then`.
  void on_loss(std::weak_ptr<std::function<void()>> then) { on_loss_.push_back(std::move(then)); }

  boost::asio::io_context& loop() { return loop_; }
  Timeout call_timeout() const { return call_timeout_; }

 private:
  void connection_changed(const rpc::Status& status);
  explicit Impl(std::chrono::milliseconds call_timeout) : call_timeout_(call_timeout) {}
  std::expected<std::string, Error> ask_bytes(std::string_view path,
                                              const google::protobuf::MessageLite& request, Timeout timeout,
                                              const std::stop_token& stop, const std::stop_token& also);

  std::chrono::milliseconds call_timeout_;
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{loop_.get_executor()};
  std::unique_ptr<rpc::Channel> channel_ = {};
  std::uint64_t connections_ = 0;  // made or lost so far
  std::vector<std::weak_ptr<std::function<void()>>> on_loss_ = {};
  std::mutex mutex_ = {};
  std::condition_variable farewells_done_ = {};
  std::size_t farewells_ = 0;  // revocations that nobody waits for
  std::thread thread_ = {};
};

}  // namespace conclave
