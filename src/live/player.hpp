// One process of an algorithm among real ones, with a client that wishes for something, as the simulator's
// clients do; and its part of the trace.
#pragma once
#include <csignal>
#include <map>

#include "core/random.hpp"
#include "live/scribe.hpp"
#include "live/troupe.hpp"

namespace conclave::live {

// What real processes do not have, or what a run between them does not offer.
template <class P>
concept Playable = Protocol<P> && !ReadsClock<P> && !InRounds<P> && !Recovers<P>;

template <Playable P>
class Player final : public Role {
 public:
  using Out = Effects<P>;
  using Message = typename P::Message;
  using Timer = typename P::Timer;
  using Client = typename P::Spec::Client;

  Player(const Casting& casting, typename P::Setup setup, const trace::Header& header,
         trace::Observer& observer)
      : casting_(casting),
        setup_(std::move(setup)),
        all_(header.nodes),
        scribe_(header, casting.self, observer),
        troupe_(casting, header.protocol) {
    if constexpr (PreparesClients<P>) client_ = P::client(casting.self, setup_);
    serves_ = HasServer<P> && casting.self == all_.min();
    if (!serves_) client_.wishes = casting.entries;
  }

  Played play() {
    if (HearsBounces<P> && (casting_.others_die || casting_.dies_after))
      return {.problem =
                  "messages to a dead process come back to their senders here, and links do not do that"};
    Played played;
    std::string broken;
    try {
      played.problem = troupe_.play(*this);
    } catch (const InvariantViolation& violation) {
      broken = violation.what();
      played.problem = "it broke its own rule: " + broken;
    }
    scribe_.end(played.problem.empty() && timers_.empty(), broken);
    return played;
  }

  void begin() override {
    scribe_.start(node_, out_, [&] { node_ = P::start(casting_.self, all_, setup_, out_); });
    settle();
    plan();
    die_in_time();
  }

  void hear(NodeId from, ByteView bytes) override {
    const auto letter = decode<Letter>({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (!letter) return refuse(from, describe(letter.error()));
    if (const std::string wrong = scribe_.wrong_with(from, letter->stamp); !wrong.empty())
      return refuse(from, wrong);
    scribe_.deliver(node_, out_, from, letter->message, letter->stamp, [&] {
      visit_in_place(letter->message, [&](const auto& which) { node_.on_message(out_, from, which); });
    });
    settle();
    die_in_time();
  }

  void fire(std::uint32_t number) override {
    if (number == client_wakes) return wake();
    if constexpr (HasTimers<P>) {
      const auto timer = static_cast<Timer>(number);
      const auto found = timers_.find(number);
      ensure(found != timers_.end(), "only what was armed fires");
      const std::uint64_t cause = found->second;
      timers_.erase(found);
      scribe_.fire(node_, out_, timer, cause, [&] { node_.on_timer(out_, timer); });
      settle();
    }
  }

  void told(NodeId peer, bool down) override {
    if constexpr (HearsOfCrashes<Client>) {
      if (serves_) return;
      const bool had_plans = client_.next().has_value();
      if (down) {
        client_.told_down(peer);
      } else {
        client_.told_up(peer);
      }
      if (!had_plans && client_.next()) wake();
    }
  }

  bool done() const override { return NeverRests<P> ? client_.content() : timers_.empty() && !planned_; }
  bool never_rests() const override { return NeverRests<P>; }

 private:
  static constexpr std::uint32_t client_wakes = UINT32_MAX;

  // What goes over the wire: the message and when it was sent.
  struct Letter {
    Stamp stamp = {};
    Message message = {};
  };

  void refuse(NodeId from, std::string_view why) {
    troupe_.give_up("a message of p" + std::to_string(from.value) + ": " + std::string(why));
  }

  // Carries out what a step asked for.
  void settle() {
    for (std::size_t i = 0; i < out_.sends.size(); ++i) {
      const auto& [to, message] = out_.sends[i];
      ensure(all_.contains(to) && to != casting_.self, "messages go to other members");
      troupe_.send(to, encode(Letter{scribe_.stamp(i), message}));
    }
    for (const auto& event : out_.events) client_.see(event);
    if (!out_.events.empty()) plan();
    if constexpr (HasTimers<P>) {
      for (const Timer timer : out_.disarmed) stop(static_cast<std::uint32_t>(timer));
      for (const auto& arm : out_.armed) {
        timers_[static_cast<std::uint32_t>(arm.timer)] = scribe_.last_step();
        troupe_.arm(static_cast<std::uint32_t>(arm.timer), arm.after);
      }
    }
    if constexpr (TossesCoins<P>) {
      const std::vector<unsigned> choices = out_.choices;
      for (const unsigned faces : choices) {
        const auto face = static_cast<unsigned>(draw().below(faces));
        scribe_.toss(node_, out_, face, [&] { node_.on_choice(out_, face); });
        settle();
      }
    }
  }

  void stop(std::uint32_t timer) {
    timers_.erase(timer);
    troupe_.disarm(timer);
  }

  ScrambledBits draw() {
    return ScrambledBits(
        scramble(scramble(casting_.seed) ^ scramble(casting_.self.value * 1'000'003u + ++draws_)));
  }

  // Whoever has something in mind already is woken for that.
  void plan() {
    if (serves_ || planned_ || !client_.next()) return;
    planned_ = true;
    troupe_.arm(client_wakes, client_.holding() ? casting_.hold : casting_.think);
  }

  void wake() {
    planned_ = false;
    const auto command = client_.next();
    if (!command) return;
    client_.issue(*command);
    scribe_.command(node_, out_, *command, [&] {
      visit_in_place(*command, [&](const auto& which) { node_.on_command(out_, which); });
    });
    settle();
    plan();
    die_in_time();
  }

  // Killed for good, outside: no word of farewell leaves.
  void die_in_time() {
    if (!casting_.dies_after || serves_ || client_.holding()) return;
    const bool between = client_.content() || client_.next();
    if (client_.requests >= *casting_.dies_after && between) std::raise(SIGKILL);
  }

  const Casting& casting_;
  typename P::Setup setup_;
  NodeSet all_;
  Scribe<P> scribe_;
  Troupe troupe_;
  P node_ = {};
  Client client_ = {};
  Out out_;
  std::map<std::uint32_t, std::uint64_t> timers_;  // that run, and which step started them
  bool serves_ = false;
  bool planned_ = false;  // the client will be woken
  std::uint64_t draws_ = 0;
};

}  // namespace conclave::live
