// Which faults a run may suffer, and when: a plan drawn from the seed, within what the algorithm assumes.
#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "core/assumptions.hpp"
#include "sim/script.hpp"

namespace conclave::sim {

struct Faults {
  bool pause = false;
  bool partition = false;
  bool crash = false;
  bool drift = false;
  bool jump = false;
  bool jitter = false;    // for a while, the timers of a node are inaccurate
  bool unsynced = false;  // a crash loses what was not yet synced to disk, or all but the first writes of it;
                          // and a disk may be slow
  bool stall = false;     // a disk stands still for a long time
  double loss = 0;        // chance per message
  double duplicate = 0;
  double slow = 0;
  double reorder = 0;

  bool any() const {
    return pause || partition || crash || drift || jump || jitter || touches_disks() || touches_messages();
  }
  bool touches_disks() const { return unsynced || stall; }
  bool touches_messages() const { return loss > 0 || duplicate > 0 || slow > 0 || reorder > 0; }
  std::string to_string() const;

  static Faults everything();
  static Faults allowed_by(const Assumptions& assumes);
  // The names of the faults in here that `assumes` rules out.
  std::vector<std::string> beyond(const Assumptions& assumes) const;
  // none, all, or a list such as pause,partition,loss=0.05. `all` means what is allowed, or everything
  // if one may go beyond the assumptions.
  static std::expected<Faults, std::string> parse(std::string_view text, const Assumptions& assumes,
                                                  bool beyond_assumptions);
};

// How nodes crash.
struct CrashPlan {
  bool for_good = false;   // a crashed node stays down, perhaps in the middle of a broadcast
  std::uint32_t most = 0;  // crashes; 0: as it comes
};

// The faults of nodes and links between time 0 and `window`, in order of time. Whatever
// was stopped or cut is mended by then; clocks stay as they are.
Script plan_faults(const Faults& faults, const NodeSet& members, Ticks window, std::uint64_t seed,
                   CrashPlan crashes = {});

}  // namespace conclave::sim
