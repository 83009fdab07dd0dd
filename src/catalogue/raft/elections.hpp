// How long a cluster is without a leader: figure 16 of the Raft paper, and the closed form of the thesis.
#pragma once
#include <cstdint>
#include <optional>

#include "catalogue/figures.hpp"
#include "core/node_id.hpp"
#include "core/ticks.hpp"

namespace conclave::catalogue {

// One crash of a leader whose heartbeat has just reached everybody, or is about to. A tick is a microsecond.
struct LeaderCrash {
  Ticks least = {};  // of the election time-outs
  Ticks most = {};
  Ticks request = {};  // how long a message takes to a server
  Ticks answer = {};   // … and its answer back, with what was written to disk before
  std::uint32_t servers = 5;
  std::uint32_t stale = 2;  // servers that lack the last entry of the log, and cannot be elected
  Ticks give_up = {};       // so long after the crash
  std::uint64_t seed = 1;
};

struct Succession {
  std::optional<Ticks> took = {};  // from the crash until somebody leads; none: nobody did
  NodeId by = {};                  // the servers that lack something are those with the greatest ids
  bool first_try = false;          // in the first term after that of the crashed leader
  bool operator==(const Succession&) const = default;
};

// The time-outs must not differ by more than the shorter.
Succession crash_leader(const LeaderCrash& crash);

// The chance that an election has no winner because too many stand at the same time (thesis, 9.2): of so many
// servers that are up in a cluster of that size, so many that the rest is no majority run out of patience
// before the first candidate's request reaches them. `latency` is what a request takes, in units of the range
// from which time-outs are drawn.
double split_vote_chance(std::uint32_t up, std::uint32_t cluster, double latency);

// The chance that the first term after the crash has a leader; none where no closed form is known.
std::optional<double> first_try_chance(const LeaderCrash& crash);

PaperFigure elections_figure();

}  // namespace conclave::catalogue
