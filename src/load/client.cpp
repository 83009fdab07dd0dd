#include "load/client.hpp"

#include <proto/rpc.pb.h>

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::load {

namespace {

using namespace std::chrono_literals;

constexpr auto rest = 20ms;  // after an operation that failed
constexpr std::uint32_t at_a_time = 64;
constexpr std::size_t most_kinds = 100;  // of errors: some texts have numbers in them

}  // namespace

Latencies& Home::slice(std::uint64_t number) {
  const auto index = static_cast<std::size_t>(number / plan().slice);
  if (slices.size() <= index) slices.resize(index + 1);
  if (!slices[index]) slices[index] = std::make_unique<Latencies>();
  return *slices[index];
}

// A channel that loses its connection goes on to the next member, as clients do that have work to do.
Client::Client(Home& home, std::uint32_t number) : home_(home), number_(number), pause_(home.loop) {
  rpc::ChannelOptions options = plan().channel;
  std::ranges::rotate(options.endpoints, options.endpoints.begin() +
                                             static_cast<std::ptrdiff_t>(number % options.endpoints.size()));
  auto channel = rpc::Channel::open(home.loop, options);
  ensure(channel.has_value(), "the endpoints were tried before");
  channel_ = std::move(*channel);
}

std::string Client::key_of(const Plan& plan, std::uint64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t wanted =
      std::max<std::size_t>(8, plan.key_bytes > plan.prefix.size() ? plan.key_bytes - plan.prefix.size() : 0);
  return plan.prefix + std::string(wanted - std::min(wanted, digits.size()), '0') + digits;
}

std::uint64_t Client::draw(std::uint64_t bound) {
  return ScrambledBits(scramble((std::uint64_t{number_} + 1) * 1'000'003 + (++draws_ << 24))).below(bound);
}

// ---- its life

void Client::prepare() {
  etcdserverpb::RangeRequest request;
  request.set_key(plan().prefix + "nothing");
  request.set_serializable(true);
  ask("/etcdserverpb.KV/Range", request, [this](std::string_view) { ready(); });
}

void Client::ready() {
  born_ = Clock::time_point::max();
  shared().ready.fetch_add(1);
}

void Client::go() {
  if (phase_ == Phase::preparing) phase_ = Phase::working;
  if (waits_only()) return once();
  const auto now = begun_ = Clock::now();
  if (shared().stop || now >= shared().end) return end();
  begin_operation();
}

void Client::begin_operation() {
  if (!std::exchange(retries_, false)) operation_ = shared().begun.fetch_add(1);
  if (plan().count > 0 && operation_ >= plan().count) return end();
  once();
}

void Client::done() {
  const auto now = Clock::now();
  const std::uint64_t number = shared().done.fetch_add(1);
  home_.latencies.add(now - begun_);
  if (const std::uint64_t slice = plan().slice; slice > 0 && number / slice < shared().ends.size()) {
    home_.slice(number).add(now - begun_);
    if (number % slice == slice - 1) shared().ends[number / slice] = now;
  }
  home_.last = begun_ = now;
  if (shared().stop || now >= shared().end) return end();
  begin_operation();
}

void Client::fail(const rpc::Status& status) {
  fail(std::string(rpc::name(status.code)) + (status.message.empty() ? "" : ": ") + status.message);
}

void Client::fail(const std::string& why) {
  switch (phase_) {
    case Phase::preparing:
      if (Clock::now() - born_ > plan().patience) return shared().give_up(why);
      return later(&Client::prepare);
    case Phase::working:
      count_error(why);
      broke();
      retries_ = true;
      return later(&Client::go);
    case Phase::finishing: return finished();
    case Phase::gone: return;
  }
}

void Client::count_error(const std::string& why) {
  ++home_.errors[home_.errors.size() < most_kinds || home_.errors.contains(why) ? why : "others"];
}

void Client::later(void (Client::*then)()) {
  under_way_ = 0;
  to_start_ = started_ = 0;
  pause_.expires_after(rest);
  pause_.async_wait([this, then](const boost::system::error_code& error) {
    if (!error) (this->*then)();
  });
}

void Client::end() {
  if (phase_ == Phase::finishing) return;
  phase_ = Phase::finishing;
  finish();
}

void Client::finished() {
  if (!std::exchange(finished_, true)) shared().finished.fetch_add(1);
}

void Client::close() {
  phase_ = Phase::gone;
  pause_.cancel();
  channel_->close();
}

// ---- several things

void Client::several(std::uint32_t count, std::function<void(std::uint32_t)> start,
                     std::function<void()> then) {
  to_start_ = count;
  started_ = under_way_ = 0;
  start_ = std::move(start);
  all_done_ = std::move(then);
  if (count == 0) return all_done_();
  while (started_ < to_start_ && under_way_ < at_a_time) {
    ++under_way_;
    start_(started_++);
  }
}

void Client::one_done() {
  if (under_way_ == 0) return;  // of a time before something failed
  --under_way_;
  if (started_ < to_start_) {
    ++under_way_;
    return start_(started_++);
  }
  if (under_way_ == 0 && all_done_) std::exchange(all_done_, {})();
}

// ---- leases

void Session::tick(Clock::time_point now) {
  if (lease_ == 0 || now - renewed_ < std::chrono::seconds(plan_.ttl) / 3) return;
  renewed_ = now;
  auto stream = channel_.stream("/etcdserverpb.Lease/LeaseKeepAlive", {.timeout = plan_.patience}, {});
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(lease_);
  stream.send(request);
  stream.half_close();
}

}  // namespace conclave::load
