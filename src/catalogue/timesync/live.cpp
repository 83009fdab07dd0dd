#include "catalogue/timesync/live.hpp"

#include <fmt/format.h>

#include "live/time_run.hpp"
#include "protocols/timesync/berkeley.hpp"
#include "protocols/timesync/cristian.hpp"

namespace conclave::catalogue {
namespace {

using live::TimeRun;
using timesync::Berkeley;
using timesync::Cristian;

constexpr NodeId server = {0};
constexpr NodeId client = {1};
constexpr std::string_view cristian_purpose = "conclave time, cristian, 1";

// Calculations with times of this size do not leave 64 bits. It is the year 2255.
constexpr std::int64_t latest = std::int64_t{1} << 53;
bool is_time(std::int64_t time) { return time >= 0 && time < latest; }
bool is_number(std::uint64_t number) { return number < static_cast<std::uint64_t>(latest); }

bool believable(const Cristian::Message& message) {
  const auto* answer = std::get_if<Cristian::TimeRep>(&message);
  return !answer || is_time(answer->time);
}

bool believable(const Berkeley::Message& message) {
  if (const auto* poll = std::get_if<Berkeley::Poll>(&message)) return is_number(poll->seq);
  if (const auto* clock = std::get_if<Berkeley::Clock>(&message)) return is_time(clock->time);
  const auto& adjust = std::get<Berkeley::Adjust>(message);
  return adjust.offset > -latest && adjust.offset < latest && is_number(adjust.bound);
}

template <class P>
class Running final : public LiveClock {
 public:
  using Events = typename TimeRun<P>::Events;

  Running(boost::asio::io_context& loop, typename TimeRun<P>::Options options, Events events)
      : run_(loop, std::move(options), std::move(events)) {}

  static OpenedClock open(boost::asio::io_context& loop, typename TimeRun<P>::Options options,
                          Events events) {
    auto running = std::make_unique<Running>(loop, std::move(options), std::move(events));
    if (const auto opened = running->run_.open(); !opened) return std::unexpected(opened.error());
    return running;
  }

  void read() override { run_.command(timesync::Read{}); }
  live::Address address() const override { return {run_.local().address().to_string(), run_.local().port()}; }
  std::uint64_t refused() const override { return run_.refused(); }

 private:
  TimeRun<P> run_;
};

template <class P>
void tell(const ClockEvents& events, const P& node, const timesync::Spec::Event& event,
          std::int64_t round_trip) {
  if (const auto* reading = std::get_if<timesync::Reading>(&event)) {
    if (events.reading) events.reading({reading->time, reading->bound});
    return;
  }
  const auto& adjusted = std::get<timesync::Adjusted>(event);
  events.corrected({.offset = node.clock.estimate - node.clock.estimated_at,
                    .correction = adjusted.offset,
                    .bound = adjusted.bound,
                    .round_trip = round_trip,
                    .source = adjusted.source,
                    .round = adjusted.round,
                    .first = adjusted.first});
}

Ticks ticks(Microseconds time) { return {static_cast<std::uint64_t>(time.count())}; }

// Nothing is under way, no attempt is left, and there was no answer.
bool asked_in_vain(const Cristian& node) {
  return !node.asking && node.attempts_left == 0 && node.seq > 0 && !node.quickest;
}

typename TimeRun<Cristian>::Events client_events(ClockEvents events) {
  auto shared = std::make_shared<const ClockEvents>(std::move(events));
  return {.event =
              [shared](const Cristian& node, const timesync::Spec::Event& event) {
                tell(*shared, node, event, node.quickest ? node.quickest->round_trip : 0);
              },
          .stepped =
              [shared, told = std::uint64_t{0}](const Cristian& node) mutable {
                if (!asked_in_vain(node) || told == node.seq) return;
                told = node.seq;
                if (shared->no_answer) shared->no_answer();
              },
          .believable = [](const Cristian::Message& message) { return believable(message); }};
}

}  // namespace

OpenedClock serve_time(boost::asio::io_context& loop, const TimeServerOptions& options) {
  return Running<Cristian>::open(
      loop,
      {.self = server,
       .all = NodeSet::range(server, 2),
       .clock = live::HardwareClock(live::HardwareClock::Source::machine, options.fault),
       .listen = options.listen,
       .serves_strangers = true,
       .purpose = std::string(cristian_purpose)},
      {.event = [](const Cristian&, const timesync::Spec::Event&) {},
       .believable = [](const Cristian::Message& message) { return believable(message); }});
}

OpenedClock follow_time(boost::asio::io_context& loop, const TimeClientOptions& options, ClockEvents events) {
  constexpr std::uint32_t spare_attempts = 4;
  const auto found = live::resolve_datagrams(loop, options.server);
  if (!found) return std::unexpected(found.error());
  return Running<Cristian>::open(
      loop,
      {.self = client,
       .all = NodeSet::range(server, 2),
       .setup = {.period = ticks(options.period),
                 .timeout = ticks(options.timeout),
                 .samples = options.samples,
                 .attempts = options.samples + spare_attempts,
                 .drift_ppb = options.drift_ppb,
                 // Done when the next synchronisation comes.
                 .slew = options.period.count()},
       .clock = live::HardwareClock(live::HardwareClock::Source::counter, options.fault),
       .listen = {found->protocol() == boost::asio::ip::udp::v4() ? "0.0.0.0" : "::", 0},
       .peers = {{server, options.server}},
       .purpose = std::string(cristian_purpose)},
      client_events(std::move(events)));
}

OpenedClock agree_on_time(boost::asio::io_context& loop, const BerkeleyOptions& options, ClockEvents events) {
  if (const std::string wrong = live::wrong_with(options.members, options.self); !wrong.empty())
    return std::unexpected(wrong);
  TimeRun<Berkeley>::Options run = {
      .self = options.self,
      .setup = {.period = ticks(options.period),
                .longest_round_trip = options.longest_round_trip.count(),
                .gamma = options.gamma.count(),
                .drift_ppb = options.drift_ppb,
                .slew = options.period.count()},
      .comes_back = options.comes_back,
      .clock = live::HardwareClock(live::HardwareClock::Source::counter, options.fault),
      // Members with different lists do not understand each other.
      .purpose = "conclave time, berkeley, 1, " + live::members_digest(options.members),
      .key = options.key};
  for (const live::Peer& member : options.members) {
    run.all.insert(member.id);
    if (member.id == options.self) {
      run.listen = member.address();
    } else {
      run.peers[member.id] = member.address();
    }
  }
  auto shared = std::make_shared<const ClockEvents>(std::move(events));
  return Running<Berkeley>::open(
      loop, std::move(run),
      {.event = [shared](const Berkeley& node,
                         const timesync::Spec::Event& event) { tell(*shared, node, event, 0); },
       .believable = [](const Berkeley::Message& message) { return believable(message); }});
}

}  // namespace conclave::catalogue
