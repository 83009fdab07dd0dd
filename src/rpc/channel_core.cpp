#include "rpc/channel_core.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>

#include "rpc/client_connection.hpp"

namespace conclave::rpc {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace

ChannelCore::ChannelCore(asio::io_context& the_loop, const ChannelOptions& the_options)
    : loop(the_loop),
      options(the_options),
      wheel(the_loop),
      wait_(the_options.first_wait),
      random_(std::random_device{}()),
      resolver_(the_loop),
      timer_(the_loop) {}

// ---- calls

void ChannelCore::start(ClientCallPtr call) {
  if (closed) {
    asio::post(loop, [call] { call->fail({Code::cancelled, "the channel is closed"}); });
    return;
  }
  if (waiting_.empty() && connection && connection->takes_calls() && connection->send(*call)) return;
  waiting_.push_back(std::move(call));
  connect_if_needed();
}

void ChannelCore::again(ClientCallPtr call) {
  waiting_.push_back(std::move(call));
  connect_if_needed();
}

void ChannelCore::dequeue(ClientCall& call) { std::erase(waiting_, &call); }

void ChannelCore::send_waiting() {
  while (!waiting_.empty() && connection && connection->takes_calls()) {
    const ClientCallPtr call = std::move(waiting_.front());
    waiting_.pop_front();
    if (!call->over() && !connection->send(*call))
      call->fail({Code::unavailable, "the connection is used up"});
  }
  if (!waiting_.empty()) connect_if_needed();
}

// ---- connecting

void ChannelCore::connect_if_needed() {
  if (closed || phase_ == Phase::connecting || phase_ == Phase::waiting) return;
  if (connection && connection->takes_calls()) {
    // Not from inside a callback: the session may be at work.
    asio::post(loop, [self = weak_from_this()] {
      if (const auto core = self.lock()) core->send_waiting();
    });
    return;
  }
  phase_ = Phase::connecting;
  failed_ = 0;
  reasons_.clear();
  try_next();
}

void ChannelCore::try_next() {
  phase_ = Phase::connecting;
  const std::uint64_t attempt = ++attempt_;
  timer_.expires_after(options.connect_timeout);
  timer_.async_wait([self = weak_from_this(), attempt](const error_code& error) {
    if (const auto core = self.lock(); core && !error) core->attempt_failed(attempt, "no answer in time");
  });
  error_code is_name;
  const auto number = asio::ip::make_address(address().host, is_name);
  if (!is_name) {  // no need to ask anybody
    const tcp::endpoint end(number, static_cast<std::uint16_t>(std::stoul(address().port)));
    return resolved(tcp::resolver::results_type::create(end, address().host, address().port), attempt);
  }
  resolver_.async_resolve(
      address().host, address().port,
      [self = weak_from_this(), attempt](const error_code& error, const tcp::resolver::results_type& found) {
        const auto core = self.lock();
        if (!core || attempt != core->attempt_) return;
        if (error) return core->attempt_failed(attempt, error.message());
        core->resolved(found, attempt);
      });
}

void ChannelCore::resolved(const tcp::resolver::results_type& found, std::uint64_t attempt) {
  socket_ = std::make_shared<tcp::socket>(loop);
  asio::async_connect(
      *socket_, found,
      [self = weak_from_this(), socket = socket_, attempt](const error_code& error, const auto&) {
        const auto core = self.lock();
        if (!core || attempt != core->attempt_) return;
        if (error) return core->attempt_failed(attempt, error.message());
        core->handshaking_ =
            std::make_shared<Wire>(std::move(*socket), core->address().tls ? core->tls : nullptr);
        core->handshaking_->connect(core->address().host, [self, attempt](const error_code& refused) {
          const auto held = self.lock();
          if (!held || attempt != held->attempt_) return;
          if (refused) return held->attempt_failed(attempt, "TLS: " + refused.message());
          held->connected(std::exchange(held->handshaking_, nullptr), attempt);
        });
      });
}

void ChannelCore::connected(std::shared_ptr<Wire> wire, std::uint64_t) {
  timer_.cancel();
  phase_ = Phase::connected;
  socket_.reset();
  connection = std::make_shared<ClientConnection>(*this, std::move(wire), address());
  connection->start();
  tell({});
  send_waiting();
}

void ChannelCore::attempt_failed(std::uint64_t attempt, const std::string& why) {
  if (attempt != attempt_ || closed) return;
  ++attempt_;
  timer_.cancel();
  resolver_.cancel();
  if (socket_) {
    error_code ignored;
    socket_->close(ignored);
  }
  if (handshaking_) handshaking_->close();
  handshaking_.reset();
  reasons_ += (reasons_.empty() ? "" : "; ") + address().text() + ": " + why;
  tell({Code::unavailable, why});
  current = (current + 1) % addresses.size();
  if (++failed_ < addresses.size()) return try_next();
  round_failed();
}

void ChannelCore::round_failed() {
  const Status status = {Code::unavailable, "no endpoint can be reached (" + reasons_ + ")"};
  std::deque<ClientCallPtr> failing;
  std::deque<ClientCallPtr> staying;
  for (ClientCallPtr& call : waiting_) (call->fails_fast() ? failing : staying).push_back(std::move(call));
  waiting_ = std::move(staying);
  phase_ = Phase::waiting;
  wait_and_try();
  const auto alive = shared_from_this();
  for (const ClientCallPtr& call : failing) call->fail(status);
}

// Between half and all of the time, so that clients of a server that comes back do not come all at once.
void ChannelCore::wait_and_try() {
  const auto most = static_cast<std::uint64_t>(wait_.count());
  const std::chrono::milliseconds wait(most / 2 + random_() % (most / 2 + 1));
  wait_ = std::min(wait_ * 2, options.longest_wait);
  timer_.expires_after(wait);
  timer_.async_wait([self = weak_from_this()](const error_code& error) {
    const auto core = self.lock();
    if (!core || error || core->closed) return;
    core->phase_ = Phase::idle;
    if (!core->waiting_.empty()) core->connect_if_needed();
  });
}

// ---- what becomes of connections

void ChannelCore::connection_works() {
  wait_ = options.first_wait;
  failed_ = 0;
}

void ChannelCore::connection_leaves(ClientConnection& one) {
  if (connection.get() != &one) return;
  leaving_.push_back(std::move(connection));
  connection.reset();
  phase_ = Phase::idle;
  current = (current + 1) % addresses.size();
}

void ChannelCore::connection_lost(ClientConnection& one, const std::string& why, bool worked) {
  std::erase_if(leaving_, [&](const auto& other) { return other.get() == &one; });
  if (connection.get() != &one) return;
  // It may be its own methods that got us here.
  asio::post(loop, [gone = std::move(connection)] {});
  connection.reset();
  tell({Code::unavailable, why});
  current = (current + 1) % addresses.size();
  if (!worked) {  // who hangs up at once is not asked again at once
    phase_ = Phase::waiting;
    return wait_and_try();
  }
  phase_ = Phase::idle;
  if (!waiting_.empty()) connect_if_needed();
}

void ChannelCore::leave_endpoint() {
  if (connection) connection->leave();
}

void ChannelCore::tell(const Status& status) {
  if (told) told(address().text(), status);
}

void ChannelCore::close() {
  if (closed) return;
  closed = true;
  ++attempt_;
  timer_.cancel();
  resolver_.cancel();
  if (handshaking_) handshaking_->close();
  if (socket_) {
    error_code ignored;
    socket_->close(ignored);
  }
  told = nullptr;
  for (const ClientCallPtr& call : std::exchange(waiting_, {}))
    call->fail({Code::cancelled, "the channel is closed"});
  std::vector<std::shared_ptr<ClientConnection>> all = std::exchange(leaving_, {});
  if (connection) all.push_back(std::move(connection));
  connection.reset();
  for (const auto& one : all) {
    one->close();
    asio::post(loop, [one] {});
  }
  wheel.rest();
}

}  // namespace conclave::rpc
