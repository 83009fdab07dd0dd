// Dijkstra's mutual exclusion, the first for N processes.
// Book (b[i] := false); wait until the sentinel k names you, taking it over from whoever is not interested;
// occupy (c[i] := false); if somebody else occupies too, start again, else enter.
//
// Paper     E. W. Dijkstra. Solution of a Problem in Concurrent Programming Control. CACM 8(9), 1965.
// Assumes   registers that are read and written at one instant; nothing about speeds; no failures.
// Costs     alone: N reads and 4 writes per entry if k names the process already, else N+3 and 6.
// Keeps     mutual exclusion, no deadlock. One process can be overtaken for ever.
// Departs   reads the register `entries` and writes it, one higher, before it enters (labels F1, F2): the
//           fencing token of the grant. `tokens = false` leaves that out.
// Deviates  on demand: `unfenced` leaves out its memory fence, and loses mutual exclusion where writes linger
//           in store buffers.
//
//   Li0  NC   b[i] := false                        Li4  L4   c[i] := false
//   Li1  L1   k = i?                                    L5   c[j] for all j: is nobody else there?
//   Li2  L2   c[i] := true                              CS   on leaving c[i] := true
//   Li3  L3   b[k]?  (L3b, if k is read before)         E2   b[i] := true
//        L3c  k := i
#pragma once
#include <utility>

#include "protocols/registers/spec.hpp"

namespace conclave::registers {

struct Dijkstra {
  using Spec = registers::Spec;
  enum class Label : std::uint8_t { NC, L1, L2, L3, L3b, L3c, L4, L5, F1, F2, CS, E2 };
  struct Setup {
    Word k = 1;               // whom the sentinel names at first: anybody
    bool split_read = false;  // L3 reads k and b[k] in two steps, as any hardware would
    bool b_first = false;     // on leaving, writes b[i] before c[i]; either order is right
    bool tokens = true;       // grants carry fencing tokens
    bool unfenced = false;    // leaves out the store-load fence that processors need
    bool operator==(const Setup&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::none};
  static Setup on_hardware() { return {.split_read = true}; }

  NodeId self = {};
  std::uint32_t n = 0;
  Setup setup = {};
  Label label = Label::NC;
  bool called = false;  // the client has spoken: at NC it wants in, at CS it wants out
  std::uint32_t j = 0;  // whose c is looked at
  Word selected = 0;    // k as read at L3, if the read is split
  Word entries = 0;     // the register as read at F1

  bool operator==(const Dijkstra&) const = default;
  bool inside() const { return label == Label::CS && !called; }

  static constexpr std::uint32_t k() { return 0; }
  std::uint32_t b(Word i) const { return static_cast<std::uint32_t>(i); }
  std::uint32_t c(Word i) const { return n + static_cast<std::uint32_t>(i); }
  std::uint32_t counter() const { return 2 * n + 1; }

  static std::vector<Register> registers(const NodeSet& all, const Setup& setup) {
    std::vector<Register> list = {{"k", setup.k, 1, all.size()}};
    for (NodeId i : all) list.push_back({"b[" + std::to_string(i.value) + "]", 1});
    for (NodeId i : all) list.push_back({"c[" + std::to_string(i.value) + "]", 1});
    if (setup.tokens) list.push_back({"entries", 0, 0, unbounded});
    return list;
  }

  static Dijkstra start(NodeId self, const NodeSet& all, const Setup& setup) {
    ensure(all == NodeSet::range({1}, all.size()), "k runs over 1 … N");
    ensure(setup.k >= 1 && setup.k <= all.size(), "k names a process");
    return {.self = self, .n = all.size(), .setup = setup};
  }

  static std::uint32_t steps_alone(std::uint32_t n, const Setup& setup) {
    return 7 + n + (setup.split_read ? 1 : 0) + (setup.tokens ? 2 : 0);
  }

  void on_command(const Acquire&) {
    ensure(label == Label::NC && !called, "a process asks for one entry at a time");
    called = true;
  }
  void on_command(const Release&) {
    ensure(inside(), "only the holder releases");
    called = true;
  }

  // Leaves as from the critical section: occupied and booked are taken back, and that is all there is.
  void withdraw() {
    if (label == Label::NC) {
      called = false;
      return;
    }
    ensure(!inside() && label != Label::E2, "only who waits withdraws");
    *this = abandoned(self, NodeSet::range({1}, n), setup);
  }
  static Dijkstra abandoned(NodeId self, const NodeSet& all, const Setup& setup) {
    Dijkstra program = start(self, all, setup);
    program.label = Label::CS;
    program.called = true;
    return program;
  }

  // Mutual exclusion rests on c alone: of two who both occupy, one put its fence of L4 behind the other's,
  // and so sees the other's c false at L5. b and k only decide who tries; it is enough that writes to them
  // become visible at some time. Every write of true to c is a release, and L5 acquires: whoever enters sees
  // all that was done inside before.
  std::optional<Access> next() const {
    switch (label) {
      case Label::NC:
        if (!called) return std::nullopt;
        return Access::write(b(self.value), 0, Order::relaxed);
      case Label::L1: return Access::read(k(), Order::relaxed);
      case Label::L2: return Access::write(c(self.value), 1, Order::release);
      case Label::L3:
        return setup.split_read ? Access::read(k(), Order::relaxed)
                                : Access::read_via(k(), b(0), Order::relaxed);
      case Label::L3b: return Access::read(b(selected), Order::relaxed);
      case Label::L3c: return Access::write(k(), self.value, Order::relaxed);
      case Label::L4: return Access::write(c(self.value), 0, setup.unfenced ? Order::release : Order::fenced);
      case Label::L5: return j == self.value ? Access{} : Access::read(c(j), Order::acquire);
      // Already exclusive: c orders these.
      case Label::F1: return Access::read(counter(), Order::relaxed);
      case Label::F2: return Access::write(counter(), entries + 1, Order::relaxed);
      case Label::CS:
        if (!called) return std::nullopt;
        return leave(setup.b_first);
      case Label::E2: return leave(!setup.b_first);
    }
    return std::nullopt;
  }

  std::optional<Spec::Event> step(Word read) {
    switch (label) {
      case Label::NC:
        called = false;
        label = Label::L1;
        break;
      case Label::L1: label = read == self.value ? Label::L4 : Label::L2; break;
      case Label::L2: label = Label::L3; break;
      case Label::L3:
        if (setup.split_read) {
          selected = read;
          label = Label::L3b;
        } else {
          label = read != 0 ? Label::L3c : Label::L1;
        }
        break;
      case Label::L3b:
        selected = 0;
        label = read != 0 ? Label::L3c : Label::L1;
        break;
      case Label::L3c: label = Label::L1; break;
      case Label::L4:
        j = 1;
        label = Label::L5;
        break;
      case Label::L5: return look(read);
      case Label::F1:
        entries = read;
        label = Label::F2;
        break;
      case Label::F2: return enter({std::exchange(entries, 0) + 1});
      case Label::CS:
        called = false;
        label = Label::E2;
        break;
      case Label::E2: label = Label::NC; break;
    }
    return std::nullopt;
  }

  Access leave(bool by_b) const {
    return by_b ? Access::write(b(self.value), 1, Order::relaxed)
                : Access::write(c(self.value), 1, Order::release);
  }

  std::optional<Spec::Event> look(Word occupied) {
    if (j != self.value && occupied == 0) {
      j = 0;
      label = Label::L1;
      return std::nullopt;
    }
    if (j < n) {
      ++j;
      return std::nullopt;
    }
    j = 0;
    if (!setup.tokens) return enter({});
    label = Label::F1;
    return std::nullopt;
  }

  std::optional<Spec::Event> enter(mutex::Fence fence) {
    label = Label::CS;
    return Granted{fence};
  }
};
static_assert(Program<Dijkstra> && Withdraws<Dijkstra>);

}  // namespace conclave::registers
