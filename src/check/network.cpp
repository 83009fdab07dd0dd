#include "check/network.hpp"

#include <algorithm>
#include <bit>

#include "check/labels.hpp"

namespace conclave::check {
namespace {

constexpr std::uint64_t inbox_salt = 0x1b0c;
constexpr std::uint64_t extra_salt = 0xe77a;

}  // namespace

Network::Network(Locals& locals, Rules rules) : locals_(locals), rules_(rules), n_(locals.size()) {
  ensure(n_ <= most_nodes, "a configuration that can be explored is small");
  judge_at_ = 2 * n_;
  width_ = judge_at_ + 1;
  if (rules_.budget != Budget{}) spent_at_ = width_++;
  if (rules_.in_rounds || rules_.budget.partitions > 0) phase_at_ = width_++;
  ensure(rules_.budget.partitions == 0 || n_ <= 8, "partitions are tried with up to eight nodes");
  invariants_ = locals.has_invariants();
  labels_fit_ = Labels::fit(n_);
  calm_ =
      rules_.budget == Budget{} && !rules_.timed && !rules_.in_rounds && !rules_.symmetry && !locals.tosses();
  set_workers(1);
}

void Network::set_workers(unsigned workers) {
  workers_.clear();
  for (unsigned i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->state = blank_draft(width_);
    workers_.back()->renames.resize(3 * locals_.permutations().size());
  }
}

std::vector<Id> Network::initial() {
  const std::lock_guard hold(lock_);
  std::vector<Id> state(width_);
  for (std::uint32_t i = 0; i < n_; ++i) state[n_ + i] = intern({{}, i});
  state[judge_at_] = locals_.first_judge();
  std::vector<Outcome> begun;
  std::vector<std::vector<Posted>> posted;
  for (std::uint32_t i = 0; i < n_; ++i) {
    begun.push_back(locals_.start(i));
    posted.emplace_back(begun.back().posted.begin(), begun.back().posted.end());
    ensure(begun.back().complaint == 0, "a protocol starts without breaking its rules");
  }
  for (std::uint32_t i = 0; i < n_; ++i) {
    state[i] = begun[i].local;
    if (begun[i].happening != 0) state[judge_at_] = locals_.judge(state[judge_at_], begun[i].happening);
    for (const Posted& post : posted[i]) state[n_ + post.to] = post_locked(state[n_ + post.to], post.letter);
  }
  if (phase_at_) state[phase_at_] = Phase::of(0, n_, 0).bits;
  prologue_.clear();
  for (const std::uint32_t i : rules_.opening) {
    std::ranges::copy(directions(state.data(), {Move::Kind::command, static_cast<std::uint8_t>(i)}),
                      std::back_inserter(prologue_));
    const Outcome outcome = locals_.apply(state[i], Input::command, 0);
    ensure(outcome.complaint == 0, "whoever opens has something to ask");
    state[i] = outcome.local;
    if (outcome.happening != 0) state[judge_at_] = locals_.judge(state[judge_at_], outcome.happening);
    for (const Posted& post : outcome.posted)
      state[n_ + post.to] = post_locked(state[n_ + post.to], post.letter);
  }
  return state;
}

// What is remembered.

Network::Step Network::new_step(Id local, Input input, std::uint32_t argument) {
  ensure(argument < 1u << 28, "inputs can be numbered");
  const std::uint32_t asked = question(input, argument);
  const std::lock_guard hold(lock_);
  if (const Step* known = steps_.find(local, asked)) return *known;
  const Outcome outcome = locals_.apply(local, input, argument);
  EffectValue value = {.happening = outcome.happening, .complaint = outcome.complaint};
  std::vector<Parcel> parcels;
  for (const Posted& posted : outcome.posted) parcels.push_back(Parcel::of(posted));
  for (const Parcel parcel : parcels) value.parcels.push_back(parcel.bits);
  const auto [id, fresh] = effect_values_.intern(std::move(value));
  if (fresh) {
    Effect effect = {.happening = outcome.happening,
                     .complaint = outcome.complaint,
                     .count = static_cast<std::uint32_t>(parcels.size())};
    if (parcels.size() <= std::size(effect.first)) {
      std::ranges::copy(parcels, effect.first);
    } else {
      effect.many = arena_.keep(std::span<const Parcel>(parcels));
    }
    effects_.push_back(effect);
  }
  const Step step = {outcome.local, id};
  steps_.add(local, asked, step);
  return step;
}

Id Network::new_post(Id inbox, Id letter) {
  const std::lock_guard hold(lock_);
  if (const Id* known = posts_.find(inbox, letter)) return *known;
  const Id after = post_locked(inbox, letter);
  for (auto& slot : facts_[inbox].posts) {
    const std::uint64_t known = slot.load(std::memory_order_relaxed);
    if (known >> 32 == letter + 1) return static_cast<Id>(known);
    if (known != 0) continue;
    slot.store(pair_key(letter + 1, after), std::memory_order_release);
    return after;
  }
  posts_.add(inbox, letter, after);
  return after;
}

Id Network::new_judgement(Id judge, Id happening) {
  const std::lock_guard hold(lock_);
  if (const Id* known = judgements_.find(judge, happening)) return *known;
  const Id after = locals_.judge(judge, happening);
  judgements_.add(judge, happening, after);
  return after;
}

Id Network::aged(Worker& worker, Id inbox, std::uint32_t cut) {
  const std::uint64_t key = pair_key(inbox, cut);
  const auto found = worker.ages.find(key);
  if (found != worker.ages.end()) return found->second;
  const std::lock_guard hold(lock_);
  Inbox older = inboxes_[inbox];
  for (Id& letter : older.letters) {
    if (!holds_back(cut, locals_.envelope(letter).from, older.receiver)) letter = locals_.aged(letter);
  }
  const Id after = intern(std::move(older));
  worker.ages.emplace(key, after);
  return after;
}

// Inboxes.

// What is said of one node, that it is down and that it is up again, goes one way.
std::uint32_t Network::lane(Id letter) const {
  const Envelope& envelope = locals_.envelope(letter);
  const auto kind = envelope.kind == Envelope::Kind::up ? Envelope::Kind::down : envelope.kind;
  return static_cast<std::uint32_t>(kind) * 256 + envelope.from;
}
// Of links the rules say it; a failure detector does not take back what it has not said yet.
bool Network::keeps_order(Id letter) const {
  const Envelope::Kind kind = locals_.envelope(letter).kind;
  return rules_.fifo || kind == Envelope::Kind::down || kind == Envelope::Kind::up;
}

Id Network::post_locked(Id inbox, Id letter) {
  Inbox fuller = inboxes_[inbox];
  const auto place =
      std::ranges::upper_bound(fuller.letters, lane(letter), {}, [&](Id l) { return lane(l); });
  fuller.letters.insert(place, letter);
  return intern(std::move(fuller));
}

// The letters of a lane without order stand in that of their fingerprints, which is that of no run.
Id Network::intern(Inbox inbox) {
  if (!rules_.fifo) {
    std::ranges::stable_sort(inbox.letters, {}, [&](Id letter) {
      return std::pair(lane(letter), keeps_order(letter) ? Fingerprint{} : locals_.letter_print(letter));
    });
  }
  Fingerprinter sink;
  sink.absorb(inbox_salt);
  sink.absorb(inbox.receiver);
  for (const Id letter : inbox.letters) {
    sink.absorb(locals_.letter_print(letter).high);
    sink.absorb(locals_.letter_print(letter).low);
  }
  const Fingerprint print = sink.result();
  if (const auto known = known_inboxes_.find(print); known != known_inboxes_.end()) {
    ensure(inboxes_[known->second] == inbox, "different inboxes have different fingerprints");
    return known->second;
  }
  bool due = false, young = false;
  std::vector<Option> options;
  for (std::size_t i = 0; i < inbox.letters.size(); ++i) {
    const Envelope& envelope = locals_.envelope(inbox.letters[i]);
    if (rules_.timed) (envelope.left == 0 ? due : young) = true;
    const bool same_lane = i > 0 && lane(inbox.letters[i - 1]) == lane(inbox.letters[i]);
    if (same_lane && (keeps_order(inbox.letters[i]) || inbox.letters[i - 1] == inbox.letters[i])) continue;
    Inbox rest = inbox;
    rest.letters.erase(rest.letters.begin() + static_cast<std::ptrdiff_t>(i));
    options.push_back({inbox.letters[i], intern(std::move(rest))});
  }
  const Id id = inboxes_.push_back(std::move(inbox));
  facts_.emplace_back();
  inbox_prints_.push_back(print);
  InboxFacts& facts = facts_[id];
  facts.due = due;
  facts.young = young;
  facts.count = static_cast<std::uint32_t>(options.size());
  if (options.size() <= std::size(facts.first)) {
    std::ranges::copy(options, facts.first);
  } else {
    facts.many = arena_.keep(std::span<const Option>(options));
  }
  known_inboxes_.emplace(print, id);
  return id;
}

Id Network::renamed_inbox(Id inbox, std::uint32_t permutation) {
  const Inbox& old = inboxes_[inbox];
  Inbox renamed = {{}, locals_.permutations()[permutation][old.receiver]};
  for (const Id letter : old.letters) renamed.letters.push_back(locals_.renamed_letter(letter, permutation));
  std::ranges::stable_sort(renamed.letters, {}, [&](Id l) { return lane(l); });
  return intern(std::move(renamed));
}

// States.

Fingerprint Network::extra_print(const Id* state) const {
  if (!spent_at_ && !phase_at_) return {};
  return salted(extra_salt, spent(state).bits, phase(state).bits);
}

Fingerprint Network::fingerprint(const Id* state) const {
  Fingerprint sum = extra_print(state);
  for (std::uint32_t i = 0; i < n_; ++i) {
    plus(sum, locals_.local_print(state[i]));
    plus(sum, inbox_prints_[state[n_ + i]]);
  }
  plus(sum, locals_.judge_print(state[judge_at_]));
  return sum;
}

bool Network::is_wrong(const Id* state) const {
  if (invariants_ && !locals_.broken_invariants({state, n_}).empty()) return true;
  return locals_.is_wrong(state[judge_at_]);
}
std::vector<Wrong> Network::wrongs(const Id* state) const {
  std::vector<Wrong> all = locals_.wrongs(state[judge_at_]);
  if (invariants_) std::ranges::copy(locals_.broken_invariants({state, n_}), std::back_inserter(all));
  return all;
}
std::vector<Wrong> Network::wrongs_at_end(const Id* state) const {
  return locals_.wrongs_at_end(state[judge_at_], {state, n_});
}
std::uint64_t Network::sent(const Id* state) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < n_; ++i) sum += locals_.face(state[i]).sent;
  return sum;
}
std::uint32_t Network::waiting(const Id* state) const {
  std::uint32_t some = 0;
  for (std::uint32_t i = 0; i < n_; ++i) some |= std::uint32_t{locals_.face(state[i]).waiting} << i;
  return some;
}
std::uint32_t Network::holding(const Id* state) const {
  std::uint32_t some = 0;
  for (std::uint32_t i = 0; i < n_; ++i) some |= std::uint32_t{locals_.face(state[i]).holding} << i;
  return some;
}

// The successors of one state.
class Network::Expansion {
 public:
  Expansion(Network& net, const Id* state, Sleep sleep, Worker& worker, Successors& out)
      : net_(net),
        locals_(net.locals_),
        rules_(net.rules_),
        n_(net.n_),
        state_(state),
        labels_(n_, rules_.fifo, net.labels_fit_ && !sleep.never, sleep),
        all_(sleep.only == 0),
        worker_(worker),
        out_(out),
        spent_(net.spent(state)),
        phase_(net.phase(state)),
        base_(WordSum::of(state, net.width_)) {
    for (std::uint32_t i = 0; i < n_; ++i) boxes_[i] = &net.facts_[state[n_ + i]];
  }

  Look run() {
    look_.content = true;
    for (std::uint32_t i = 0; i < n_; ++i) {
      const Face& face = locals_.face(state_[i]);
      if (face.coin > 0) return toss(i);
      if (!face.content && face.up) look_.content = false;
    }
    if (rules_.in_rounds && phase_.next() < n_) {
      begin_round(phase_.round(), phase_.next());
    } else {
      for (std::uint32_t i = 0; i < n_; ++i) step_of(i);
      if (rules_.timed && all_) tick();
      if (rules_.in_rounds && !progress_ && !look_.content) {
        // Nobody here needs more rounds than that: who has not decided by then never will.
        if (phase_.round() < rules_.most_rounds) begin_round(phase_.round() + 1, 0);
      }
    }
    if (rules_.budget != Budget{} && all_) befall();
    look_.final = !progress_;
    return look_;
  }

 private:
  // A successor under construction.
  void draft() {
    std::copy_n(state_, net_.width_, worker_.state.data());
    sum_ = base_;
  }
  void set(std::uint32_t at, Id word) {
    sum_.change(at, worker_.state[at], word);
    worker_.state[at] = word;
  }
  void set_local(std::uint32_t i, Id local) { set(i, local); }
  void set_inbox(std::uint32_t i, Id inbox) { set(n_ + i, inbox); }
  void judge(Id happening) {
    if (happening != 0) set(net_.judge_at_, net_.judged(worker_.state[net_.judge_at_], happening));
  }
  void set_extra(Spent spent, Phase phase) {
    if (net_.spent_at_) set(net_.spent_at_, spent.bits);
    if (net_.phase_at_) set(net_.phase_at_, phase.bits);
  }
  // A letter to somebody who is down and stays so, and of which nobody hears, need not be kept.
  void post(std::uint32_t to, Id letter) {
    if (rules_.budget.crashes > 0 && !locals_.face(worker_.state[to]).up && !kept_for_the_dead(letter))
      return;
    set_inbox(to, net_.post(worker_.state[n_ + to], letter));
  }
  bool kept_for_the_dead(Id letter) const {
    if (locals_.envelope(letter).kind != Envelope::Kind::message) return false;
    return locals_.returns() || (rules_.comes_back && room(Spent::recoveries, rules_.budget.recoveries));
  }
  bool room(Spent::Field field, std::uint32_t most) const { return spent_.of(field) < most; }

  // False if the step broke a rule: there is no successor then.
  bool follow(std::uint32_t i, Step step, const Move& move) {
    const Effect& effect = net_.effects_[step.effect];
    if (effect.complaint != 0) {
      complain(effect.complaint, move);
      return false;
    }
    set_local(i, step.local);
    for (const Parcel posted : effect.posted()) post(posted.to(), posted.letter());
    judge(effect.happening);
    return true;
  }

  // Does the judge hear of it?
  bool go(std::uint32_t i, Step step, const Move& move) {
    const Effect& effect = net_.effects_[step.effect];
    if (follow(i, step, move)) emit(move, labels_.after(i, effect.happening != 0, effect.posted()));
    return effect.happening != 0;
  }
  void emit(const Move& move, std::uint64_t asleep) {
    if (rules_.symmetry) return emit_canonical(move);
    out_.add(worker_.state.data(), sum_, move, asleep);
  }

  // Of all the states that differ from this one in names only, the one with the least fingerprint.
  void emit_canonical(const Move& move) {
    const Draft& state = worker_.state;
    Draft& best = worker_.best;
    best = state;
    Fingerprint least = net_.fingerprint(state.data());
    Draft& other = worker_.other;
    other.resize(state.size());
    const auto permutations = locals_.permutations();
    for (std::uint32_t p = 0; p < permutations.size(); ++p) {
      Fingerprint sum = net_.extra_print(state.data());
      std::ranges::copy(state, other.begin());
      for (std::uint32_t i = 0; i < n_; ++i) {
        const std::uint32_t to = permutations[p][i];
        other[to] = renamed(p, 0, state[i]);
        other[n_ + to] = renamed(p, 1, state[n_ + i]);
        plus(sum, locals_.local_print(other[to]));
        plus(sum, net_.inbox_prints_[other[n_ + to]]);
      }
      other[net_.judge_at_] = renamed(p, 2, state[net_.judge_at_]);
      plus(sum, locals_.judge_print(other[net_.judge_at_]));
      if (sum < least) {
        least = sum;
        best = other;
      }
    }
    out_.add(best.data(), WordSum::of(best.data(), net_.width_), move, 0);
  }
  Id renamed(std::uint32_t permutation, std::uint32_t kind, Id id) {
    Memo& memo = worker_.renames[3 * permutation + kind];
    if (const auto found = memo.find(id); found != memo.end()) return found->second;
    const std::lock_guard hold(net_.lock_);
    const Id other = kind == 0   ? locals_.renamed(id, permutation)
                     : kind == 1 ? net_.renamed_inbox(id, permutation)
                                 : locals_.renamed_judge(id, permutation);
    memo.emplace(id, other);
    return other;
  }

  // What node i may do next.
  void step_of(std::uint32_t i) {
    const Face& face = locals_.face(state_[i]);
    const InboxFacts& inbox = *boxes_[i];
    if (!face.up) return vanish(i, inbox);
    if (face.wants) command(i, face);
    deliver(i, inbox);
    if (face.due != 0) fire(i, face, inbox);
  }

  void command(std::uint32_t i, const Face& face) {
    const Move move = {Move::Kind::command, static_cast<std::uint8_t>(i), labels_.of_client(i), !face.presses,
                       0};
    progress_ = true;
    if (labels_.sleeps(move.label)) return out_.skip(1);
    draft();
    go(i, net_.step(state_[i], Input::command, 0), move);
    labels_.close(move.label, true);
  }

  void deliver(std::uint32_t i, const InboxFacts& inbox) {
    std::uint8_t open = Move::no_label;
    bool heard = false;
    for (const Option& option : inbox.options()) {
      const Envelope& envelope = locals_.envelope(option.letter);
      if (net_.holds_back(phase_.cut(), envelope.from, i)) continue;
      const bool plain = envelope.kind == Envelope::Kind::message;
      const Move move = {Move::Kind::deliver, static_cast<std::uint8_t>(i),
                         plain ? labels_.of_link(envelope.from, i) : Move::no_label, false, option.letter};
      if (move.label != open) {
        labels_.close(open, heard);
        open = move.label;
        heard = false;
      }
      progress_ = true;
      if (labels_.sleeps(move.label)) {
        out_.skip(1);
        continue;
      }
      draft();
      set_inbox(i, option.rest);
      const bool told = go(i, net_.step(state_[i], Input::deliver, option.letter), move);
      heard = heard || told;
    }
    labels_.close(open, heard);
  }

  void complain(std::uint32_t complaint, const Move& move) {
    const std::lock_guard hold(net_.lock_);
    out_.complain(move, locals_.complaint(complaint));
  }

  // A timer of a synchronous algorithm runs out after everything that could have arrived in time.
  void fire(std::uint32_t i, const Face& face, const InboxFacts& inbox) {
    if (rules_.timed && inbox.due && !all_held_back(i)) return;
    const bool free = rules_.timed;
    if (!free && !room(Spent::timeouts, rules_.budget.timeouts)) {
      look_.bounded = true;
      return;
    }
    bool heard = false;
    const std::uint8_t group = free ? labels_.of_timers(i) : Move::no_label;
    progress_ = true;  // a run in which a timer waits has not ended
    if (labels_.sleeps(group)) return out_.skip(static_cast<std::uint32_t>(std::popcount(face.due)));
    for (std::uint32_t due = face.due; due != 0; due &= due - 1) {
      const auto timer = static_cast<std::uint32_t>(std::countr_zero(due));
      const Move move = {Move::Kind::fire, static_cast<std::uint8_t>(i), group, !free, timer};
      draft();
      if (!free) set_extra(spent_.with_one_more(Spent::timeouts), phase_);
      const bool told = go(i, net_.step(state_[i], Input::fire, timer), move);
      heard = heard || told;
    }
    labels_.close(group, heard);
  }

  // What has arrived by now, except over links that are cut.
  bool all_held_back(std::uint32_t i) const {
    return std::ranges::all_of(net_.inboxes_[state_[n_ + i]].letters, [&](Id letter) {
      const Envelope& envelope = locals_.envelope(letter);
      return envelope.left > 0 || net_.holds_back(phase_.cut(), envelope.from, i);
    });
  }

  void vanish(std::uint32_t i, const InboxFacts& inbox) {
    for (const Option& option : inbox.options()) {
      if (net_.holds_back(phase_.cut(), locals_.envelope(option.letter).from, i)) continue;
      progress_ = true;
      const Move move = {Move::Kind::vanish, static_cast<std::uint8_t>(i), Move::no_label, false,
                         option.letter};
      draft();
      set_inbox(i, option.rest);
      std::optional<Id> news;
      if (locals_.returns()) {
        const std::lock_guard hold(net_.lock_);
        news = locals_.returned(option.letter, i);
      }
      if (news) post(locals_.envelope(option.letter).from, *news);
      emit(move, 0);
    }
  }

  Look toss(std::uint32_t i) {
    for (std::uint32_t face = 0; face < locals_.face(state_[i]).coin; ++face) {
      const Move move = {Move::Kind::toss, static_cast<std::uint8_t>(i), Move::no_label, false, face};
      draft();
      if (follow(i, net_.step(state_[i], Input::toss, face), move)) emit(move, 0);
    }
    return look_;
  }

  void tick() {
    bool something = false;
    for (std::uint32_t i = 0; i < n_; ++i) {
      const Face& face = locals_.face(state_[i]);
      const InboxFacts& inbox = net_.facts_[state_[n_ + i]];
      if (inbox.due && !all_held_back(i)) return;
      if (face.up && face.overdue) return;
      something = something || (face.up && face.running) || inbox.young;
    }
    if (!something) return;
    progress_ = true;
    draft();
    const Move move = {Move::Kind::tick, 0, Move::no_label, false, 0};
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (locals_.face(state_[i]).running) set_local(i, net_.step(state_[i], Input::tick, 0).local);
      set_inbox(i, net_.aged(worker_, state_[n_ + i], phase_.cut()));
    }
    emit(move, 0);
  }

  // The next process that is up begins the round; it may crash while it does.
  void begin_round(std::uint32_t round, std::uint32_t next) {
    while (next < n_ && !locals_.face(state_[next]).up) ++next;
    if (next == n_) {  // nobody is left to begin
      if (phase_.next() == n_) return;
      draft();
      set_extra(spent_, Phase::of(round, n_, phase_.cut()));
      progress_ = true;
      return emit({Move::Kind::tick, 0, Move::no_label, false, 0}, 0);
    }
    progress_ = true;
    const Phase after = Phase::of(round, following(next), phase_.cut());
    const Step outcome = net_.step(state_[next], Input::round, round);
    const Move move = {Move::Kind::round, static_cast<std::uint8_t>(next), Move::no_label, false, round};
    draft();
    set_extra(spent_, after);
    if (follow(next, outcome, move)) emit(move, 0);
    if (net_.effects_[outcome.effect].complaint == 0 && room(Spent::crashes, rules_.budget.crashes))
      die(next, outcome, after);
  }
  std::uint32_t following(std::uint32_t node) const {
    for (++node; node < n_ && !locals_.face(state_[node]).up;) ++node;
    return node;
  }
  void die(std::uint32_t i, Step outcome, Phase after) {
    const Effect& effect = net_.effects_[outcome.effect];
    std::uint32_t receivers = 0;
    for (const Parcel posted : effect.posted()) receivers |= 1u << posted.to();
    const Step dead = net_.step(outcome.local, Input::crash, 0);
    for (std::uint32_t reached = receivers;; reached = (reached - 1) & receivers) {
      draft();
      set_extra(spent_.with_one_more(Spent::crashes), after);
      judge(effect.happening);
      for (const Parcel posted : effect.posted()) {
        if (reached >> posted.to() & 1) post(posted.to(), posted.letter());
      }
      fall(i, dead);
      emit({Move::Kind::die, static_cast<std::uint8_t>(i), Move::no_label, true, reached}, 0);
      if (reached == 0) return;
    }
  }
  // The node goes down, and what was under way to it with it, unless somebody may still hear of that.
  void fall(std::uint32_t i, Step dead) {
    set_local(i, dead.local);
    judge(net_.effects_[dead.effect].happening);
    const Inbox& inbox = net_.inboxes_[worker_.state[n_ + i]];
    Inbox rest = {{}, i};
    for (const Id letter : inbox.letters) {
      if (kept_for_the_dead(letter)) rest.letters.push_back(letter);
    }
    if (rest.letters.size() != inbox.letters.size()) {
      Id kept = 0;
      {
        const std::lock_guard hold(net_.lock_);
        kept = net_.intern(std::move(rest));
      }
      set_inbox(i, kept);
    }
    give_notice(i, true);
  }
  void give_notice(std::uint32_t about, bool down) {
    if (!locals_.tells_of_crashes()) return;
    Id letter = 0;
    {
      const std::lock_guard hold(net_.lock_);
      letter = locals_.notice(about, down);
    }
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (i != about && !locals_.is_server(i) && locals_.face(worker_.state[i]).up) post(i, letter);
    }
  }

  // What befalls the run from outside.
  void befall() {
    const Budget& budget = rules_.budget;
    for (std::uint32_t i = 0; i < n_; ++i) {
      const bool up = locals_.face(state_[i]).up;
      if (up && room(Spent::crashes, budget.crashes) && !rules_.in_rounds) crash(i);
      if (!up && rules_.comes_back && room(Spent::recoveries, budget.recoveries)) recover(i);
      if (up && room(Spent::tells, budget.tells)) tell(i);
      if (room(Spent::losses, budget.losses) || (rules_.lossy && phase_.cut() != 0)) lose(i);
      if (up && room(Spent::duplications, budget.duplications)) duplicate(i);
    }
    if (budget.partitions > 0) part();
  }
  void crash(std::uint32_t i) {
    draft();
    set_extra(spent_.with_one_more(Spent::crashes), phase_);
    fall(i, net_.step(state_[i], Input::crash, 0));
    emit({Move::Kind::crash, static_cast<std::uint8_t>(i), Move::no_label, true, 0}, 0);
  }
  void recover(std::uint32_t i) {
    const Move move = {Move::Kind::recover, static_cast<std::uint8_t>(i), Move::no_label, true, 0};
    draft();
    set_extra(spent_.with_one_more(Spent::recoveries), phase_);
    if (!follow(i, net_.step(state_[i], Input::recover, 0), move)) return;
    give_notice(i, false);
    if (locals_.tells_of_crashes()) {
      for (std::uint32_t other = 0; other < n_; ++other) {
        if (other == i || locals_.face(state_[other]).up) continue;
        Id letter = 0;
        {
          const std::lock_guard hold(net_.lock_);
          letter = locals_.notice(other, true);
        }
        post(i, letter);
      }
    }
    emit(move, 0);
  }
  void tell(std::uint32_t i) {
    for (std::uint32_t to = 0; to < n_; ++to) {
      if (to == i || locals_.is_server(i) || locals_.is_server(to) || !locals_.face(state_[to]).up) continue;
      const Move move = {Move::Kind::tell, static_cast<std::uint8_t>(i), Move::no_label, true, to};
      draft();
      set_extra(spent_.with_one_more(Spent::tells), phase_);
      if (follow(i, net_.step(state_[i], Input::tell, to), move)) emit(move, 0);
    }
  }
  void lose(std::uint32_t i) {
    for (const Option& option : net_.facts_[state_[n_ + i]].options()) {
      const Envelope& envelope = locals_.envelope(option.letter);
      if (envelope.kind != Envelope::Kind::message) continue;
      const bool cut_off = rules_.lossy && net_.holds_back(phase_.cut(), envelope.from, i);
      if (!cut_off && !room(Spent::losses, rules_.budget.losses)) continue;
      draft();
      if (!cut_off) set_extra(spent_.with_one_more(Spent::losses), phase_);
      set_inbox(i, option.rest);
      emit({Move::Kind::lose, static_cast<std::uint8_t>(i), Move::no_label, true, option.letter}, 0);
    }
  }
  void duplicate(std::uint32_t i) {
    for (const Option& option : net_.facts_[state_[n_ + i]].options()) {
      const Envelope& envelope = locals_.envelope(option.letter);
      if (envelope.kind != Envelope::Kind::message) continue;
      if (net_.holds_back(phase_.cut(), envelope.from, i)) continue;
      const Move move = {Move::Kind::duplicate, static_cast<std::uint8_t>(i), Move::no_label, true,
                         option.letter};
      draft();
      set_extra(spent_.with_one_more(Spent::duplications), phase_);
      if (follow(i, net_.step(state_[i], Input::deliver, option.letter), move)) emit(move, 0);
    }
  }
  void part() {
    if (phase_.cut() != 0) {
      progress_ = true;
      draft();
      set_extra(spent_, Phase::of(phase_.round(), phase_.next(), 0));
      return emit({Move::Kind::heal, 0, Move::no_label, false, 0}, 0);
    }
    if (!room(Spent::partitions, rules_.budget.partitions)) return;
    for (std::uint32_t side = 1; side < 1u << (n_ - 1); ++side) {
      draft();
      set_extra(spent_.with_one_more(Spent::partitions), Phase::of(phase_.round(), phase_.next(), side));
      emit({Move::Kind::part, 0, Move::no_label, true, side}, 0);
    }
  }

  Network& net_;
  Locals& locals_;
  const Rules& rules_;
  const std::uint32_t n_;
  const Id* state_;
  Labels labels_;
  const bool all_;  // not only what was left out before
  Worker& worker_;
  Successors& out_;
  Spent spent_;
  Phase phase_;
  std::array<const InboxFacts*, most_nodes> boxes_;
  const WordSum base_;
  WordSum sum_;
  bool progress_ = false;
  Look look_;
};

Look Network::expand(const Id* state, Sleep sleep, unsigned worker, Successors& out) {
  if (calm_) return expand_calmly(state, sleep, *workers_[worker], out);
  return Expansion(*this, state, sleep, *workers_[worker], out).run();
}

std::map<std::string, std::uint64_t> Network::figures() const { return {}; }

std::uint64_t Network::bytes() const {
  std::uint64_t sum = locals_.bytes() + steps_.bytes() + effect_values_.bytes() + effects_.bytes() +
                      posts_.bytes() + judgements_.bytes() + arena_.bytes() + facts_.bytes() +
                      inbox_prints_.bytes() + inboxes_.bytes() + known_inboxes_.bucket_count() * 21;
  for (const auto& worker : workers_) sum += worker->ages.bucket_count() * 13;
  return sum;
}

trace::Directions Network::directions(const Id* before, const Move& move) const {
  using trace::Kind;
  const NodeId node = locals_.name(move.node);
  const auto letter = [&](Kind kind) {
    const auto [type, content] = locals_.describe_letter(move.what);
    return trace::Direction{.kind = kind,
                            .node = node,
                            .from = locals_.name(locals_.envelope(move.what).from),
                            .type = type,
                            .content = content};
  };
  const auto arrival = [&]() -> trace::Directions {
    switch (locals_.envelope(move.what).kind) {
      case Envelope::Kind::message: return {letter(Kind::deliver)};
      case Envelope::Kind::application: return {letter(Kind::hear)};
      case Envelope::Kind::returned: return {letter(Kind::bounce)};
      default: break;
    }
    // The detector speaks to the client, which may react: only that is a step of the process.
    const auto [type, content] = locals_.describe_reaction(before[move.node], move.what);
    if (type.empty()) return {};
    return {{.kind = Kind::command, .node = node, .type = type, .content = content}};
  };
  switch (move.kind) {
    case Move::Kind::command: {
      const auto [type, content] = locals_.describe_command(before[move.node]);
      return {{.kind = Kind::command, .node = node, .type = type, .content = content}};
    }
    case Move::Kind::deliver: return arrival();
    case Move::Kind::duplicate: {
      trace::Directions both = {letter(Kind::duplicate)};
      std::ranges::copy(arrival(), std::back_inserter(both));
      return both;
    }
    case Move::Kind::lose: return {letter(Kind::lose)};
    case Move::Kind::vanish: return {letter(Kind::lose)};
    case Move::Kind::fire:
      return {{.kind = Kind::timer, .node = node, .type = locals_.describe_timer(move.what)}};
    case Move::Kind::toss: return {{.kind = Kind::choice, .node = node, .type = std::to_string(move.what)}};
    case Move::Kind::tell: return {{.kind = Kind::tell, .node = node, .from = locals_.name(move.what)}};
    case Move::Kind::crash: return {{.kind = Kind::crash, .node = node}};
    case Move::Kind::recover: {
      const bool durable = locals_.has_durable(before[move.node]);
      return {{.kind = Kind::recover, .node = node, .type = durable ? "durable" : "fresh"}};
    }
    case Move::Kind::round: return {{.kind = Kind::round, .node = node, .type = std::to_string(move.what)}};
    case Move::Kind::die: return last_words(before, move);
    case Move::Kind::part: {
      NodeSet side;
      for (std::uint32_t i = 0; i < n_; ++i) {
        if (move.what >> i & 1) side.insert(locals_.name(i));
      }
      return {{.kind = Kind::partition, .group = side}};
    }
    case Move::Kind::heal: return {{.kind = Kind::heal}};
    default: return {};
  }
}

// A round begun, the messages that did not leave, the crash.
trace::Directions Network::last_words(const Id* before, const Move& move) const {
  using trace::Kind;
  const NodeId node = locals_.name(move.node);
  std::uint32_t round = phase(before).round();
  if (phase(before).next() == n_) ++round;
  trace::Directions all = {{.kind = Kind::round, .node = node, .type = std::to_string(round)}};
  const std::lock_guard hold(lock_);
  const Outcome outcome = locals_.apply(before[move.node], Input::round, round);
  for (const Posted& posted : outcome.posted) {
    if (move.what >> posted.to & 1) continue;
    const auto [type, content] = locals_.describe_letter(posted.letter);
    all.push_back({.kind = Kind::lose,
                   .node = locals_.name(posted.to),
                   .from = node,
                   .type = type,
                   .content = content});
  }
  all.push_back({.kind = Kind::crash, .node = node});
  return all;
}

}  // namespace conclave::check
