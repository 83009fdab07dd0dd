// Lamport's bakery.
// Draw a ticket one higher than all you see, and say so while you are at it (choosing); then wait, process
// after process, until nobody who came before you holds a smaller ticket. Equal tickets go by id.
//
// Paper     L. Lamport. A New Solution of Dijkstra's Concurrent Programming Problem. CACM 17(8), 1974.
// Assumes   registers that one process writes and all read; a read that overlaps a write may return anything;
//           nothing about speeds.
// Costs     alone: 3N reads and 4 writes per entry. Tickets grow without bound while somebody always waits.
// Keeps     mutual exclusion, no deadlock, no starvation; first come first served once past the doorway.
// Departs   reads the register `entries` and writes it, one higher, before it enters (labels F1, F2): the
//           fencing token of the grant. `tokens = false` leaves that out.
// Deviates  on demand: `no_choosing` neither says nor asks who is choosing, and loses mutual exclusion;
//           `unfenced` leaves out its memory fences, and loses it where writes linger in store buffers.
//
//   NC  choosing[i] := true           B1  while choosing[j]
//   D1  read num[j], j = 1 … N        B2  while num[j] <> 0 and (num[j], j) < (num[i], i)
//   D2  num[i] := 1 + the greatest    CS  on leaving num[i] := 0
//   D3  choosing[i] := false          X   choosing[i] := false, on giving up in the doorway
#pragma once
#include <algorithm>
#include <utility>

#include "protocols/registers/spec.hpp"

namespace conclave::registers {

struct Bakery {
  using Spec = registers::Spec;
  enum class Label : std::uint8_t { NC, D1, D2, D3, B1, B2, F1, F2, CS, X };
  struct Setup {
    bool no_choosing = false;
    bool tokens = true;     // grants carry fencing tokens
    bool unfenced = false;  // leaves out the store-load fences that processors need
    bool operator==(const Setup&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::none};
  static Setup on_hardware() { return {}; }

  NodeId self = {};
  std::uint32_t n = 0;
  Setup setup = {};
  Label label = Label::NC;
  bool called = false;  // the client has spoken: at NC it wants in, at CS it wants out
  std::uint32_t j = 0;  // whose registers are looked at
  Word greatest = 0;    // ticket seen in the doorway
  Word ticket = 0;      // ours, as long as we hold one
  Word entries = 0;     // the register as read at F1

  bool operator==(const Bakery&) const = default;
  bool inside() const { return label == Label::CS && !called; }

  std::uint32_t choosing(std::uint32_t i) const { return i - 1; }
  std::uint32_t num(std::uint32_t i) const { return n + i - 1; }
  std::uint32_t counter() const { return 2 * n; }

  static std::vector<Register> registers(const NodeSet& all, const Setup& setup) {
    std::vector<Register> list;
    for (NodeId i : all) list.push_back({"choosing[" + std::to_string(i.value) + "]"});
    for (NodeId i : all) list.push_back({"num[" + std::to_string(i.value) + "]", 0, 0, unbounded});
    if (setup.tokens) list.push_back({"entries", 0, 0, unbounded});
    return list;
  }

  static Bakery start(NodeId self, const NodeSet& all, const Setup& setup) {
    ensure(all == NodeSet::range({1}, all.size()), "processes are 1 … N");
    return {.self = self, .n = all.size(), .setup = setup};
  }

  static std::uint32_t steps_alone(std::uint32_t n, const Setup& setup) {
    return (setup.no_choosing ? 1 + 2 * n : 3 + 3 * n) + (setup.tokens ? 2 : 0);
  }

  void on_command(const Acquire&) {
    ensure(label == Label::NC && !called, "a process asks for one entry at a time");
    if (setup.no_choosing) return begin_reading();
    called = true;
  }
  void on_command(const Release&) {
    ensure(inside(), "only the holder releases");
    called = true;
  }

  // Gives the ticket back, as on leaving; in the doorway also stops choosing.
  void withdraw() {
    if (label == Label::NC) {
      called = false;
      return;
    }
    ensure(!inside() && label != Label::X, "only who waits withdraws");
    const bool in_doorway = label == Label::D1 || label == Label::D2 || label == Label::D3;
    *this = abandoned(self, NodeSet::range({1}, n), setup);
    if (!in_doorway) label = Label::CS;
  }
  static Bakery abandoned(NodeId self, const NodeSet& all, const Setup& setup) {
    Bakery program = start(self, all, setup);
    program.label = setup.no_choosing ? Label::CS : Label::X;
    program.called = true;
    return program;
  }

  // Two fences carry the proof over to hardware. Take two who would be inside together, and let p's fence of
  // D3 stand before q's: then q sees p's ticket at B2. If p's fence of D3 also stands before q's fence of NC,
  // q has seen p's ticket in its doorway, and its own is greater. If not, p sees q choosing at B1 until q's
  // D3, a release, brings q's ticket along: so both compare the same two tickets, and one of them waits.
  // What is read in the doorway only has to be read behind the first fence. Every write to num is a release,
  // and B2 acquires: whoever enters sees all that was done inside before.
  std::optional<Access> next() const {
    switch (label) {
      case Label::NC:
        if (!called) return std::nullopt;
        return Access::write(choosing(self.value), 1, barrier());
      case Label::D1: return Access::read(num(j), Order::relaxed);
      case Label::D2: return Access::write(num(self.value), 1 + greatest, ticket_order());
      case Label::D3: return Access::write(choosing(self.value), 0, barrier());
      case Label::B1: return Access::read(choosing(j), Order::acquire);
      case Label::B2: return Access::read(num(j), Order::acquire);
      // Already exclusive: num orders these.
      case Label::F1: return Access::read(counter(), Order::relaxed);
      case Label::F2: return Access::write(counter(), entries + 1, Order::relaxed);
      case Label::CS:
        if (!called) return std::nullopt;
        return Access::write(num(self.value), 0, Order::release);
      case Label::X: return Access::write(choosing(self.value), 0, Order::release);
    }
    return std::nullopt;
  }

  std::optional<Spec::Event> step(Word read) {
    switch (label) {
      case Label::NC:
        called = false;
        begin_reading();
        break;
      case Label::D1:
        greatest = std::max(greatest, read);
        if (j++ < n) break;
        j = 0;
        label = Label::D2;
        break;
      case Label::D2:
        ticket = 1 + std::exchange(greatest, 0);
        if (setup.no_choosing) return wait_for_first();
        label = Label::D3;
        break;
      case Label::D3: return wait_for_first();
      case Label::B1:
        if (read == 0) label = Label::B2;
        break;
      case Label::B2:
        if (read == 0 || !goes_first(read)) return wait_for_next();
        break;
      case Label::F1:
        entries = read;
        label = Label::F2;
        break;
      case Label::F2: return enter({std::exchange(entries, 0) + 1});
      case Label::CS:
        called = false;
        ticket = 0;
        label = Label::NC;
        break;
      case Label::X: label = Label::CS; break;
    }
    return std::nullopt;
  }

  Order barrier() const { return setup.unfenced ? Order::release : Order::fenced; }
  // Without choosing no fence follows at D3.
  Order ticket_order() const { return setup.no_choosing ? barrier() : Order::release; }

  bool goes_first(Word theirs) const { return std::pair(theirs, j) < std::pair(ticket, self.value); }

  void begin_reading() {
    j = 1;
    label = Label::D1;
  }

  Spec::Event wait_for_first() {
    j = 1;
    label = setup.no_choosing ? Label::B2 : Label::B1;
    return Queued{};
  }

  std::optional<Spec::Event> wait_for_next() {
    if (j < n) {
      ++j;
      label = setup.no_choosing ? Label::B2 : Label::B1;
      return std::nullopt;
    }
    j = 0;
    if (!setup.tokens) return enter({});
    label = Label::F1;
    return std::nullopt;
  }

  Spec::Event enter(mutex::Fence fence) {
    label = Label::CS;
    return Granted{fence};
  }
};
static_assert(Program<Bakery> && Withdraws<Bakery>);

}  // namespace conclave::registers
