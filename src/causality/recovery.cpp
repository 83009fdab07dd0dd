#include "causality/recovery.hpp"

#include <algorithm>
#include <functional>

#include "core/ensure.hpp"

namespace conclave::causality {
namespace {

// Ascending, with the initial state.
Checkpoints completed(Checkpoints checkpoints) {
  for (auto& own : checkpoints) {
    own.push_back(0);
    std::ranges::sort(own);
    const auto doubled = std::ranges::unique(own);
    own.erase(doubled.begin(), doubled.end());
  }
  return checkpoints;
}

}  // namespace

RecoveryLine recovery_line(const History& history, const Checkpoints& checkpoints,
                           const std::vector<bool>& survivors) {
  ensure(checkpoints.size() == history.processes(), "every process has its list of checkpoints");
  Checkpoints saved = completed(checkpoints);
  RecoveryLine result;
  std::vector<std::size_t> at;
  for (std::uint32_t process = 0; process < saved.size(); ++process) {
    ensure(saved[process].back() <= history.events_of(process),
           "a checkpoint follows an event that happened");
    const bool survives = process < survivors.size() && survivors[process];
    if (survives && saved[process].back() < history.events_of(process))
      saved[process].push_back(history.events_of(process));
    at.push_back(saved[process].size() - 1);
    result.line.push_back(saved[process].back());
  }
  result.rolled_back.resize(saved.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t receiver = 0; receiver < saved.size(); ++receiver) {
      for (std::uint32_t sender = 0; sender < saved.size(); ++sender) {
        if (sender == receiver) continue;
        const auto knows_too_much = [&] {
          return history.clock({receiver, saved[receiver][at[receiver]]})[sender] > result.line[sender];
        };
        if (!knows_too_much()) continue;
        const auto undone = history.first_to_know(receiver, {sender, result.line[sender] + 1});
        Rollback step = {.process = receiver,
                         .from = result.line[receiver],
                         .received = *undone,
                         .sent = {sender, history.clock(*undone)[sender]}};
        while (knows_too_much()) --at[receiver], ++result.rolled_back[receiver];
        step.to = result.line[receiver] = saved[receiver][at[receiver]];
        result.steps.push_back(step);
        moved = true;
      }
    }
  }
  for (std::uint32_t process = 0; process < saved.size(); ++process)
    result.lost.push_back(history.events_of(process) - result.line[process]);
  return result;
}

std::vector<Cut> consistent_global_checkpoints(const History& history, const Checkpoints& checkpoints,
                                               std::size_t most) {
  const Checkpoints saved = completed(checkpoints);
  std::vector<Cut> found;
  Cut cut;
  const std::function<void()> choose = [&] {
    if (found.size() >= most) return;
    const auto process = static_cast<std::uint32_t>(cut.size());
    if (process == saved.size()) return found.push_back(cut);
    for (const std::uint32_t number : saved[process]) {
      const DenseClock time = history.clock({process, number});
      bool fits = true;
      for (std::uint32_t other = 0; other < process && fits; ++other)
        fits = share_a_frontier(process, time, other, history.clock({other, cut[other]}));
      if (!fits) continue;
      cut.push_back(number);
      choose();
      cut.pop_back();
    }
  };
  choose();
  return found;
}

}  // namespace conclave::causality
