// One process of a protocol that reads a clock, run on datagrams: lossy links, a hardware clock told before
// every step, timers whose tick is a microsecond.
//
//   live::TimeRun<P> run(loop, options, events);
//   run.open();                 // says what is wrong with an address
//   run.command(Read{});
//
// All datagrams have one size. So an answer is never longer than what asked for it, and nobody gains by
// asking in another's name. docs/time.md shows the bytes.
#pragma once
#include <array>
#include <map>

#include "core/codec.hpp"
#include "core/protocol.hpp"
#include "core/visit.hpp"
#include "live/datagram.hpp"
#include "live/secrets.hpp"
#include "live/time_clock.hpp"
#include "live/timers.hpp"

namespace conclave::live {

inline constexpr std::size_t time_body_bytes = 64;
inline constexpr std::size_t time_datagram_bytes = seal_bytes + time_body_bytes;

template <class P>
concept RunsOnDatagrams = Protocol<P> && ReadsClock<P> && P::assumes.links == conclave::Links::lossy;

template <RunsOnDatagrams P>
class TimeRun {
 public:
  using Message = typename P::Message;
  using Event = typename P::Spec::Event;
  using Command = typename P::Spec::Command;

  struct Options {
    NodeId self = {};
    NodeSet all = {};
    typename P::Setup setup = {};
    bool comes_back = false;  // takes the place of a process that died
    HardwareClock clock = HardwareClock(HardwareClock::Source::counter);
    Address listen = {};
    std::map<NodeId, Address> peers = {};
    bool serves_strangers = false;  // hears everybody, and answers where the question came from
    std::string purpose = {};       // of the seals: what runs here, and who takes part
    std::string key = {};
  };
  struct Events {
    std::function<void(const P&, const Event&)> event;
    std::function<void(const P&)> stepped;           // after each step; may be left out
    std::function<bool(const Message&)> believable;  // numbers that the protocol may calculate with
  };

  TimeRun(boost::asio::io_context& loop, Options options, Events events)
      : loop_(loop),
        options_(std::move(options)),
        events_(std::move(events)),
        timers_(
            loop, seed_of(fresh_nonce()), [this](const Timer& timer) { fire(timer); }, tick) {}

  // Listens, and takes the first step.
  std::expected<void, std::string> open() {
    for (const auto& [peer, address] : options_.peers) {
      const auto found = resolve_datagrams(loop_, address);
      if (!found) return std::unexpected(found.error());
      peers_[peer] = *found;
    }
    auto opened =
        Datagrams::open(loop_, options_.listen, time_datagram_bytes,
                        [this](const Datagrams::Endpoint& from, ByteView bytes) { take(from, bytes); });
    if (!opened) return std::unexpected(opened.error());
    socket_ = std::move(*opened);
    begin();
    return {};
  }

  void command(const Command& command) {
    step([&] { visit_in_place(command, [&](const auto& which) { node_.on_command(out_, which); }); });
  }

  const P& node() const { return node_; }
  Datagrams::Endpoint local() const { return socket_->local(); }
  std::uint64_t refused() const { return refused_; }  // datagrams that no peer of ours sent

 private:
  using Timer = typename P::Timer;
  struct Letter {
    NodeId from = {};
    NodeId to = {};
    Message message = {};
  };
  static constexpr std::chrono::nanoseconds tick = std::chrono::microseconds(1);

  static std::uint64_t seed_of(const std::string& nonce) {
    return load<std::uint64_t>(reinterpret_cast<const std::byte*>(nonce.data()));
  }

  void begin() {
    step([&] {
      if constexpr (Restarts<P>) {
        if (options_.comes_back) {
          node_ = P::restart(options_.self, options_.all, options_.setup, out_);
          return;
        }
      }
      node_ = P::start(options_.self, options_.all, options_.setup, out_);
    });
  }

  void take(const Datagrams::Endpoint& from, ByteView bytes) {
    const auto letter = read(bytes);
    if (!letter || letter->to != options_.self || letter->from == options_.self ||
        (!options_.serves_strangers && !peers_.contains(letter->from)) ||
        !events_.believable(letter->message)) {
      ++refused_;
      return;
    }
    asker_ = from;
    step([&] {
      visit_in_place(letter->message,
                     [&](const auto& which) { node_.on_message(out_, letter->from, which); });
    });
  }

  std::optional<Letter> read(ByteView bytes) const {
    if (bytes.size() != time_datagram_bytes) return std::nullopt;
    const auto body = unsealed(options_.key, options_.purpose, bytes);
    if (!body) return std::nullopt;
    const auto size = std::to_integer<std::size_t>(body->front());
    if (size > time_body_bytes - 1) return std::nullopt;
    auto letter = decode<Letter>(numbers_of(body->subspan(1, size)));
    if (!letter) return std::nullopt;
    return std::move(*letter);
  }

  void send(NodeId to, const Message& message) {
    Bytes body = {0};
    encode(Letter{options_.self, to, message}, body);
    ensure(body.size() <= time_body_bytes, "every message about time fits into a datagram");
    body[0] = static_cast<std::uint8_t>(body.size() - 1);
    body.resize(time_body_bytes);
    const auto known = peers_.find(to);
    socket_->send(known == peers_.end() ? asker_ : known->second,
                  bytes_of(sealed(options_.key, options_.purpose, bytes_of(body))));
  }

  void fire(const Timer& timer) {
    step([&] { node_.on_timer(out_, timer); });
  }

  template <class Handler>
  void step(Handler&& handler) {
    out_.clear();
    node_.on_clock(options_.clock.now());
    handler();
    for (const auto& send_this : out_.sends) send(send_this.to, send_this.message);
    for (const Timer timer : out_.disarmed) timers_.disarm(timer);
    for (const auto& arm : out_.armed) timers_.arm(arm.timer, arm.after);
    // Told last, and from a copy: whoever listens may give a command, which is a step of its own.
    const std::vector<Event> events = out_.events;
    for (const Event& event : events) events_.event(node_, event);
    if (events_.stepped) events_.stepped(node_);
  }

  boost::asio::io_context& loop_;
  Options options_;
  Events events_;
  Timers<Timer> timers_;
  std::map<NodeId, Datagrams::Endpoint> peers_;
  std::unique_ptr<Datagrams> socket_;
  Datagrams::Endpoint asker_;  // who sent what this step handles
  P node_ = {};
  Effects<P> out_;
  std::uint64_t refused_ = 0;
};

}  // namespace conclave::live
