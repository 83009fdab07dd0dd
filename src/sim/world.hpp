// The simulated world: virtual time, links with delays, clients, and faults. Same options, same run.
//
// Every run has two acts. Until the end of the fault window anything may happen that the options allow;
// then links heal, standing nodes go on, crashed ones come back, and the clients must all be served.
#pragma once
#include <array>
#include <deque>
#include <map>
#include <memory>

#include "sim/cluster.hpp"
#include "sim/conditions.hpp"
#include "sim/event_queue.hpp"

namespace conclave::sim {

template <Protocol P>
class World : Conditions {
 public:
  using Out = Effects<P>;
  using Message = typename P::Message;
  using Setup = typename P::Setup;
  using Timer = typename P::Timer;
  using Durable = typename DurableOf<P>::type;
  using AppStamp = typename AppStampOf<P>::type;

  World(const Options& options, const Setup& setup, trace::Observer* observer)
      : Conditions(options, {.assumes = P::assumes, .in_rounds = InRounds<P>, .has_server = HasServer<P>}),
        cluster_(options.members ? *options.members : members_for<P>(options.nodes), setup, observer) {
    cluster_.set_instant_disk(options_.sync_ticks == 0);
    flags_.resize(cluster_.size());
    content_.resize(cluster_.size(), true);
    planned_.resize(cluster_.size());
    if (options_.ranked || InRounds<P>) rank_bits_ = 2;
    if (!fixed_delay_ || options.faults.any() || options.script) sent_.resize(cluster_.size());
  }

  Report run() {
    try {
      if (!begun_) begin();
      run_steps();
    } catch (const InvariantViolation& violation) {
      report_.broken = violation.what();
    }
    return finish();
  }

  // For benchmarks and tests that look inside.
  Cluster<P>& cluster() { return cluster_; }

  // Starts every node without running anything.
  void begin() {
    begun_ = true;
    if (cluster_.observer()) cluster_.observer()->begin(header_);
    set_window();
    if constexpr (ReadsClock<P>) set_clocks();
    for (std::uint32_t i = 0; i < cluster_.size(); ++i) settle(i, cluster_.start(out_, i, now_));
    for (const Action& action : planned_actions(cluster_.all())) schedule(action);
    if (!options_.script) {
      for (const std::uint32_t i : starters(cluster_.size())) {
        cluster_.client(i).wishes = options_.entries;
        account(i);
        plan_client(i);
      }
    }
    // Some wait for an outcome without having asked for anything.
    for (std::uint32_t i = 0; i < cluster_.size(); ++i) {
      if (!cluster_.is_server(i)) account(i);
    }
    if (options_.faults.any() || options_.script)
      push(report_.window.count + 1, Rank::other, {.kind = Event::Kind::heal_all});
    if constexpr (InRounds<P>) push(0, Rank::other, {.kind = Event::Kind::round});
    set_deadline();
  }

  void set_header(trace::Header header) {
    header_ = std::move(header);
    header_.nodes = cluster_.all();
  }

 private:
  struct Event {
    enum class Kind : std::uint8_t {
      message,
      application,
      timer,
      wake,
      action,
      synced,
      heal_all,
      bounce,
      notice,
      round,
      wander,
    };
    std::uint32_t node = 0;  // index; first and apart, or the compiler joins its store with another's
    Kind kind = Kind::message;
    std::uint32_t from = 0;  // index of the sender, or of whom a notice is about; the timer; the action
    std::uint32_t id =
        0;  // of the message for observers; generation of the timer; slot of the stamp; is down
    Message message = {};
  };

  enum Flag : std::uint8_t { crashed = 1, paused = 2 };

  struct RunningTimer {
    Timer timer;
    std::uint32_t generation;
    std::uint64_t due;
    std::uint64_t cause;
  };

  struct Unsynced {
    std::vector<typename Out::Write> writes;
    std::vector<typename Out::Send> sends;
    std::uint64_t first_id;
  };

  // What few nodes ever need.
  struct Extra {
    std::int64_t drift_ppm = 0;
    std::int64_t jitter_percent = 0;
    std::uint32_t generation = 0;
    std::vector<RunningTimer> timers;
    std::vector<Event> backlog;       // of a paused node
    std::deque<std::uint64_t> holds;  // of scripted requests
    std::optional<Durable> durable;
    std::vector<Unsynced> unsynced;
    std::uint64_t synced_at = 0;
    bool stalled = false;          // its disk stands still,
    std::vector<Event> unwritten;  // and this was to get there
    std::uint64_t draws = 0;
    std::uint64_t syncs = 0;
    std::uint64_t chores = 0;
    std::uint32_t incarnation = 0;
    bool down_forever = false;
    std::optional<Action> dying;  // in the middle of the next step
  };

  Extra& extra(std::uint32_t i) {
    if (extras_.empty()) extras_.resize(cluster_.size());
    if (!extras_[i]) extras_[i] = std::make_unique<Extra>();
    return *extras_[i];
  }

  // Flattened: at -O2 g++ would leave a dozen calls of small functions on the way of every message.
  // What is rare is kept out of line by name.
  [[gnu::flatten, gnu::noinline]] void run_steps() {
    while (report_.steps < options_.step_limit) {
      auto* const entry = queue_.next();
      if (!entry) return;
      now_ = {entry->at >> rank_bits_};
      ++report_.steps;
      handle(entry->event);
      if constexpr (NeverRests<P>) {
        if (options_.run_on) continue;
        const bool served = discontent_ == 0 && actions_left_ == 0 && options_.until.count == 0;
        if (served || now_ > deadline_) return;
      }
    }
  }

  void handle(Event& event) {
    const std::uint32_t i = event.node;
    if (event.kind == Event::Kind::message) [[likely]] {
      if (flags_[i] != 0) [[unlikely]]
        return intercept(event);
      return settle(i, cluster_.deliver(out_, i, now_, cluster_.id(event.from), event.message, event.id));
    }
    handle_rarer(event);
  }

  [[gnu::noinline]] void handle_rarer(Event& event) {
    const std::uint32_t i = event.node;
    if (event.kind == Event::Kind::action) return perform(event);
    if (event.kind == Event::Kind::heal_all) return heal_everything();
    if (event.kind == Event::Kind::round) return begin_round();
    if (event.kind == Event::Kind::wander) return wander(i);
    if (flags_[i] != 0) return intercept(event);
    switch (event.kind) {
      case Event::Kind::application: return hear(event);
      case Event::Kind::timer: return fire(event);
      case Event::Kind::wake: return wake(i);
      case Event::Kind::synced: return synced(event);
      case Event::Kind::bounce:
        return settle(i, cluster_.bounce(out_, i, now_, cluster_.id(event.from), event.message));
      case Event::Kind::notice: return notice(event);
      default: return;
    }
  }

  // Puts something off until a moment. In a world that ranks, time counts in quarters of a tick, one a rank.
  std::uint64_t moment(std::uint64_t at, Rank rank) const {
    if (rank_bits_ == 0) [[likely]]
      return at;
    const std::uint64_t wanted = at << rank_bits_ | static_cast<std::uint64_t>(rank);
    return std::max(wanted, queue_.now());
  }
  void push(std::uint64_t at, Rank rank, Event event) { queue_.push(moment(at, rank), std::move(event)); }

  // Something happens to a node that is down or stands still.
  [[gnu::noinline]] void intercept(Event& event) {
    if (flags_[event.node] & crashed) {
      if constexpr (HearsBounces<P>) {
        if (event.kind == Event::Kind::message) bounce(event);
      }
      if (event.kind == Event::Kind::message || event.kind == Event::Kind::application)
        lose(cluster_, event.id, "receiver is down");
      return;
    }
    extra(event.node).backlog.push_back(std::move(event));
  }

  // Carries out what a step asked for.
  void settle(std::uint32_t i, std::uint64_t first_id) {
    if (any_dying_) [[unlikely]] {
      if (extra(i).dying && breaks_off_) return die(i, first_id);
    }
    if constexpr (!std::same_as<Durable, NoDurable>) {
      for (auto& send : out_.early) route(i, send, first_id == 0 ? 0 : first_id++);
      if (persist(i, first_id)) return after_sends(i);
    }
    const std::uint64_t stride = first_id == 0 ? 0 : 1;
    for (auto& send : out_.sends) {
      route(i, send, first_id);
      first_id += stride;
    }
    if (out_.more) after_sends(i);
  }

  [[gnu::noinline]] void after_sends(std::uint32_t i) {
    if (!out_.events.empty()) {
      if constexpr (HasInvariants<P>) {
        if (cluster_.observer() && announced_++ % look_every == 0) look_inside();
      }
      auto& client = cluster_.client(i);
      for (const auto& event : out_.events) client.see(event);
      account(i);
      plan_client(i);
    }
    if constexpr (HasTimers<P>) {
      for (const Timer timer : out_.disarmed)
        std::erase_if(extra(i).timers, [&](const RunningTimer& t) { return t.timer == timer; });
      for (const auto& arm : out_.armed) start_timer(i, arm);
    }
    if constexpr (TossesCoins<P>) {
      if (!out_.choices.empty()) {
        const std::vector<unsigned> choices = out_.choices;
        for (const unsigned faces : choices) {
          const Draw draw(options_.seed, Purpose::coin, i, extra(i).draws++);
          settle(i, cluster_.toss(out_, i, now_, static_cast<unsigned>(draw.below(faces))));
        }
      }
    }
  }

  // At all processes together. What they are told of is what matters most; to look each time would take
  // longer than the run.
  static constexpr std::uint64_t look_every = 8;
  static constexpr std::uint32_t most_looked_at = 9;
  [[gnu::noinline]] void look_inside() {
    if constexpr (HasInvariants<P>) {
      if (cluster_.size() > most_looked_at) return;
      report_.looked_inside = true;
      std::vector<const P*> all;
      for (std::uint32_t i = 0; i < cluster_.size(); ++i) {
        if (!(flags_[i] & crashed)) all.push_back(&cluster_.node(i));
      }
      for (Wrong& wrong : P::invariants(all)) {
        if (std::ranges::find(report_.wrongs, wrong.property, &Wrong::property) == report_.wrongs.end())
          report_.wrongs.push_back(std::move(wrong));
      }
    }
  }

  // Links.

  void route(std::uint32_t from, typename Out::Send& send, std::uint64_t id) {
    ++counts_[send.message.index()];
    const std::uint32_t to = cluster_.index(send.to);
    ensure(to < flags_.size() && to != from, "messages go to other members");
    if (!swift_) [[unlikely]]
      return route_with_care({.node = to,
                              .from = from,
                              .id = static_cast<std::uint32_t>(id),
                              .message = std::move(send.message)});
    const std::uint64_t at =
        moment(within_round(now_.count + (fixed_delay_ ? *fixed_delay_ : usual_delay(from))), Rank::delivery);
    // Alternative by alternative: a variant copied as a whole right after it was written stalls.
    visit_in_place(send.message, [&](auto& message) {
      queue_.emplace(at, to, Event::Kind::message, from, static_cast<std::uint32_t>(id), std::move(message));
    });
  }

  [[gnu::noinline]] void route_with_care(Event event) {
    const std::uint64_t nth = ++sent_[event.from];
    const NodeId from = cluster_.id(event.from);
    std::uint64_t delay =
        delay_of(event.from, from, cluster_.id(event.node), alternative_name(event.message), nth);
    bool keep_order = fifo_;
    for (const Action& fault : message_faults(from, nth)) {
      record(fault);
      switch (fault.what) {
        case Action::What::lose: return lose(cluster_, event.id, "on the way");
        case Action::What::duplicate: {
          duplicate(cluster_, event.id);
          Event again = event;
          transmit(std::move(again), delay + static_cast<std::uint64_t>(fault.amount), false);
          break;
        }
        case Action::What::slow: delay += static_cast<std::uint64_t>(fault.amount); break;
        case Action::What::reorder:
          delay += static_cast<std::uint64_t>(fault.amount);
          keep_order = false;
          break;
        default: break;
      }
    }
    transmit(std::move(event), delay, keep_order);
  }

  void transmit(Event event, std::uint64_t delay, bool keep_order) {
    if (!cuts_.empty() && is_cut(cluster_.id(event.from), cluster_.id(event.node))) {
      if (lossy_) return lose(cluster_, event.id, "cut off");
      ++report_.held_back;
      held_.push_back(std::move(event));
      return;
    }
    std::uint64_t at = within_round(now_.count + delay);
    if (keep_order) at = after_earlier(event.from, event.node, at);
    push(at, Rank::delivery, std::move(event));
  }

  // What is sent in a round arrives in it.
  std::uint64_t within_round(std::uint64_t at) const {
    if constexpr (!InRounds<P>) return at;
    return std::min(at, round_end_ - 1);
  }

  void begin_round() {
    report_.rounds++;
    round_end_ = now_.count + round_length;
    breaks_off_ = true;
    for (std::uint32_t i = 0; i < cluster_.size(); ++i) {
      if (flags_[i] == 0) settle(i, cluster_.begin_round(out_, i, now_, report_.rounds));
    }
    breaks_off_ = !InRounds<P>;
    if ((discontent_ > 0 || actions_left_ > 0) && report_.rounds < options_.round_limit)
      push(round_end_, Rank::other, {.kind = Event::Kind::round});
  }

  // The news that its receiver is down takes as long as a message.
  void bounce(const Event& event) {
    ++report_.bounced;
    push(now_.count + sample_delay(event.node, event.from, ~event.id), Rank::delivery,
         {.node = event.from, .kind = Event::Kind::bounce, .from = event.node, .message = event.message});
  }

  // A reliable failure detector: whoever listens is told of every crash and every return, in this order.
  void announce(std::uint32_t about, bool down) {
    if constexpr (HearsOfCrashes<typename P::Spec::Client>) {
      if (!options_.detector) return;
      for (std::uint32_t i = 0; i < cluster_.size(); ++i) {
        if (i == about || cluster_.is_server(i)) continue;
        give_notice(i, about, down);
      }
    }
  }
  void give_notice(std::uint32_t to, std::uint32_t about, bool down) {
    const Draw draw(options_.seed, Purpose::detection, std::uint64_t{about} << 32 | to,
                    extra(about).incarnation);
    push(now_.count + options_.detect.sample(draw), Rank::other,
         {.node = to, .kind = Event::Kind::notice, .from = about, .id = down});
  }
  void notice(const Event& event) {
    if constexpr (HearsOfCrashes<typename P::Spec::Client>) {
      auto& client = cluster_.client(event.node);
      const bool had_plans = client.next().has_value();
      if (event.id != 0) {
        client.told_down(cluster_.id(event.from));
      } else {
        client.told_up(cluster_.id(event.from));
      }
      account(event.node);
      if (!had_plans && client.next()) wake(event.node);
    }
  }

  // Hardware clocks.

  void set_clocks() {
    const ClockModel& model = options_.clocks;
    for (std::uint32_t i = 0; i < cluster_.size(); ++i) {
      if (cluster_.is_server(i)) continue;
      LocalClock& clock = cluster_.clock(i);
      clock.shown = static_cast<std::int64_t>(
          Draw(options_.seed, Purpose::clock, i, 0).between(0, model.offset_most.count));
      clock.ppb = drawn_ppb(i, 1, model.drift_ppb_most);
      if (model.wander_every.count > 0)
        push(model.wander_every.count, Rank::other, {.node = i, .kind = Event::Kind::wander, .id = 2});
    }
  }
  void wander(std::uint32_t i) {
    if constexpr (ReadsClock<P>) {
      const ClockModel& model = options_.clocks;
      LocalClock& clock = cluster_.clock(i);
      const std::int64_t ppb = clock.ppb + drawn_ppb(i, 2 + now_.count, model.wander_ppb);
      clock.set_rate(now_, std::clamp(ppb, -model.drift_ppb_most, model.drift_ppb_most));
      push(now_.count + model.wander_every.count, Rank::other, {.node = i, .kind = Event::Kind::wander});
    }
  }

  std::uint64_t sample_delay(std::uint32_t from, std::uint32_t to, std::uint64_t nth) const {
    return Conditions::sample_delay(from, cluster_.id(from), cluster_.id(to), nth);
  }

  // Clients.

  bool stays_down(std::uint32_t i) {
    return (flags_[i] & crashed) && (P::assumes.crashes == Crashes::stop || extra(i).down_forever);
  }

  // Keeps count of the clients that still want something, after one of them may have changed its mind.
  void account(std::uint32_t i) {
    const bool content = stays_down(i) || cluster_.client(i).content();
    if (content == static_cast<bool>(content_[i])) return;
    content_[i] = content;
    discontent_ += content ? std::uint64_t(-1) : 1;
  }

  [[gnu::noinline]] void plan_client(std::uint32_t i) {
    auto& client = cluster_.client(i);
    // Whoever has something in mind already is woken for that, and need not be woken twice.
    if (planned_[i] || !client.next()) return;
    planned_[i] = true;
    std::uint64_t pause = 0;
    if (client.holding()) {
      if (options_.script && !extra(i).holds.empty()) {
        pause = extra(i).holds.front();
        extra(i).holds.pop_front();
      } else {
        pause = hold_of(i, client.requests);
      }
    } else if (has_chore(client)) {
      pause = options_.think.sample(Draw(options_.seed, Purpose::chore, i, extra(i).chores++));
    } else if (!options_.script && !InRounds<P>) {
      pause = options_.think.sample(Draw(options_.seed, Purpose::think, i, client.requests));
    }
    push(now_.count + pause, InRounds<P> ? Rank::timer : Rank::other, {.node = i, .kind = Event::Kind::wake});
  }

  static bool has_chore(const typename P::Spec::Client& client) {
    if constexpr (HasChores<typename P::Spec::Client>) return client.chore().has_value();
    return false;
  }

  [[gnu::flatten]] void wake(std::uint32_t i) {
    planned_[i] = false;
    const auto command = cluster_.client(i).next();
    if (!command) return;
    const bool asks = !cluster_.client(i).holding() && !has_chore(cluster_.client(i));
    if (asks && options_.record)
      record({.what = Action::What::wish,
              .at = now_,
              .node = cluster_.id(i),
              .amount = static_cast<std::int64_t>(hold_of(i, cluster_.client(i).requests + 1))});
    settle(i, cluster_.command(out_, i, now_, *command));
    account(i);
    plan_client(i);
    if (asks && options_.chatter > 0 && !options_.script) chat(i);
  }

  // Some requests are followed by a word to somebody else: that is how one request happens before another.
  [[gnu::noinline]] void chat(std::uint32_t i) {
    if (const auto to = listener(i, cluster_.client(i).requests, cluster_.size())) tell(i, *to);
  }

  void tell(std::uint32_t from, std::uint32_t to) {
    record({.what = Action::What::tell, .at = now_, .node = cluster_.id(from), .to = cluster_.id(to)});
    ++report_.application_messages;
    AppStamp stamp{};
    const std::uint64_t id = cluster_.tell(from, cluster_.id(to), now_, stamp);
    const auto key = static_cast<std::uint32_t>(id != 0 ? id : ++unobserved_tells_);
    stamps_.emplace(key, std::move(stamp));
    const std::uint64_t delay = sample_delay(from, to, ~report_.application_messages);
    push(now_.count + delay, Rank::delivery,
         {.node = to, .kind = Event::Kind::application, .from = from, .id = key});
  }

  void hear(const Event& event) {
    const auto found = stamps_.find(event.id);
    cluster_.hear(event.node, cluster_.id(event.from), now_, found->second, event.id);
    stamps_.erase(found);
  }

  // Timers run by the node's own clock.

  std::uint64_t in_real_ticks(const Extra& node, std::uint64_t local) const {
    return local * 1'000'000 / static_cast<std::uint64_t>(1'000'000 + node.drift_ppm);
  }

  std::uint64_t jittered(std::uint32_t i, const Extra& node, std::uint64_t ticks) const {
    if (node.jitter_percent == 0) return ticks;
    const auto most = static_cast<std::uint64_t>(node.jitter_percent);
    const Draw draw(~options_.seed, Purpose::jitter, i, node.draws);
    return ticks * (100 - most + draw.between(0, 2 * most)) / 100;
  }

  template <class Arm>
  void start_timer(std::uint32_t i, const Arm& arm) {
    Extra& node = extra(i);
    std::erase_if(node.timers, [&](const RunningTimer& t) { return t.timer == arm.timer; });
    const Draw draw(options_.seed, Purpose::timer, i, node.draws++);
    const std::uint64_t wanted = in_real_ticks(node, draw.between(arm.after.min.count, arm.after.max.count));
    const std::uint64_t due = now_.count + jittered(i, node, wanted);
    node.timers.push_back({arm.timer, ++node.generation, due, cluster_.last_step()});
    push_timer(i, node.timers.back());
  }

  void push_timer(std::uint32_t i, const RunningTimer& timer) {
    push(timer.due, Rank::timer,
         {.node = i,
          .kind = Event::Kind::timer,
          .from = static_cast<std::uint32_t>(timer.timer),
          .id = timer.generation});
  }

  void fire(const Event& event) {
    if constexpr (HasTimers<P>) {
      auto& timers = extra(event.node).timers;
      const auto found = std::ranges::find(timers, event.id, &RunningTimer::generation);
      if (found == timers.end()) return;  // disarmed, or started anew
      const RunningTimer timer = *found;
      timers.erase(found);
      settle(event.node, cluster_.fire(out_, event.node, now_, timer.timer, timer.cause));
    }
  }

  // The disk: what a step persists is durable before what it sends leaves, and so is what it persisted
  // before. True if the sends wait.
  bool persist(std::uint32_t i, std::uint64_t first_id) {
    Extra& node = extra(i);
    if (options_.sync_ticks == 0) {
      for (auto& write : out_.writes) take_write<P>(node.durable, std::move(write));
      return false;
    }
    if (out_.writes.empty() && (out_.sends.empty() || node.unsynced.empty())) return false;
    const std::uint64_t wait = out_.writes.empty() ? 0 : sync_time(i);
    node.unsynced.push_back({std::move(out_.writes), std::move(out_.sends), first_id});
    out_.writes = {};
    out_.sends = {};
    node.synced_at = std::max(node.synced_at, now_.count) + wait;
    push(node.synced_at, Rank::timer, {.node = i, .kind = Event::Kind::synced, .id = node.incarnation});
    return true;
  }

  std::uint64_t sync_time(std::uint32_t i) {
    const Draw draw(options_.seed, Purpose::disk, i, extra(i).syncs++);
    const bool is_slow = slow_disks_ && draw.below(8) == 0;
    return is_slow ? draw.between(2, 40) * options_.sync_ticks : options_.sync_ticks;
  }

  void synced(const Event& event) {
    const std::uint32_t i = event.node;
    Extra& node = extra(i);
    if (event.id != node.incarnation) return;  // the crash took it
    if (node.stalled) return node.unwritten.push_back(event);
    Unsynced oldest = std::move(node.unsynced.front());
    node.unsynced.erase(node.unsynced.begin());
    for (auto& send : oldest.sends) route(i, send, oldest.first_id == 0 ? 0 : oldest.first_id++);
    if (oldest.writes.empty()) return;
    for (const auto& write : oldest.writes) take_write<P>(node.durable, write);
    if constexpr (HearsOfDisk<P>) settle(i, cluster_.synced(out_, i, now_, oldest.writes.back()));
  }

  // What is done to the run from outside.

  void schedule(const Action& action) {
    actions_.push_back(action);
    ++actions_left_;
    push(action.at.count, action.what == Action::What::crash ? Rank::crash : Rank::other,
         {.kind = Event::Kind::action, .from = static_cast<std::uint32_t>(actions_.size() - 1)});
  }

  void perform(const Event& event) {
    const Action& action = actions_[event.from];
    const std::uint32_t i = concerns_node(action.what) ? cluster_.index(action.node) : 0;
    const bool by_application = action.what == Action::What::wish || action.what == Action::What::tell;
    if (by_application && (flags_[i] & paused)) {
      extra(i).backlog.push_back(event);
      return;
    }
    --actions_left_;
    if (!by_application) record(action);
    switch (action.what) {
      case Action::What::wish: return wish(i, static_cast<std::uint64_t>(action.amount));
      case Action::What::tell:
        if (!(flags_[i] & crashed)) tell(i, cluster_.index(action.to));
        return;
      case Action::What::crash: return crash(i, action);
      case Action::What::recover: return recover(i, action.durable);
      case Action::What::pause: return pause(i);
      case Action::What::resume: return resume(i);
      case Action::What::partition: return cut(action);
      case Action::What::heal: return heal();
      case Action::What::drift: return drift(i, action.amount);
      case Action::What::jump: return jump(i, action.amount);
      case Action::What::jitter: return jitter(i, action.amount);
      case Action::What::stall: return stall(i);
      case Action::What::flush: return flush(i);
      default: return;
    }
  }

  static bool concerns_node(Action::What what) {
    return what != Action::What::partition && what != Action::What::heal && what != Action::What::disk;
  }

  void wish(std::uint32_t i, std::uint64_t hold) {
    if ((flags_[i] & crashed) || cluster_.is_server(i)) return;
    auto& client = cluster_.client(i);
    client.wish();
    account(i);
    extra(i).holds.push_back(hold);
    // A client that is busy comes back to its wish when it is free.
    if (client.next() && !client.holding()) wake(i);
  }

  // `lost` writes of the step in which it dies never get to the disk.
  void crash(std::uint32_t i, const Action& action, std::uint64_t lost = 0) {
    if (flags_[i] & crashed) return;
    Extra& node = extra(i);
    if (action.dying && !node.dying) {
      node.dying = action;
      any_dying_ = true;
      return;
    }
    node.dying.reset();
    flags_[i] = crashed;
    node.backlog.clear();
    node.timers.clear();
    lost += lose_power(node, action.durable ? UINT64_MAX : static_cast<std::uint64_t>(action.amount));
    ++node.incarnation;
    node.down_forever = action.forever;
    cluster_.client(i).crash();
    planned_[i] = false;
    account(i);
    cluster_.befall(trace::Kind::crash, i, now_, writes_lost(lost));
    announce(i, true);
  }

  // Of the writes under way the first `survive` get to the disk; how many do not? Nobody waits for them.
  std::uint64_t lose_power(Extra& node, std::uint64_t survive) {
    std::uint64_t lost = 0;
    for (Unsynced& step : node.unsynced) {
      for (auto& write : step.writes) {
        if (survive == 0) {
          ++lost;
          continue;
        }
        take_write<P>(node.durable, std::move(write));
        --survive;
      }
    }
    node.unsynced.clear();
    node.unwritten.clear();
    node.stalled = false;
    return lost;
  }

  // The step that is being settled is the last one: only some of its messages leave.
  [[gnu::noinline]] void die(std::uint32_t i, std::uint64_t first_id) {
    const Action last = *extra(i).dying;
    const std::uint64_t stride = first_id == 0 ? 0 : 1;
    for (auto* sends : {&out_.early, &out_.sends}) {
      for (auto& send : *sends) {
        if (last.group.contains(send.to)) {
          route(i, send, first_id);
        } else {
          lose(cluster_, first_id, "the sender crashed");
        }
        first_id += stride;
      }
    }
    crash(i, last, out_.writes.size());
  }

  void recover(std::uint32_t i, bool durable) {
    if (!(flags_[i] & crashed)) return;
    flags_[i] = 0;
    announce(i, false);
    for (std::uint32_t other = 0; other < flags_.size(); ++other) {
      if constexpr (HearsOfCrashes<typename P::Spec::Client>) {
        if (options_.detector && (flags_[other] & crashed)) give_notice(i, other, true);
      }
    }
    account(i);
    settle(i, cluster_.recover(out_, i, now_, durable ? extra(i).durable : std::nullopt));
    plan_client(i);
  }

  void pause(std::uint32_t i) {
    if (flags_[i] != 0) return;
    flags_[i] = paused;
    cluster_.befall(trace::Kind::pause, i, now_);
  }

  void resume(std::uint32_t i) {
    if (!(flags_[i] & paused)) return;
    flags_[i] = 0;
    cluster_.befall(trace::Kind::resume, i, now_);
    // At once, and not by way of the queue: what arrives in this very tick came later.
    for (Event& event : std::exchange(extra(i).backlog, {})) handle(event);
  }

  void cut(const Action& action) {
    cuts_.push_back({action.cut, action.group, action.node});
    swift_ = false;
    cluster_.befall_links(trace::Kind::partition, now_, {"partition", to_json(action)});
  }

  void heal() {
    if (cuts_.empty()) return;
    cuts_.clear();
    swift_ = plain_links_;
    cluster_.befall_links(trace::Kind::heal, now_, {"heal", {}});
    for (Event& event : std::exchange(held_, {})) {
      const std::uint64_t delay = sample_delay(event.from, event.node, ++sent_[event.from]);
      transmit(std::move(event), delay, fifo_);
    }
  }

  void drift(std::uint32_t i, std::int64_t ppm) {
    extra(i).drift_ppm = ppm;  // for timers started from now on
    if constexpr (ReadsClock<P>) {
      if (!cluster_.is_server(i)) cluster_.clock(i).set_rate(now_, 1000 * ppm);
    }
    cluster_.befall(trace::Kind::clock, i, now_, "drift " + std::to_string(ppm) + " ppm");
  }

  void jump(std::uint32_t i, std::int64_t by) {
    cluster_.befall(trace::Kind::clock, i, now_, "jump " + std::to_string(by));
    if constexpr (ReadsClock<P>) {
      if (!cluster_.is_server(i)) cluster_.clock(i).shown += by;
    }
    Extra& node = extra(i);
    for (RunningTimer& timer : node.timers) {
      const std::int64_t due = static_cast<std::int64_t>(timer.due) - by;
      timer.due =
          static_cast<std::uint64_t>(std::max<std::int64_t>(due, static_cast<std::int64_t>(now_.count)));
      timer.generation = ++node.generation;
      push_timer(i, timer);
    }
  }

  void jitter(std::uint32_t i, std::int64_t percent) {
    extra(i).jitter_percent = percent;  // for timers started from now on
    cluster_.befall(trace::Kind::clock, i, now_, "jitter " + std::to_string(percent) + " %");
  }

  void stall(std::uint32_t i) {
    Extra& node = extra(i);
    if ((flags_[i] & crashed) || std::exchange(node.stalled, true)) return;
    cluster_.befall(trace::Kind::disk, i, now_, "stands still");
  }

  void flush(std::uint32_t i) {
    Extra& node = extra(i);
    if (!std::exchange(node.stalled, false)) return;
    cluster_.befall(trace::Kind::disk, i, now_, "goes on");
    for (Event& event : std::exchange(node.unwritten, {})) handle(event);
  }

  void heal_everything() {
    heal();
    for (std::uint32_t i = 0; i < flags_.size(); ++i) {
      if (!extras_.empty() && extras_[i]) {
        flush(i);
        if (extras_[i]->jitter_percent != 0) jitter(i, 0);
      }
      if (flags_[i] & paused) resume(i);
      if ((flags_[i] & crashed) && !stays_down(i)) recover(i, true);
    }
  }

  Report finish() {
    if (cluster_.observer()) look_inside();
    report_.end = now_;
    report_.quiet = queue_.empty() && report_.broken.empty();
    report_.content = true;
    for (std::uint32_t i = 0; i < cluster_.size(); ++i) {
      if (!(flags_[i] & crashed) && !cluster_.client(i).content()) report_.content = false;
    }
    count_messages(alternative_names<Message>, counts_);
    if (cluster_.observer())
      cluster_.observer()->end({.at = now_, .quiet = report_.quiet, .broken = report_.broken});
    return std::move(report_);
  }

  Cluster<P> cluster_;
  trace::Header header_;
  bool begun_ = false;
  EventQueue<Event> queue_;
  Out out_;
  std::array<std::uint64_t, std::variant_size_v<Message>> counts_{};
  std::vector<std::uint8_t> flags_;    // per node: crashed, paused
  std::vector<std::uint8_t> content_;  // per node: its client wants nothing
  std::vector<std::uint8_t> planned_;  // per node: its client will be woken
  unsigned rank_bits_ = 0;
  bool any_dying_ = false;
  bool breaks_off_ = !InRounds<P>;  // who is dying does so in this step; in rounds, when one begins
  std::uint64_t round_end_ = round_length;
  std::vector<std::unique_ptr<Extra>> extras_;
  std::uint64_t discontent_ = 0;  // clients that still want something
  std::uint64_t announced_ = 0;   // steps that told a client something
  std::vector<Event> held_;       // by a cut
  // Application messages under way.
  std::map<std::uint32_t, AppStamp> stamps_;
  std::uint32_t unobserved_tells_ = 0;
};

}  // namespace conclave::sim
