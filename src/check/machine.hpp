// The processes of one protocol, as the search knows them: by number.
#pragma once
#include <algorithm>
#include <memory>

#include "check/locals.hpp"
#include "check/rename.hpp"
#include "core/describe.hpp"
#include "core/protocol.hpp"

namespace conclave::check {

// A client that says whether what it would ask for next is an answer to a crash, and no wish of its own.
template <class Client>
concept AnswersCrashes = HearsOfCrashes<Client> && requires(const Client& client) {
  { client.answers_a_crash() } -> std::same_as<bool>;
};

// An algorithm that treats nodes alike says which renamings of them change nothing.
template <class P>
concept HasSymmetry = requires(const NodeSet& all, const typename P::Setup& setup) {
  { P::symmetries(all, setup) } -> std::same_as<std::vector<std::vector<NodeId>>>;
};

struct Cast {
  NodeSet all = {};
  Ticks unit = {};  // of time; zero where there is no bound on delays
  std::uint32_t entries = 1;
  std::map<NodeId, std::uint32_t> entries_of = {};
  bool for_ever = false;  // clients want again and again
  bool with_past = false;
  bool count_messages = false;
  bool symmetry = false;
};

template <Protocol P, FamilyJudge J>
class Machine final : public Locals {
 public:
  using Out = Effects<P>;
  using Message = typename P::Message;
  using Command = typename P::Spec::Command;
  using Event = typename P::Spec::Event;
  using Client = typename P::Spec::Client;
  using Timer = typename P::Timer;
  using Durable = typename DurableOf<P>::type;
  using Setup = typename P::Setup;

  Machine(Cast cast, Setup setup, J judge) : cast_(std::move(cast)), setup_(std::move(setup)) {
    for (NodeId node : cast_.all) names_.push_back(node);
    first_judge_ = intern(std::move(judge));
    if constexpr (HasSymmetry<P>) {
      if (cast_.symmetry) {
        for (const std::vector<NodeId>& names : P::symmetries(cast_.all, setup_)) add_renaming(names);
      }
    }
  }

  std::uint32_t size() const override { return static_cast<std::uint32_t>(names_.size()); }
  NodeId name(std::uint32_t node) const override { return names_[node]; }
  bool is_server(std::uint32_t node) const override { return HasServer<P> && node == 0; }
  bool tells_of_crashes() const override { return HearsOfCrashes<Client>; }
  bool tosses() const override { return TossesCoins<P>; }
  bool returns() const override { return HearsBounces<P>; }

  Outcome start(std::uint32_t node) override {
    Local local = {.index = node};
    if constexpr (PreparesClients<P>) local.client = P::client(names_[node], setup_);
    const auto some = cast_.entries_of.find(names_[node]);
    if (!is_server(node)) local.client.wishes = some == cast_.entries_of.end() ? cast_.entries : some->second;
    if (cast_.with_past) local.past.resize(size());
    return take(std::move(local),
                [&](Local& mine) { mine.node = P::start(names_[node], cast_.all, setup_, out_); });
  }

  Outcome apply(Id id, Input input, std::uint32_t argument) override {
    return take(locals_[id], [&](Local& mine) {
      switch (input) {
        case Input::command: return speak(mine);
        case Input::deliver: return receive(mine, letters_[argument]);
        case Input::fire: return fire(mine, argument);
        case Input::toss: return toss(mine, argument);
        case Input::tell: return tell(mine, argument);
        case Input::crash: return crash(mine);
        case Input::recover: return recover(mine);
        case Input::round:
          if constexpr (InRounds<P>) mine.node.on_round(out_, argument);
          return;
        case Input::tick: return tick(mine);
        case Input::access: return;
      }
    });
  }

  Id first_judge() override { return first_judge_; }
  Id judge(Id before, Id happening) override {
    J after = judges_[before];
    const Happening& what = happenings_[happening - 1];
    const NodeId node = names_[what.index];
    if (what.crashed) after.on_crash(node);
    if (what.recovered) after.on_recover(node);
    if (what.command) after.on_command(node, *what.command, what.past);
    for (const Event& event : what.events) after.on_event(node, event);
    return intern(std::move(after));
  }

  Id aged(Id letter) override {
    Letter older = letters_[letter];
    if (older.left > 0) --older.left;
    return intern(std::move(older));
  }
  Id notice(std::uint32_t about, bool down) override {
    using Kind = Envelope::Kind;
    return intern(
        Letter{.from = about, .kind = down ? Kind::down : Kind::up, .left = first_left(), .message = {}});
  }
  std::optional<Id> returned(Id letter, std::uint32_t to) override {
    if constexpr (!HearsBounces<P>) return std::nullopt;
    Letter back = letters_[letter];
    if (back.kind != Envelope::Kind::message) return std::nullopt;
    back.kind = Envelope::Kind::returned;
    back.from = to;
    back.left = first_left();
    back.past.clear();
    return intern(std::move(back));
  }

  std::vector<Wrong> wrongs(Id judge) const override { return judges_[judge].wrong(); }
  std::vector<Wrong> wrongs_at_end(Id judge, std::span<const Id> locals) const override {
    std::vector<Last<Client>> last;
    for (const Id id : locals) {
      const Local& local = locals_[id];
      if (!is_server(local.index)) last.push_back({names_[local.index], local.up, &local.client});
    }
    return judges_[judge].at_end(last);
  }
  bool has_invariants() const override { return HasInvariants<P>; }
  std::vector<Wrong> broken_invariants(std::span<const Id> locals) const override {
    if constexpr (HasInvariants<P>) {
      std::vector<const P*> nodes;
      for (const Id id : locals) {
        if (locals_[id].up) nodes.push_back(&locals_[id].node);
      }
      return P::invariants(nodes);
    }
    return {};
  }
  std::string outcome_of(Id judge, std::span<const Id>) const override {
    if constexpr (requires { judges_[judge].outcome(); }) return judges_[judge].outcome();
    return {};
  }
  std::string complaint(std::uint32_t number) const override { return complaints_[number - 1]; }
  std::map<std::string, bool> sometimes() const override {
    std::map<std::string, bool> all;
    std::uint32_t bit = 0;
    for (const std::string_view what : J::sometimes()) all[std::string(what)] = (seen_ >> bit++ & 1) != 0;
    return all;
  }
  std::uint64_t bytes() const override {
    return locals_.bytes() + letters_.bytes() + judges_.bytes() + happenings_.bytes() + facts_.bytes() +
           envelopes_.bytes() + letter_prints_.bytes() + judge_prints_.bytes();
  }

  std::pair<std::string, std::string> describe_command(Id local) const override {
    return described(locals_[local].client.next());
  }
  std::pair<std::string, std::string> describe_reaction(Id local, Id notice) const override {
    if constexpr (HearsOfCrashes<Client>) {
      Client client = locals_[local].client;
      if (hears(client, letters_[notice])) return described(client.next());
    }
    return {};
  }
  std::pair<std::string, std::string> describe_letter(Id letter) const override {
    const Letter& it = letters_[letter];
    if (it.kind == Envelope::Kind::application) return {"application", ""};
    return described(it.message);
  }
  std::string describe_timer(std::uint32_t timer) const override {
    return std::string(enumerator_name(static_cast<Timer>(timer)));
  }
  bool has_durable(Id local) const override { return Recovers<P> && locals_[local].durable.has_value(); }

  std::span<const std::vector<std::uint32_t>> permutations() const override { return permutations_; }
  Id renamed(Id local, std::uint32_t permutation) override {
    Local other = locals_[local];
    call_differently(other, permutation);
    other.index = permutations_[permutation][other.index];
    if (cast_.with_past) permute(other.past, permutation);
    return intern(std::move(other));
  }
  Id renamed_letter(Id letter, std::uint32_t permutation) override {
    Letter other = letters_[letter];
    call_differently(other, permutation);
    other.from = permutations_[permutation][other.from];
    if (!other.past.empty()) permute(other.past, permutation);
    return intern(std::move(other));
  }
  Id renamed_judge(Id judge, std::uint32_t permutation) override {
    J other = judges_[judge];
    call_differently(other, permutation);
    return intern(std::move(other));
  }

 private:
  struct Running {
    Timer timer = {};
    std::uint32_t least = 0;  // units of time left before it may fire
    std::uint32_t most = 0;   // … before it must
    bool operator==(const Running&) const = default;
  };
  struct Local {
    std::uint32_t index = 0;
    bool up = true;
    P node = {};
    Client client = {};
    std::vector<Running> timers = {};  // by number
    std::vector<unsigned> coins = {};  // faces of those to be tossed
    std::optional<Durable> durable = {};
    Past past = {};
    std::uint32_t sent = 0;
    bool has_answered = false;  // a crash, in this unit of time
    bool operator==(const Local&) const = default;
  };
  struct Letter {
    std::uint32_t from = 0;
    Envelope::Kind kind = Envelope::Kind::message;
    std::uint8_t left = 0;
    std::optional<Message> message = {};
    std::uint64_t stamp = 0;  // of an application message, by number
    Past past = {};
    bool operator==(const Letter&) const = default;
  };
  struct Happening {
    std::uint32_t index = 0;
    bool crashed = false;
    bool recovered = false;
    std::optional<Command> command = {};
    Past past = {};
    std::vector<Event> events = {};
    bool operator==(const Happening&) const = default;
  };

  bool timed() const { return cast_.unit.count > 0; }
  std::uint8_t first_left() const { return timed() ? 1 : 0; }

  // One step: runs it, and numbers what comes of it.
  template <class Step>
  Outcome take(Local local, Step&& step) {
    out_.clear();
    posted_.clear();
    happening_ = {};
    Outcome outcome;
    try {
      step(local);
      if constexpr (HearsOfDisk<P>) hear_of_writes(local.node, out_);
      settle(local);
    } catch (const InvariantViolation& violation) {
      complaints_.push_back(violation.what());
      outcome.complaint = static_cast<std::uint32_t>(complaints_.size());
      return outcome;
    }
    happening_.index = local.index;
    if (happening_.crashed || happening_.recovered || happening_.command || !happening_.events.empty())
      outcome.happening = happenings_.intern(std::move(happening_)).first + 1;
    outcome.local = intern(std::move(local));
    outcome.posted = posted_;
    return outcome;
  }

  void settle(Local& local) {
    for (const Event& event : out_.events) {
      local.client.see(event);
      happening_.events.push_back(event);
    }
    if constexpr (HasTimers<P>) {
      for (const Timer timer : out_.disarmed) stop(local, timer);
      for (const auto& arm : out_.armed) {
        stop(local, arm.timer);
        local.timers.push_back({arm.timer, units(arm.after.min), units(arm.after.max)});
      }
      std::ranges::sort(local.timers, {}, &Running::timer);
    }
    for (const unsigned faces : out_.choices) local.coins.push_back(faces);
    for (auto& write : out_.writes) take_write<P>(local.durable, std::move(write));
    if (cast_.count_messages) local.sent += static_cast<std::uint32_t>(out_.early.size() + out_.sends.size());
    for (auto* sends : {&out_.early, &out_.sends}) {
      for (auto& send : *sends) {
        const std::uint32_t to = index_of(send.to);
        ensure(to < size() && to != local.index, "messages go to other members");
        posted_.push_back({to, intern(Letter{.from = local.index,
                                             .left = first_left(),
                                             .message = std::move(send.message),
                                             .past = local.past})});
      }
    }
  }
  static void stop(Local& local, Timer timer) {
    std::erase_if(local.timers, [&](const Running& running) { return running.timer == timer; });
  }
  // A timer runs out when its time is certainly over.
  std::uint32_t units(Ticks ticks) const {
    if (!timed()) return 0;
    return static_cast<std::uint32_t>((ticks.count + cast_.unit.count - 1) / cast_.unit.count);
  }
  std::uint32_t index_of(NodeId node) const {
    return static_cast<std::uint32_t>(std::ranges::find(names_, node) - names_.begin());
  }

  void speak(Local& mine) {
    const auto command = mine.client.next();
    ensure(command.has_value(), "a client that speaks has something to say");
    mine.has_answered = mine.has_answered || (timed() && answers_a_crash(mine.client));
    mine.client.issue(*command);
    if (cast_.for_ever) mine.client.wishes = 1;
    // Who wants again and again, of itself or because others crash, must not count.
    if (cast_.for_ever || HearsOfCrashes<Client>) mine.client.requests = 0;
    happening_.command = command;
    happening_.past = mine.past;
    if (HasServer<P> && cast_.with_past)
      happening_.past.erase(happening_.past.begin());  // it asks for nothing
    if (cast_.with_past && J::is_request(*command)) ++mine.past[mine.index];
    std::visit([&](const auto& which) { mine.node.on_command(out_, which); }, *command);
  }

  void receive(Local& mine, const Letter& letter) {
    for (std::size_t i = 0; i < letter.past.size(); ++i)
      mine.past[i] = std::max(mine.past[i], letter.past[i]);
    switch (letter.kind) {
      case Envelope::Kind::message:
        return std::visit([&](const auto& which) { mine.node.on_message(out_, names_[letter.from], which); },
                          *letter.message);
      case Envelope::Kind::application:
        if constexpr (StampsApplication<P>)
          mine.node.on_hear(stamps_[static_cast<std::uint32_t>(letter.stamp)]);
        return;
      case Envelope::Kind::returned:
        if constexpr (HearsBounces<P>) mine.node.on_bounce(out_, names_[letter.from], *letter.message);
        return;
      case Envelope::Kind::down:
      case Envelope::Kind::up:
        if constexpr (HearsOfCrashes<Client>) {
          if (hears(mine.client, letter) && may_speak(mine)) speak(mine);
        }
        return;
    }
  }
  // Messages may take no time, and so could one election after the other that a client starts because it has
  // not heard yet that its leader is back. Time would never pass. So a client answers once in a unit of time.
  bool may_speak(const Local& mine) const { return !mine.has_answered || !answers_a_crash(mine.client); }
  static bool answers_a_crash(const Client& client) {
    if constexpr (AnswersCrashes<Client>) return client.answers_a_crash();
    return false;
  }
  // Tells the client; true if it wants to act on that.
  bool hears(Client& client, const Letter& letter) const {
    const bool had_plans = client.next().has_value();
    if constexpr (HearsOfCrashes<Client>) {
      if (letter.kind == Envelope::Kind::down) {
        client.told_down(names_[letter.from]);
      } else {
        client.told_up(names_[letter.from]);
      }
    }
    return !had_plans && client.next().has_value();
  }

  void fire(Local& mine, std::uint32_t number) {
    if constexpr (HasTimers<P>) {
      const auto timer = static_cast<Timer>(number);
      stop(mine, timer);
      mine.node.on_timer(out_, timer);
    }
  }
  void toss(Local& mine, std::uint32_t face) {
    if constexpr (TossesCoins<P>) {
      mine.coins.erase(mine.coins.begin());
      mine.node.on_choice(out_, face);
    }
  }
  void tell(Local& mine, std::uint32_t to) {
    Letter letter = {.from = mine.index,
                     .kind = Envelope::Kind::application,
                     .left = first_left(),
                     .message = {},
                     .past = mine.past};
    if constexpr (StampsApplication<P>) letter.stamp = stamps_.intern(mine.node.on_tell()).first;
    posted_.push_back({to, intern(std::move(letter))});
  }
  void crash(Local& mine) {
    mine.up = false;
    mine.node = {};
    mine.timers.clear();
    mine.coins.clear();
    mine.has_answered = false;
    mine.client.crash();
    happening_.crashed = true;
  }
  void recover(Local& mine) {
    mine.up = true;
    happening_.recovered = true;
    const NodeId self = names_[mine.index];
    if constexpr (Recovers<P>) {
      if (mine.durable) {
        mine.node = P::recover(self, cast_.all, setup_, *mine.durable, out_);
        return;
      }
    }
    if constexpr (Restarts<P>) {
      mine.node = P::restart(self, cast_.all, setup_, out_);
    } else {
      mine.node = P::start(self, cast_.all, setup_, out_);
    }
  }
  static void tick(Local& mine) {
    mine.has_answered = false;
    for (Running& running : mine.timers) {
      if (running.least > 0) --running.least;
      if (running.most > 0) --running.most;
    }
  }

  Id intern(Local local) {
    const auto [id, fresh] = locals_.intern(std::move(local));
    if (!fresh) return id;
    const Local& mine = locals_[id];
    const auto next = mine.up && may_speak(mine) ? mine.client.next() : std::nullopt;
    Face face = {.up = mine.up,
                 .wants = next.has_value(),
                 .presses = next.has_value() && mine.client.holding(),
                 .content = !mine.up || is_server(mine.index) || mine.client.content(),
                 .holding = mine.up && mine.client.holding(),
                 .running = !mine.timers.empty() || mine.has_answered,
                 .coin = static_cast<std::uint8_t>(mine.coins.empty() ? 0 : mine.coins.front())};
    face.sent = mine.sent;
    face.waiting = !face.content && !face.wants && !face.holding;
    for (const Running& running : mine.timers) {
      if (running.least == 0) face.due |= 1u << static_cast<unsigned>(running.timer);
      if (timed() && running.most == 0) face.overdue = true;
    }
    facts_.emplace_back(print_of(1, mine), face);
    return id;
  }
  Id intern(Letter letter) {
    const auto [id, fresh] = letters_.intern(std::move(letter));
    if (!fresh) return id;
    const Letter& it = letters_[id];
    envelopes_.push_back({static_cast<std::uint8_t>(it.from), it.kind, it.left});
    letter_prints_.push_back(print_of(2, it));
    return id;
  }
  Id intern(J judge) {
    const auto [id, fresh] = judges_.intern(std::move(judge));
    if (!fresh) return id;
    seen_ |= judges_[id].seen();
    judges_wrong_.push_back(judges_[id].wrong().empty() ? 0 : 1);
    judge_prints_.push_back(print_of(3, judges_[id]));
    return id;
  }
  template <class T>
  static Fingerprint print_of(std::uint64_t salt, const T& value) {
    const Fingerprint plain = fingerprint(value);
    return salted(salt, plain.high, plain.low);
  }

  template <class Variant>
  static std::pair<std::string, std::string> described(const std::optional<Variant>& value) {
    if (!value) return {};
    return std::visit(
        []<class A>(const A& alternative) {
          return std::pair(std::string(type_name<A>), describe_json(alternative));
        },
        *value);
  }

  void add_renaming(const std::vector<NodeId>& names) {
    std::vector<std::uint32_t> permutation;
    Renaming renaming;
    for (std::size_t i = 0; i < names.size(); ++i) {
      permutation.push_back(index_of(names[i]));
      renaming[names_[i]] = names[i];
    }
    permutations_.push_back(std::move(permutation));
    renamings_.push_back(std::move(renaming));
  }
  template <class T>
  void call_differently(T& value, std::uint32_t permutation) const {
    if constexpr (HasSymmetry<P>) rename(value, renamings_[permutation]);
  }
  void permute(Past& past, std::uint32_t permutation) const {
    const Past old = past;
    for (std::size_t i = 0; i < old.size(); ++i) past[permutations_[permutation][i]] = old[i];
  }

  struct NoStamp {
    bool operator==(const NoStamp&) const = default;
  };
  template <class Q>
  struct StampOf {
    using type = NoStamp;
  };
  template <StampsApplication Q>
  struct StampOf<Q> {
    using type = typename Q::AppStamp;
  };

  Cast cast_;
  Setup setup_;
  std::vector<NodeId> names_;
  Interner<Local> locals_;
  Interner<Letter> letters_;
  Interner<J> judges_;
  Interner<Happening> happenings_;
  Interner<typename StampOf<P>::type> stamps_;
  std::vector<std::string> complaints_;
  std::vector<std::vector<std::uint32_t>> permutations_;
  std::vector<Renaming> renamings_;
  Id first_judge_ = 0;
  std::uint32_t seen_ = 0;
  // Of the step being taken.
  Out out_;
  std::vector<Posted> posted_;
  Happening happening_;
};

}  // namespace conclave::check
