#include "client/background.hpp"

#include <proto/rpc.pb.h>
#include <time.h>

#include <boost/asio/post.hpp>
#include <csignal>

namespace conclave {

namespace asio = boost::asio;
using namespace std::chrono_literals;

BootClock::time_point BootClock::now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

Deadline::Deadline(Timeout timeout) {
  // What lies so far ahead that the sum could overflow is for ever.
  if (timeout && *timeout < std::chrono::hours(24 * 365 * 10)) end_ = BootClock::now() + *timeout;
}

Timeout Deadline::left() const {
  if (!end_) return std::nullopt;
  return std::max<std::chrono::nanoseconds>(0ns, *end_ - BootClock::now());
}

Error to_error(const rpc::Status& status) {
  using rpc::Code;
  const bool lease_gone = status.message.contains("requested lease not found") ||
                          status.message.contains("session is expired") ||
                          status.message.contains("not leader");
  const auto kind = [&] {
    if (lease_gone) return ErrorKind::lost;
    // etcd's lock and election services tell so, as UNKNOWN, that they heard of our deadline or our
    // cancelling first.
    if (status.message == "context deadline exceeded") return ErrorKind::timed_out;
    if (status.message == "context canceled") return ErrorKind::stopped;
    switch (status.code) {
      case Code::invalid_argument:
      case Code::out_of_range: return ErrorKind::invalid;
      case Code::deadline_exceeded: return ErrorKind::timed_out;
      case Code::cancelled: return ErrorKind::stopped;
      case Code::unavailable: return ErrorKind::unreachable;
      case Code::unimplemented: return ErrorKind::unsupported;
      default: return ErrorKind::refused;
    }
  };
  return {kind(), status.message.empty() ? std::string(name(status.code)) : status.message};
}

rpc::ChannelOptions channel_options(const Options& options) {
  const bool tls = !options.certificate.empty() || !options.key.empty() || !options.authority.empty() ||
                   !options.server_name.empty();
  rpc::ChannelOptions result = {.tls = {.certificate = options.certificate,
                                        .key = options.key,
                                        .authority = options.authority,
                                        .server_name = options.server_name}};
  for (const std::string& endpoint : options.endpoints)
    result.endpoints.push_back(tls && !endpoint.contains("://") ? "https://" + endpoint : endpoint);
  return result;
}

namespace {

// Signals are for the program's own threads.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

std::expected<std::shared_ptr<Client::Impl>, Error> Client::Impl::start(const Options& options) {
  if (options.call_timeout <= 0ms)
    return std::unexpected(Error{ErrorKind::invalid, "the time-out of calls must be positive"});
  std::shared_ptr<Impl> self(new Impl(options.call_timeout));
  auto channel = rpc::Channel::open(self->loop_, channel_options(options));
  if (!channel) return std::unexpected(Error{ErrorKind::invalid, channel.error()});
  self->channel_ = std::move(*channel);
  self->channel_->on_connection([impl = self.get()](const std::string&, const rpc::Status& status) {
    impl->connection_changed(status);
  });
  self->thread_ = std::thread([impl = self.get()] {
    block_signals();
    impl->loop_.run();
  });
  return self;
}

Client::Impl::~Impl() {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    farewells_done_.wait_for(lock, 1s, [&] { return farewells_ == 0; });
  }
  asio::post(loop_, [this] { channel_->close(); });
  work_.reset();
  // Whatever still waits for time to pass need not.
  asio::post(loop_, [this] { asio::post(loop_, [this] { loop_.stop(); }); });
  thread_.join();
}

// ---- asking

namespace {

struct Waiter {
  std::mutex mutex = {};
  std::condition_variable answered = {};
  std::optional<std::expected<std::string, Error>> answer = {};
  rpc::ClientStream call = {};  // touched on the loop alone

  void take(const rpc::Answer& given) {
    call = {};
    const std::lock_guard lock(mutex);
    if (given.status.ok())
      answer = std::string(given.message);
    else
      answer = std::unexpected(to_error(given.status));
    answered.notify_one();
  }
};

}  // namespace

std::expected<std::string, Error> Client::Impl::ask_bytes(std::string_view path,
                                                          const google::protobuf::MessageLite& request,
                                                          Timeout timeout, const std::stop_token& stop,
                                                          const std::stop_token& also) {
  if (on_loop())
    return std::unexpected(
        Error{ErrorKind::misuse, "this call waits, and a callback of the client's thread must not"});
  const auto waiter = std::make_shared<Waiter>();
  asio::post(loop_, [&, waiter] {
    waiter->call = channel_->unary(path, request, {.timeout = timeout},
                                   [waiter](const rpc::Answer& answer) { waiter->take(answer); });
  });
  const auto cancel = [this, waiter] {
    asio::post(loop_, [waiter] {
      if (waiter->call) waiter->call.cancel();
    });
  };
  const std::stop_callback when_stopped(stop, cancel);
  const std::stop_callback when_also_stopped(also, cancel);
  std::unique_lock lock(waiter->mutex);
  waiter->answered.wait(lock, [&] { return waiter->answer.has_value(); });
  auto answer = std::move(*waiter->answer);
  // Only the caller's wish is "stopped"; a server that cancels is one that cannot be used.
  if (!answer && answer.error().kind == ErrorKind::stopped && !stop.stop_requested())
    answer.error().kind = also.stop_requested() ? ErrorKind::lost : ErrorKind::unreachable;
  return answer;
}

bool Client::Impl::pause(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, 100ms, [] { return false; });
  return !stop.stop_requested();
}

void Client::Impl::run_on_loop(const std::function<void()>& job) {
  if (on_loop()) return job();
  std::mutex mutex;
  std::condition_variable ran;
  bool done = false;
  asio::post(loop_, [&] {
    job();
    const std::lock_guard lock(mutex);
    done = true;
    ran.notify_one();
  });
  std::unique_lock lock(mutex);
  ran.wait(lock, [&] { return done; });
}

void Client::Impl::revoke_later(std::int64_t lease) {
  {
    const std::lock_guard lock(mutex_);
    ++farewells_;
  }
  asio::post(loop_, [this, lease] {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(lease);
    channel_->unary("/etcdserverpb.Lease/LeaseRevoke", request, {.timeout = call_timeout_},
                    [this](const rpc::Answer&) {
                      const std::lock_guard lock(mutex_);
                      if (--farewells_ == 0) farewells_done_.notify_all();
                    });
  });
}

void Client::Impl::connection_changed(const rpc::Status& status) {
  ++connections_;
  if (status.ok()) return;
  std::erase_if(on_loss_, [](const auto& one) { return one.expired(); });
  for (const auto& one : std::vector(on_loss_))
    if (const auto then = one.lock()) (*then)();
}

void Client::Impl::leave_endpoint(std::uint64_t since) {
  if (since != connections_) return;
  ++connections_;  // others who noticed the same need not leave the next one
  channel_->next_endpoint();
}

std::expected<Client, Error> connect(const Options& options) {
  auto impl = Client::Impl::start(options);
  if (!impl) return std::unexpected(std::move(impl.error()));
  return Client(std::move(*impl));
}

}  // namespace conclave
