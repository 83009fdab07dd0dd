// The contract between an algorithm and the worlds that run it.
//
// A protocol is one process of the paper: a plain copyable aggregate with handlers. One handler run is
// one indivisible step. It has no clock, no randomness, no thread, no socket, no file and no log; what it
// wants from the world goes into Effects.
#pragma once
#include <concepts>
#include <type_traits>
#include <variant>

#include "core/assumptions.hpp"
#include "core/effects.hpp"
#include "core/node_id.hpp"
#include "core/node_set.hpp"

namespace conclave {

template <class P, class M>
concept HandlesMessage = requires(P& p, Effects<P>& out, NodeId from, const M& message) {
  p.on_message(out, from, message);
};

template <class P, class C>
concept HandlesCommand = requires(P& p, Effects<P>& out, const C& command) {
  p.on_command(out, command);
};

template <class P, class V>
inline constexpr bool handles_every_message = false;
template <class P, class... M>
inline constexpr bool handles_every_message<P, std::variant<M...>> = (HandlesMessage<P, M> && ...);

template <class P, class V>
inline constexpr bool handles_every_command = false;
template <class P, class... C>
inline constexpr bool handles_every_command<P, std::variant<C...>> = (HandlesCommand<P, C> && ...);

template <class P>
concept HasTimers = !std::same_as<typename P::Timer, NoTimer>;

template <class P>
concept HandlesTimers = !HasTimers<P> || requires(P & p, Effects<P>& out, typename P::Timer timer) {
  p.on_timer(out, timer);
};

template <class P>
concept TossesCoins = requires(P& p, Effects<P>& out, unsigned face) {
  p.on_choice(out, face);
};

// A protocol that survives crashes names what it keeps on disk and how it starts from it.
template <class P>
concept Recovers = requires(NodeId self, const NodeSet& all, const typename P::Setup& setup,
                            const typename P::Durable& durable, Effects<P>& out) {
  { P::recover(self, all, setup, durable, out) } -> std::same_as<P>;
};

// A protocol that sends before its disk has written learns when it has: of a write, `mark` keeps what it
// wants to hear then. Of several writes it hears the last mark.
template <class P>
concept HearsOfDisk = requires(P& p, Effects<P>& out, const typename P::Write& write) {
  p.on_synced(out, P::mark(write));
};

// Where the disk takes no time: the node hears of what its step wrote, and of what it writes upon that.
template <HearsOfDisk P>
void hear_of_writes(P& node, Effects<P>& out) {
  for (std::size_t heard = 0; heard < out.writes.size();) {
    heard = out.writes.size();
    node.on_synced(out, P::mark(out.writes.back()));
  }
}

// A protocol that orders requests by happened-before needs its clock on the application's messages too.
template <class P>
concept StampsApplication = requires(P& p, const typename P::AppStamp& stamp) {
  { p.on_tell() } -> std::same_as<typename P::AppStamp>;
  p.on_hear(stamp);
};

// Synchronous rounds. The world begins round r = 1, 2, … at every process that is up; everything sent in
// one round has arrived before the next begins, so silence is information.
template <class P>
concept InRounds = requires(P& p, Effects<P>& out, std::uint32_t round) {
  p.on_round(out, round);
};

// The link tells the sender of a message that its receiver was down when it arrived.
template <class P>
concept HearsBounces = requires(P& p, Effects<P>& out, NodeId to, const typename P::Message& message) {
  p.on_bounce(out, to, message);
};

// How a process begins that takes the place of a crashed one and has nothing on disk, if that differs from
// a first start.
template <class P>
concept Restarts = requires(NodeId self, const NodeSet& all, const typename P::Setup& setup,
                            Effects<P>& out) {
  { P::restart(self, all, setup, out) } -> std::same_as<P>;
};

// Time is an input: before every handler the world tells what the node's own clock shows.
template <class P>
concept ReadsClock = requires(P& p, Ticks reading) {
  p.on_clock(reading);
};

// The client's wishes depend on the parameters: what it proposes, whether it acts at all.
template <class P>
concept PreparesClients = requires(NodeId self, const typename P::Setup& setup) {
  { P::client(self, setup) } -> std::same_as<typename P::Spec::Client>;
};

// A client that has things to do beside what it wishes for.
template <class Client>
concept HasChores = requires(const Client& client) {
  client.chore();
};

// A client that reacts to crashes of others, of which it is told.
template <class Client>
concept HearsOfCrashes = requires(Client& client, NodeId node) {
  client.told_down(node);
  client.told_up(node);
};

// One extra process serves the others: it has the least id and no client of its own.
template <class P>
concept HasServer = requires {
  requires P::has_server;
};

// Messages circulate even when nobody wants anything: the run ends when the clients are content.
template <class P>
concept NeverRests = requires {
  requires P::never_rests;
};

// Too large to be compiled anew into every place that runs it.
template <class P>
concept IsLarge = requires {
  requires P::is_large;
};

template <class P>
concept Protocol = std::copyable<P> && std::equality_comparable<P> && std::is_aggregate_v<P> &&
    handles_every_message<P, typename P::Message> && handles_every_command<P, typename P::Spec::Command> &&
    HandlesTimers<P> &&
    requires(NodeId self, const NodeSet& all, const typename P::Setup& setup, Effects<P>& out) {
  { P::start(self, all, setup, out) } -> std::same_as<P>;
  { P::assumes } -> std::convertible_to<Assumptions>;
};

}  // namespace conclave
