// Parameters of Raft, made from what a run sets or drawn from its seed. A template over the type of the
// parameters, so that broken twins are set up as the algorithm is.
#pragma once
#include "catalogue/entry.hpp"
#include "sim/random.hpp"

namespace conclave::catalogue {

// Where its draws stand among those of a run's plan.
inline constexpr std::uint64_t set_apart = 1'000'000;

template <class Setup>
Setup raft_setup(const Setting& setting) {
  const Entry& entry = *find("raft");
  // Hasty followers see many leaders. With few entries in a message they stop in the middle of what a leader
  // has to tell them.
  const auto number = [&](const char* parameter, std::initializer_list<std::uint64_t> usual) {
    const auto set = static_cast<std::uint64_t>(entry.number(setting, parameter));
    const sim::Draw draw(setting.seed, sim::Purpose::plan, 0, set_apart + usual.size());
    return set > 0 ? set : std::data(usual)[draw.below(usual.size())];
  };
  const std::uint64_t patience = number("patience", {40, 120});
  return {.heartbeat_ticks = number("heartbeat", {patience / 3}),
          .patience_ticks = patience,
          .most_entries = number("batch", {1, 2, 64}),
          .pre_vote = setting.variant != "no-pre-vote"};
}

}  // namespace conclave::catalogue
