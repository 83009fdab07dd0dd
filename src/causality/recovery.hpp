// Where to go on after a crash: the latest checkpoints, one of each process, that form a consistent global
// state. A message received before a checkpoint but sent after the sender's checkpoint makes the receiver go
// back further, which may undo what others received from it: the domino effect.
//
// Paper     B. Randell. System structure for software fault tolerance. IEEE TSE 1(2), 1975.
#pragma once
#include <string>
#include <vector>

#include "causality/cut.hpp"

namespace conclave::causality {

// By process, the numbers of the events right after which it saved its state, ascending. The state before
// the first event, number 0, is always one of them.
using Checkpoints = std::vector<std::vector<std::uint32_t>>;

// Why a process went back by one or more checkpoints.
struct Rollback {
  std::uint32_t process = 0;
  std::uint32_t from = 0;  // event of the checkpoint given up
  std::uint32_t to = 0;
  EventId received = {};  // its event that is undone, because …
  EventId sent = {};      // … this one, which it knows of, is
};

struct RecoveryLine {
  Cut line = {};                                // by process, the event of its checkpoint
  std::vector<std::uint32_t> rolled_back = {};  // by process, how many of its checkpoints are of no use
  std::vector<Rollback> steps = {};             // in order
  std::vector<std::uint32_t> lost = {};         // by process, how many of its events have to be done again
  // Somebody gave up a checkpoint only because another had to.
  bool domino() const { return steps.size() > 1; }
};

// Those not among `survivors` go on from a checkpoint; survivors may keep what they have in memory.
RecoveryLine recovery_line(const History& history, const Checkpoints& checkpoints,
                           const std::vector<bool>& survivors = {});

// Every choice of one checkpoint per process (the initial states included) that is consistent; stops at
// `most`.
std::vector<Cut> consistent_global_checkpoints(const History& history, const Checkpoints& checkpoints,
                                               std::size_t most = 100'000);

}  // namespace conclave::causality
