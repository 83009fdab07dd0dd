// The contract between a shared-memory algorithm and the worlds that run it.
//
// A program is one process of the paper: a plain copyable aggregate that says which register it wants to read
// or write next, is told what it read, and moves on to its next label. One instruction is one indivisible
// step. It touches no memory itself, so the same type runs under a seeded scheduler, under a checker that
// tries every schedule, and over std::atomic between real threads.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/assumptions.hpp"
#include "core/node_id.hpp"
#include "core/node_set.hpp"

namespace conclave {

using Word = std::uint64_t;  // what a register holds

// How much of the hardware's freedom to reorder an access takes away. The papers assume that accesses take
// effect one after another; processors do not, and the algorithm alone knows where it relies on that.
enum class Order : std::uint8_t {
  relaxed,  // none: only this register's own history matters
  acquire,  // a read: whoever wrote this value has done before it what is seen after it
  release,  // a write: whoever reads this value sees all that was done before it
  fenced,   // a release after which no later read is served before the others can see the write
};

struct Access {
  enum class Kind : std::uint8_t {
    local,     // an instruction that touches no register
    read,      // of `place`
    read_via,  // of the register `place` + the value of `via`, both in one step; no hardware offers this
    write,     // of `value` to `place`
  };
  Kind kind = Kind::local;
  std::uint32_t place = 0;
  Order order = Order::relaxed;
  Word value = 0;
  std::uint32_t via = 0;
  bool operator==(const Access&) const = default;

  static Access read(std::uint32_t place, Order order) {
    return {.kind = Kind::read, .place = place, .order = order};
  }
  static Access read_via(std::uint32_t via, std::uint32_t place, Order order) {
    return {.kind = Kind::read_via, .place = place, .order = order, .via = via};
  }
  static Access write(std::uint32_t place, Word value, Order order) {
    return {.kind = Kind::write, .place = place, .order = order, .value = value};
  }
};

struct Register {
  std::string name;  // "b[2]"
  Word initial = 0;
  // What it may ever hold. A read of a safe register that overlaps a write returns any of these.
  Word least = 0;
  Word most = 1;
};
inline constexpr Word unbounded = UINT64_MAX;

// How registers behave.
enum class Registers : std::uint8_t {
  atomic,    // as if every access happened at one instant
  safe,      // a read that overlaps a write returns anything; otherwise the last value written (Lamport 1986)
  buffered,  // a write waits in its process's store buffer, as on real processors; only `Order` forces it out
};

template <class P, class C>
concept ObeysCommand = requires(P& p, const C& command) {
  p.on_command(command);
};

template <class P, class V>
inline constexpr bool obeys_every_command = false;
template <class P, class... C>
inline constexpr bool obeys_every_command<P, std::variant<C...>> = (ObeysCommand<P, C> && ...);

template <class P>
concept Program = std::copyable<P> && std::equality_comparable<P> && std::is_aggregate_v<P> &&
    obeys_every_command<P, typename P::Spec::Command> &&
    requires(P& p, const P& c, NodeId self, const NodeSet& all, const typename P::Setup& setup, Word read) {
  { P::start(self, all, setup) } -> std::same_as<P>;
  // The registers that all processes share, in the order in which accesses number them.
  { P::registers(all, setup) } -> std::same_as<std::vector<Register>>;
  // The next instruction; none while it is its client's turn to speak.
  { c.next() } -> std::same_as<std::optional<Access>>;
  // That instruction has been carried out. `read` is the value read; of other instructions, anything.
  { p.step(read) } -> std::same_as<std::optional<typename P::Spec::Event>>;
  // How many instructions an entry takes at most while nobody else is interested.
  { P::steps_alone(all.size(), setup) } -> std::same_as<std::uint32_t>;
  // With what it runs over real memory, where two registers cannot be read at once.
  { P::on_hardware() } -> std::same_as<typename P::Setup>;
  { P::assumes } -> std::convertible_to<Assumptions>;
};

// A program that can give up while it waits, and whose traces a survivor can clear away.
template <class P>
concept Withdraws = Program<P> &&
    requires(P& p, NodeId self, const NodeSet& all, const typename P::Setup& setup) {
  // From any label between asking and entering: goes on to the instructions that take the request back.
  p.withdraw();
  // The program that clears every register a process may have left set that stopped at an unknown label.
  { P::abandoned(self, all, setup) } -> std::same_as<P>;
};

}  // namespace conclave
