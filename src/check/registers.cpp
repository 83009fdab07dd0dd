#include "check/registers.hpp"

#include <algorithm>

#include "check/search.hpp"
#include "check/starvation.hpp"

namespace conclave::check {
namespace {

constexpr std::uint32_t most_nodes = 24;

}  // namespace

RegisterSpace::RegisterSpace(Programs& programs, Registers kind, Word most)
    : programs_(programs), kind_(kind), most_(most), n_(programs.size()) {
  set_workers(1);
  ensure(n_ <= most_nodes, "a configuration that can be explored is small");
  ensure(kind != Registers::buffered, "store buffers are simulated, not explored");
}

std::vector<Id> RegisterSpace::initial() {
  const std::lock_guard hold(lock_);
  std::vector<Id> state(width());
  for (std::uint32_t i = 0; i < n_; ++i) state[i] = programs_.start(i).local;
  Memory memory;
  for (const Register& each : programs_.registers()) memory.words.push_back(each.initial);
  memory.writers.resize(kind_ == Registers::safe ? memory.words.size() : 0);
  state[n_] = intern(std::move(memory));
  state[n_ + 1] = programs_.first_judge();
  return state;
}

Id RegisterSpace::intern(Memory memory) {
  for (std::size_t place = 0; place < memory.words.size(); ++place) {
    if (programs_.registers()[place].most == unbounded) greatest_ = std::max(greatest_, memory.words[place]);
  }
  const auto [id, fresh] = memories_.intern(std::move(memory));
  if (!fresh) return id;
  const Memory& mine = memories_[id];
  const Fingerprint plain = conclave::fingerprint(mine);
  facts_.emplace_back(salted(2, plain.high, plain.low), arena_.keep(std::span<const Word>(mine.words)),
                      arena_.keep(std::span<const std::uint8_t>(mine.writers)));
  return id;
}

Fingerprint RegisterSpace::fingerprint(const Id* state) const {
  Fingerprint sum = facts_[state[n_]].print;
  plus(sum, programs_.judge_print(state[n_ + 1]));
  for (std::uint32_t i = 0; i < n_; ++i) plus(sum, programs_.local_print(state[i]));
  return sum;
}

std::uint32_t RegisterSpace::waiting(const Id* state) const {
  std::uint32_t some = 0;
  for (std::uint32_t i = 0; i < n_; ++i) some |= std::uint32_t{programs_.face(state[i]).waiting} << i;
  return some;
}
std::uint32_t RegisterSpace::holding(const Id* state) const {
  std::uint32_t some = 0;
  for (std::uint32_t i = 0; i < n_; ++i) some |= std::uint32_t{programs_.face(state[i]).holding} << i;
  return some;
}

const RegisterSpace::Step& RegisterSpace::step(Id local, Input input, Word value) {
  ensure(value <= Programs::beginning_of_write, "values can be numbered");
  const auto argument = static_cast<std::uint32_t>(value);
  const std::uint64_t key =
      std::uint64_t{local + 1} << 32 | static_cast<std::uint32_t>(input) << 28 | argument;
  if (const Step* known = steps_.find(key)) [[likely]]
    return *known;
  const std::lock_guard hold(lock_);
  if (const Step* known = steps_.find(key)) return *known;
  const Outcome outcome = programs_.apply(local, input, argument);
  return steps_.add(
      {key, programs_.local_print(outcome.local), outcome.local, outcome.happening, outcome.complaint});
}

template <class How>
const RegisterSpace::Change& RegisterSpace::changed(Id memory, std::uint32_t write, How&& how) {
  const std::uint64_t key = std::uint64_t{memory + 1} << 32 | write;
  if (const Change* known = changes_.find(key)) [[likely]]
    return *known;
  const std::lock_guard hold(lock_);
  if (const Change* known = changes_.find(key)) return *known;
  Memory after = memories_[memory];
  how(after);
  const Id id = intern(std::move(after));
  return changes_.add({key, facts_[id].print, id});
}

// The successors of one state.
class RegisterSpace::Expansion {
 public:
  Expansion(RegisterSpace& space, const Id* state, Worker& worker, Successors& out)
      : space_(space),
        programs_(space.programs_),
        n_(space.n_),
        state_(state),
        worker_(worker),
        out_(out),
        memory_(space.facts_[state[space.n_]]),
        base_(memory_.print) {
    plus(base_, programs_.judge_print(state[n_ + 1]));
    for (std::uint32_t i = 0; i < n_; ++i) {
      selves_[i] = &programs_.facts(state[i]);
      nexts_[i] = &programs_.next(state[i]);
      plus(base_, selves_[i]->print);
    }
    copy_words(worker.state.data(), state, space.width());
  }

  Look run() {
    Look look = {.final = true, .content = true};
    for (std::uint32_t i = 0; i < n_; ++i) {
      const Face& face = selves_[i]->face;
      if (!face.content) look.content = false;
      const auto node = static_cast<std::uint8_t>(i);
      if (face.wants) {
        look.final = false;
        emit(i, space_.step(state_[i], Input::command, 0), nullptr,
             {Move::Kind::command, node, node, !face.presses, 0});
      }
      if (nexts_[i]->waits) continue;
      look.final = false;
      access(i);
    }
    return look;
  }

 private:
  void access(std::uint32_t i) {
    const Programs::Next& next = *nexts_[i];
    switch (next.access.kind) {
      case Access::Kind::local: return take(i, 0, nullptr);
      case Access::Kind::write: return write(i, next);
      case Access::Kind::read: return read(i, next.access.place);
      case Access::Kind::read_via:
        ensure(space_.kind_ != Registers::safe, "safe registers are read one at a time");
        return read(i, next.access.place + static_cast<std::uint32_t>(memory_.words[next.access.via]));
    }
  }

  void write(std::uint32_t i, const Programs::Next& next) {
    const Access& access = next.access;
    const bool safe = space_.kind_ == Registers::safe;
    ensure(access.value < 1u << 20 && access.place < 1u << 10, "writes can be numbered");
    const std::uint32_t key = access.place << 21 | static_cast<std::uint32_t>(access.value) << 1;
    if (safe && !next.writing) {
      const Change& after = space_.changed(state_[n_], key, [&](Memory& m) { ++m.writers[access.place]; });
      const auto node = static_cast<std::uint8_t>(i);
      return emit(i, space_.step(state_[i], Input::access, Programs::beginning_of_write), &after,
                  {Move::Kind::begin, node, node, false, 0});
    }
    take(i, access.value, &space_.changed(state_[n_], key | 1, [&](Memory& m) {
      m.words[access.place] = access.value;
      if (safe) --m.writers[access.place];
    }));
  }

  // A read that overlaps a write to a safe register returns anything that the register may ever hold.
  void read(std::uint32_t i, std::uint32_t place) {
    if (space_.kind_ != Registers::safe || memory_.writers[place] == 0)
      return take(i, memory_.words[place], nullptr);
    const Register& info = programs_.registers()[place];
    for (Word value = info.least; value <= std::min(info.most, space_.most_); ++value)
      take(i, value, nullptr);
  }

  void take(std::uint32_t i, Word value, const Change* after) {
    const auto node = static_cast<std::uint8_t>(i);
    emit(i, space_.step(state_[i], Input::access, value), after,
         {Move::Kind::access, node, node, false, static_cast<std::uint32_t>(value)});
  }

  // Without a change nobody has written to the registers.
  void emit(std::uint32_t i, const Step& step, const Change* after, const Move& move) {
    if (step.complaint != 0) {
      const std::lock_guard hold(space_.lock_);
      return out_.complain(move, programs_.complaint(step.complaint));
    }
    std::vector<Id>& state = worker_.state;
    Fingerprint print = base_;
    replace(print, selves_[i]->print, step.print);
    state[i] = step.local;
    if (after) {
      replace(print, memory_.print, after->print);
      state[n_] = after->memory;
    }
    if (step.happening != 0) judge(step.happening, print);
    out_.add(state.data(), print, move, 0);
    state[i] = state_[i];
    state[n_] = state_[n_];
    state[n_ + 1] = state_[n_ + 1];
  }

  void judge(Id happening, Fingerprint& print) {
    const std::uint64_t key = std::uint64_t{state_[n_ + 1] + 1} << 32 | happening;
    const Known* known = worker_.judges.find(key);
    if (!known) {
      const std::lock_guard hold(space_.lock_);
      known = worker_.judges.insert({key, programs_.judge(state_[n_ + 1], happening)});
    }
    replace(print, programs_.judge_print(state_[n_ + 1]), programs_.judge_print(known->id));
    worker_.state[n_ + 1] = known->id;
  }

  static void replace(Fingerprint& sum, const Fingerprint& old, const Fingerprint& by) {
    minus(sum, old);
    plus(sum, by);
  }

  RegisterSpace& space_;
  Programs& programs_;
  const std::uint32_t n_;
  const Id* state_;
  Worker& worker_;
  Successors& out_;
  const MemoryFacts& memory_;
  std::array<const Locals::Facts*, most_nodes> selves_;
  std::array<const Programs::Next*, most_nodes> nexts_;
  Fingerprint base_;
};

Look RegisterSpace::expand(const Id* state, Sleep, unsigned worker, Successors& out) {
  return Expansion(*this, state, workers_[worker], out).run();
}

trace::Directions RegisterSpace::directions(const Id* before, const Move& move) const {
  using trace::Kind;
  const NodeId node = programs_.name(move.node);
  switch (move.kind) {
    case Move::Kind::command: {
      const auto [type, content] = programs_.describe_command(before[move.node]);
      return {{.kind = Kind::command, .node = node, .type = type, .content = content}};
    }
    case Move::Kind::begin: return {{.kind = Kind::access, .node = node, .type = "begin"}};
    default: return {{.kind = Kind::access, .node = node, .content = std::to_string(move.what)}};
  }
}

std::map<std::string, std::uint64_t> RegisterSpace::figures() const {
  return {{"greatest value of a register", greatest_}};
}

std::uint64_t RegisterSpace::bytes() const {
  std::uint64_t sum = programs_.bytes() + memories_.bytes() + facts_.bytes() + steps_.bytes() +
                      changes_.bytes() + arena_.bytes();
  for (const Worker& worker : workers_) sum += worker.judges.bytes();
  return sum;
}

Report explore_registers(Programs& programs, Registers kind, const Options& options) {
  // The greatest ticket that so many entries can draw, and one more.
  const Word most = std::uint64_t{programs.size()} * std::max(1u, options.entries) + 1;
  RegisterSpace space(programs, kind, most);
  Options how = options;
  how.partial_order = false;
  Report report = search(space, how);
  if (options.starvation && report.findings.empty() && report.complete)
    add_starvation(space, options, report);
  report.properties = options.properties;
  return report;
}

}  // namespace conclave::check
