// Many seeds at once, and what to do with the one that fails.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/script.hpp"

namespace conclave::sim {

struct SeedFailure {
  std::uint64_t seed = 0;
  std::string why = {};
};

struct SeedsOutcome {
  std::uint64_t ran = 0;
  std::optional<SeedFailure> failure = {};  // the least seed that fails
};

// Runs `count` seeds from `first` on in `jobs` threads. `run` says why a seed failed, or nothing. After a
// failure only smaller seeds go on, so that the outcome does not depend on the number of jobs. `progress`
// is told now and then how many are done.
SeedsOutcome run_seeds(std::uint64_t first, std::uint64_t count, unsigned jobs,
                       const std::function<std::optional<std::string>(std::uint64_t)>& run,
                       const std::function<void(std::uint64_t)>& progress);

// The script without the actions that the failure does not need: drops ever smaller pieces while `fails`
// still says yes (Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, TSE 28(2), 2002).
Script shrink(Script script, const std::function<bool(const Script&)>& fails);

}  // namespace conclave::sim
