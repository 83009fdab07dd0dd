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
  facts_.emplace_back(arena_.keep(std::span<const Word>(mine.words)),
                      arena_.keep(std::span<const std::uint8_t>(mine.writers)));
  return id;
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

RegisterSpace::Step RegisterSpace::new_step(Id local, Input input, std::uint32_t argument) {
  const std::lock_guard hold(lock_);
  const std::uint32_t asked = question(input, argument);
  if (const Step* known = steps_.find(local, asked)) return *known;
  const Outcome outcome = programs_.apply(local, input, argument);
  const Step step = {outcome.local, outcome.happening, outcome.complaint};
  steps_.add(local, asked, step);
  return step;
}

template <class How>
Id RegisterSpace::changed(Id memory, std::uint32_t write, How&& how) {
  if (const Id* known = changes_.find(memory, write)) [[likely]]
    return *known;
  const std::lock_guard hold(lock_);
  if (const Id* known = changes_.find(memory, write)) return *known;
  Memory after = memories_[memory];
  how(after);
  const Id id = intern(std::move(after));
  changes_.add(memory, write, id);
  return id;
}

Id RegisterSpace::new_judgement(Id judge, Id happening) {
  const std::lock_guard hold(lock_);
  if (const Id* known = judgements_.find(judge, happening)) return *known;
  const Id after = programs_.judge(judge, happening);
  judgements_.add(judge, happening, after);
  return after;
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
        base_(WordSum::of(state, space.width())) {
    copy_words(worker.state.data(), state, space.width());
  }

  Look run() {
    Look look = {.final = true, .content = true};
    const bool safe = space_.kind_ == Registers::safe;
    for (std::uint32_t i = 0; i < n_; ++i) {
      const Face& face = programs_.face(state_[i]);
      if (!face.content) look.content = false;
      const auto node = static_cast<std::uint8_t>(i);
      if (face.wants) {
        look.final = false;
        emit(i, Input::command, 0, state_[n_], {Move::Kind::command, node, node, !face.presses, 0});
      }
      const Programs::Next& next = programs_.next(state_[i]);
      if (next.waits) continue;
      look.final = false;
      if (safe) {
        access_safely(i, next);
      } else {
        access(i, next.access);
      }
    }
    return look;
  }

 private:
  [[gnu::always_inline]] void access(std::uint32_t i, const Access& access) {
    Word value = 0;
    Id after = state_[n_];
    switch (access.kind) {
      case Access::Kind::local: break;
      case Access::Kind::write:
        value = access.value;
        after = space_.changed(state_[n_], write_key(access) | 1,
                               [&](Memory& m) { m.words[access.place] = access.value; });
        break;
      case Access::Kind::read: value = memory_.words[access.place]; break;
      case Access::Kind::read_via: value = memory_.words[access.place + memory_.words[access.via]]; break;
    }
    take(i, value, after);
  }

  // A write takes two steps, and a read that overlaps it returns anything that the register may ever hold.
  void access_safely(std::uint32_t i, const Programs::Next& next) {
    const Access& access = next.access;
    switch (access.kind) {
      case Access::Kind::local: return take(i, 0, state_[n_]);
      case Access::Kind::read: return read_safely(i, access.place);
      case Access::Kind::read_via: return ensure(false, "safe registers are read one at a time");
      case Access::Kind::write: break;
    }
    if (next.writing) {
      return take(i, access.value, space_.changed(state_[n_], write_key(access) | 1, [&](Memory& m) {
        m.words[access.place] = access.value;
        --m.writers[access.place];
      }));
    }
    const Id after =
        space_.changed(state_[n_], write_key(access), [&](Memory& m) { ++m.writers[access.place]; });
    const auto node = static_cast<std::uint8_t>(i);
    emit(i, Input::access, Programs::beginning_of_write, after, {Move::Kind::begin, node, node, false, 0});
  }
  void read_safely(std::uint32_t i, std::uint32_t place) {
    if (memory_.writers[place] == 0) return take(i, memory_.words[place], state_[n_]);
    const Register& info = programs_.registers()[place];
    for (Word value = info.least; value <= std::min(info.most, space_.most_); ++value)
      take(i, value, state_[n_]);
  }
  static std::uint32_t write_key(const Access& access) {
    ensure(access.value < 1u << 20 && access.place < 1u << 10, "writes can be numbered");
    return access.place << 21 | static_cast<std::uint32_t>(access.value) << 1;
  }

  [[gnu::always_inline]] void take(std::uint32_t i, Word value, Id after) {
    const auto node = static_cast<std::uint8_t>(i);
    emit(i, Input::access, value, after,
         {Move::Kind::access, node, node, false, static_cast<std::uint32_t>(value)});
  }

  // A program moves on, and the registers hold this.
  [[gnu::always_inline]] void emit(std::uint32_t i, Input input, Word value, Id memory, const Move& move) {
    const Step step = space_.step(state_[i], input, value);
    if (step.complaint != 0) [[unlikely]]
      return complain(step.complaint, move);
    Id* const words = worker_.state.data();
    WordSum sum = base_;
    sum.change(i, state_[i], step.local);
    sum.change(n_, state_[n_], memory);
    words[i] = step.local;
    words[n_] = memory;
    if (step.happening != 0) {
      words[n_ + 1] = space_.judged(state_[n_ + 1], step.happening);
      sum.change(n_ + 1, state_[n_ + 1], words[n_ + 1]);
    }
    out_.add(words, sum, move, 0);
    words[i] = state_[i];
    words[n_] = state_[n_];
    words[n_ + 1] = state_[n_ + 1];
  }
  [[gnu::noinline]] void complain(std::uint32_t complaint, const Move& move) {
    const std::lock_guard hold(space_.lock_);
    out_.complain(move, programs_.complaint(complaint));
  }

  RegisterSpace& space_;
  Programs& programs_;
  const std::uint32_t n_;
  const Id* state_;
  Worker& worker_;
  Successors& out_;
  const MemoryFacts& memory_;
  const WordSum base_;
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
  return programs_.bytes() + memories_.bytes() + facts_.bytes() + steps_.bytes() + changes_.bytes() +
         judgements_.bytes() + arena_.bytes();
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
