// The processes of one run over shared registers, and how one of them takes a step before observers.
#pragma once
#include <array>
#include <string>

#include "core/describe.hpp"
#include "sim/ghost.hpp"
#include "sim/random.hpp"
#include "sim/register_machine.hpp"

namespace conclave::sim {

template <Program P>
class RegisterStage {
 public:
  using Machine = RegisterMachine<P>;
  using Event = typename P::Spec::Event;
  using Command = typename P::Spec::Command;

  RegisterStage(const NodeSet& all, const typename P::Setup& setup, Registers kind, std::uint64_t seed,
                trace::Observer* observer)
      : all_(all),
        kind_(kind),
        seed_(seed),
        infos_(P::registers(all, setup)),
        machine_(Machine::start(all, setup)),
        observer_(observer),
        last_write_(infos_.size()) {
    if (observer_) ghost_.emplace(all.size(), observer_->wants_vectors());
    for (const Register& info : infos_) highest_ = std::max(highest_, info.initial);
  }

  const NodeSet& all() const { return all_; }
  std::uint32_t size() const { return all_.size(); }
  NodeId id(std::size_t index) const { return {static_cast<std::uint32_t>(index + 1)}; }
  const Machine& machine() const { return machine_; }
  Machine& machine() { return machine_; }
  trace::Observer* observer() { return observer_; }
  std::uint64_t reads() const { return reads_; }
  std::uint64_t writes() const { return writes_; }

  void start(Ticks now) {
    for (std::size_t i = 0; i < size(); ++i) {
      befall(trace::Kind::start, i, now, [&](trace::Step& step) {
        if (observer_->wants_contents()) step.changed = describe_json(machine_.programs[i]);
      });
    }
  }

  void command(std::size_t index, Ticks now, const Command& command) {
    P& program = machine_.programs[index];
    const std::optional<P> before = watched(program);
    std::visit([&](const auto& which) { program.on_command(which); }, command);
    befall(trace::Kind::command, index, now, [&](trace::Step& step) {
      step.input = std::visit(
          []<class C>(const C& which) {
            return trace::Item{std::string(type_name<C>), describe_json(which)};
          },
          command);
      if (before) step.changed = describe_change(*before, program);
    });
  }

  // Whether the next step of that process reads what somebody is writing.
  bool will_overlap(std::size_t index) const {
    const auto access = machine_.programs[index].next();
    return access && access->kind == Access::Kind::read && machine_.writers[access->place] > 0;
  }
  // … or only begins a write.
  bool will_begin(std::size_t index) const {
    const auto access = machine_.programs[index].next();
    return kind_ == Registers::safe && access && access->kind == Access::Kind::write &&
           !machine_.writing[index];
  }
  // The register that the next step of that process touches.
  const Register& next_register(std::size_t index) const {
    return infos_.at(machine_.programs[index].next()->place);
  }

  // One step of that process, and what its client is told. A read that overlaps a write returns `overlapping`
  // or, if nobody says so, anything.
  std::optional<Event> step(std::size_t index, Ticks now, std::optional<Word> overlapping = {}) {
    P& program = machine_.programs[index];
    const std::optional<P> before = watched(program);
    const Done done = perform(index, overlapping);
    count(done);
    if (observer_) {
      trace::Step step = {.at = now, .kind = trace::Kind::access, .node = id(index)};
      stamp(step, index, done);
      step.input = described(done);
      if (done.overlaps) step.notes.emplace_back("overlaps a write: any value");
      if (done.event) {
        step.events.push_back(std::visit(
            []<class E>(const E& event) {
              return trace::Item{std::string(type_name<E>), describe_json(event)};
            },
            *done.event));
      }
      if (before) step.changed = describe_change(*before, program);
      observer_->see(step);
    }
    return done.event;
  }

  void befall(trace::Kind kind, std::size_t index, Ticks now) {
    befall(kind, index, now, [](trace::Step&) {});
  }

 private:
  using Done = typename Machine::Done;

  Done perform(std::size_t index, std::optional<Word> overlapping) {
    switch (kind_) {
      case Registers::atomic: return machine_.step(index);
      case Registers::safe:
        return machine_.step_safely(
            index, [&](std::uint32_t place) { return overlapping ? *overlapping : garbage(place); });
      case Registers::buffered: drain_some(); return machine_.step_buffered(index);
    }
    return {};
  }

  // Now and then a write of somebody becomes visible.
  void drain_some() {
    const auto draw = [&] { return Draw(seed_, Purpose::garbage, 0, ++garbled_); };
    if (draw().below(4) != 0) return;
    const std::size_t who = draw().below(size());
    const std::vector<std::size_t> some = machine_.drainable(who);
    if (!some.empty()) machine_.drain(who, some[draw().below(some.size())]);
  }

  std::optional<P> watched(const P& program) const {
    return observer_ && observer_->wants_contents() ? std::optional<P>(program) : std::nullopt;
  }

  template <class Fill>
  void befall(trace::Kind kind, std::size_t index, Ticks now, Fill&& fill) {
    if (!observer_) return;
    trace::Step step = {.at = now, .kind = kind, .node = id(index)};
    ghost_->begin(step, index, {});
    fill(step);
    observer_->see(step);
  }

  void count(const Done& done) {
    switch (done.access.kind) {
      case Access::Kind::local: return;
      case Access::Kind::read_via: reads_ += 2; return;
      case Access::Kind::read: ++reads_; return;
      case Access::Kind::write:
        if (done.begins) return;
        ++writes_;
        highest_ = std::max(highest_, done.value);
    }
  }

  // Reading what somebody wrote is to shared memory what a message is to links: the write happened before.
  void stamp(trace::Step& step, std::size_t index, const Done& done) {
    const bool reads = done.access.kind == Access::Kind::read || done.access.kind == Access::Kind::read_via;
    const bool known = !done.overlaps && kind_ != Registers::buffered;  // whose write it was
    const std::uint64_t source = reads && known ? last_write_[done.place] : 0;
    if (source == 0) {
      ghost_->begin(step, index, {});
    } else {
      ghost_->copy(source);
      ghost_->begin(step, index, source);
      step.message.reset();
    }
    if (done.access.kind == Access::Kind::write && !done.begins) {
      if (last_write_[done.place] != 0) ghost_->drop(last_write_[done.place]);
      last_write_[done.place] = ghost_->send(step);
    }
  }

  trace::Item described(const Done& done) const {
    static constexpr std::array<const char*, 4> names = {"local", "read", "read", "write"};
    trace::Item item = {names[static_cast<std::size_t>(done.access.kind)], {}};
    if (done.access.kind == Access::Kind::local) return item;
    if (done.begins) item.type = "begin";
    item.content = "{\"register\":";
    append_json_text(item.content, infos_[done.place].name);
    item.content += ",\"value\":";
    append_number(item.content, done.value);
    item.content += '}';
    return item;
  }

  // Any value that the register may hold; of one without bound, any up to a little more than was ever
  // written.
  Word garbage(std::uint32_t place) {
    const Register& info = infos_[place];
    const Word most = info.most == unbounded ? highest_ + 2 : info.most;
    return Draw(seed_, Purpose::garbage, place, ++garbled_).between(info.least, most);
  }

  NodeSet all_;
  Registers kind_;
  std::uint64_t seed_;
  std::vector<Register> infos_;
  Machine machine_;
  trace::Observer* observer_;
  std::optional<Ghost> ghost_;
  std::vector<std::uint64_t> last_write_;  // per register, as the ghost numbers it
  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t garbled_ = 0;
  Word highest_ = 0;
};

}  // namespace conclave::sim
