// Programs and the registers they share, as one value: copy it to branch, compare it to see whether a run has
// come back to where it was. Who decides which process takes the next step builds on this.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "core/ensure.hpp"
#include "core/program.hpp"

namespace conclave::sim {

template <Program P>
struct RegisterMachine {
  using Event = typename P::Spec::Event;
  using Command = typename P::Spec::Command;

  // A write that its own process sees already and the others do not.
  struct Pending {
    std::uint32_t place = 0;
    Word value = 0;
    bool release = false;  // not before all that stands before it
    bool operator==(const Pending&) const = default;
  };

  std::vector<P> programs;             // of p1 … pN
  std::vector<Word> words;             // what the registers hold
  std::vector<std::uint32_t> writers;  // per register: writes under way; only safe registers have any
  std::vector<std::uint8_t> writing;   // per process: in the midst of a write

  std::vector<std::vector<Pending>> buffers;  // per process; only buffered registers have anything in them

  bool operator==(const RegisterMachine&) const = default;

  static RegisterMachine start(const NodeSet& all, const typename P::Setup& setup) {
    RegisterMachine machine;
    for (NodeId id : all) machine.programs.push_back(P::start(id, all, setup));
    for (const Register& reg : P::registers(all, setup)) machine.words.push_back(reg.initial);
    machine.writers.resize(machine.words.size());
    machine.writing.resize(machine.programs.size());
    machine.buffers.resize(machine.programs.size());
    return machine;
  }

  P& of(NodeId who) { return programs.at(who.value - 1); }
  const P& of(NodeId who) const { return programs.at(who.value - 1); }
  bool idle(std::size_t index) const { return !programs[index].next(); }

  // What one step did.
  struct Done {
    Access access = {};
    std::uint32_t place = 0;  // the register in the end
    Word value = 0;           // read from it or written to it
    bool begins = false;      // a write to a safe register has begun, no more
    bool overlaps = false;    // a read of a safe register overlapped a write
    std::optional<Event> event = {};
  };

  // One instruction on atomic registers.
  Done step(std::size_t index) {
    return perform(index, [](std::uint32_t, Word held) { return held; });
  }

  // One step on safe registers. A write takes two, its beginning and its end; `garble(place)` says what a
  // read in between returns. A read needs only one: whatever it overlaps, it overlaps at some instant.
  template <class Garble>
  Done step_safely(std::size_t index, Garble&& garble) {
    const auto access = programs[index].next();
    ensure(access.has_value(), "only a program with an instruction takes a step");
    ensure(access->kind != Access::Kind::read_via, "safe registers are read one at a time");
    if (access->kind == Access::Kind::write) {
      if (!writing[index]) {
        writing[index] = 1;
        ++writers[access->place];
        return {.access = *access, .place = access->place, .value = access->value, .begins = true};
      }
      writing[index] = 0;
      --writers[access->place];
    }
    bool overlaps = false;
    Done done = perform(index, [&](std::uint32_t place, Word held) {
      overlaps = writers[place] > 0;
      return overlaps ? garble(place) : held;
    });
    done.overlaps = overlaps;
    return done;
  }

  // One instruction on buffered registers. Reads are served in order; what may overtake is a read an earlier
  // write, and a write another unless it is a release.
  Done step_buffered(std::size_t index) {
    P& program = programs[index];
    const auto access = program.next();
    ensure(access.has_value(), "only a program with an instruction takes a step");
    ensure(access->kind != Access::Kind::read_via, "buffered registers are read one at a time");
    std::vector<Pending>& buffer = buffers[index];
    Done done = {.access = *access, .place = access->place, .value = access->value};
    if (access->kind == Access::Kind::write) {
      buffer.push_back({done.place, done.value, access->order != Order::relaxed});
      if (access->order == Order::fenced) flush(index);
    } else if (access->kind == Access::Kind::read) {
      done.value = words.at(done.place);
      for (const Pending& own : buffer) {
        if (own.place == done.place) done.value = own.value;
      }
    }
    done.event = program.step(done.value);
    return done;
  }

  // Which writes of that process may become visible next, as places in its buffer.
  std::vector<std::size_t> drainable(std::size_t index) const {
    const std::vector<Pending>& buffer = buffers[index];
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      const bool overtakes_itself =
          std::any_of(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const Pending& p) { return p.place == buffer[i].place; });
      if (i == 0 || (!buffer[i].release && !overtakes_itself)) some.push_back(i);
    }
    return some;
  }
  void drain(std::size_t index, std::size_t entry) {
    std::vector<Pending>& buffer = buffers[index];
    words.at(buffer.at(entry).place) = buffer[entry].value;
    buffer.erase(buffer.begin() + static_cast<std::ptrdiff_t>(entry));
  }
  void flush(std::size_t index) {
    while (!buffers[index].empty()) drain(index, 0);
  }

  // The client speaks as soon as it may, wanting in and out for ever; then one instruction.
  Done step_eagerly(std::size_t index) {
    P& program = programs[index];
    if (program.inside()) {
      program.on_command(typename P::Spec::Release{});
    } else if (idle(index)) {
      program.on_command(typename P::Spec::Acquire{});
    }
    return step(index);
  }

 private:
  template <class Read>
  Done perform(std::size_t index, Read&& read) {
    P& program = programs[index];
    const auto access = program.next();
    ensure(access.has_value(), "only a program with an instruction takes a step");
    Done done = {.access = *access, .place = access->place, .value = access->value};
    switch (access->kind) {
      case Access::Kind::local: break;
      case Access::Kind::read_via:
        done.place += static_cast<std::uint32_t>(words.at(access->via));
        [[fallthrough]];
      case Access::Kind::read: done.value = read(done.place, words.at(done.place)); break;
      case Access::Kind::write: words.at(done.place) = done.value; break;
    }
    done.event = program.step(done.value);
    return done;
  }
};

}  // namespace conclave::sim
