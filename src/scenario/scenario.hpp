// Questions that every course on distributed coordination asks, each answered by runs that one can watch.
// A scenario says beforehand what its runs must show; playing it says whether they did.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "scenario/run.hpp"

namespace conclave::scenario {

struct Observation {
  std::string what;
  bool seen = false;
};

struct Played {
  std::vector<Run> runs = {};
  std::vector<Observation> observed = {};

  void expect(bool seen, std::string what) { observed.push_back({std::move(what), seen}); }
  bool holds() const;
};

struct Scenario {
  std::string_view name;
  std::string_view question;
  std::string_view source;
  std::string_view answer;       // in a few words
  std::string_view explanation;  // two sentences
  Played (*play)() = nullptr;
};

const std::vector<Scenario>& scenarios();
const Scenario* find(std::string_view name);
// Plays it; a run that could not be made as the scenario directs it is an observation that was not made.
Played play(const Scenario& scenario);

// The groups of the list, each in its own file.
std::vector<Scenario> order_scenarios();
std::vector<Scenario> deadlock_scenarios();
std::vector<Scenario> token_scenarios();
std::vector<Scenario> bully_scenarios();
std::vector<Scenario> split_scenarios();
std::vector<Scenario> election_scenarios();
std::vector<Scenario> limit_scenarios();
std::vector<Scenario> consensus_scenarios();
std::vector<Scenario> register_scenarios();

}  // namespace conclave::scenario
