// An exploration, told to a person or to a program.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/explore.hpp"
#include "trace/step.hpp"

namespace conclave::cli {

// A counterexample, as it looked when it was played on the simulator's stage before the family's monitor.
struct Played {
  trace::Header header = {};
  std::vector<trace::Step> steps = {};
  std::size_t steps_on_the_way = 0;    // those that follow are the cycle
  std::optional<bool> confirmed = {};  // whether the monitor sees the violation too; none: it cannot tell
  std::string contradiction = {};      // what the monitor or the stage says instead
};

struct Explored {
  const catalogue::Entry& entry;
  const catalogue::CheckPlan& plan;
  const check::Report& report;
  const std::vector<std::string>& beyond;  // what may happen here and the algorithm rules out
  std::vector<Played> played = {};         // one for each finding
};

// 12.3 MB.
std::string size_text(double bytes);
// "1 crash, 2 losses"; "none".
std::string budget_text(const check::Budget& budget);
std::string entries_text(const check::Options& options);
std::string links_text(const catalogue::Entry& entry, const check::Options& options);
double states_per_second(const check::Report& report);

// holds, violated, silent (nothing is wrong, because nothing happens), bounded
std::string verdict(const check::Report& report);

std::string exploration_text(const Explored& explored);
nlohmann::ordered_json exploration_json(const Explored& explored);

}  // namespace conclave::cli
