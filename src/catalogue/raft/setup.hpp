// Parameters of Raft, made from what a run sets or drawn from its seed. A template over the type of the
// parameters, so that broken twins are set up as the algorithm is.
#pragma once
#include "catalogue/entry.hpp"
#include "core/read_json.hpp"
#include "sim/random.hpp"

namespace conclave::catalogue {

// Where its draws stand among those of a run's plan.
inline constexpr std::uint64_t set_apart = 1'000'000;

enum class Extras : std::uint8_t { drawn, none, all };

template <class Setup>
Setup raft_setup(const Setting& setting) {
  if (Setup shown; !setting.shown.empty() && read_json(setting.shown, shown)) return shown;
  const Entry& entry = *find("raft");
  std::uint64_t drawn = 0;
  const auto one_of = [&](std::initializer_list<std::uint64_t> usual) {
    const sim::Draw draw(setting.seed, sim::Purpose::plan, 0, set_apart + drawn++);
    return std::data(usual)[draw.below(usual.size())];
  };
  const auto set = [&](const char* name) { return static_cast<std::uint64_t>(entry.number(setting, name)); };
  const auto number = [&](const char* name, std::initializer_list<std::uint64_t> usual) {
    const std::uint64_t otherwise = one_of(usual);
    return set(name) > 0 ? set(name) : otherwise;
  };
  // What goes beyond figure 2 of the paper: off, as often as possible, or sometimes.
  const auto extras = static_cast<Extras>(set("extras"));
  const auto extra = [&](const char* name, std::uint64_t off, std::uint64_t most,
                         std::initializer_list<std::uint64_t> usual) {
    const std::uint64_t otherwise = one_of(usual);
    if (name && set(name) > 0) return set(name);
    return extras == Extras::none ? off : extras == Extras::all ? most : otherwise;
  };
  const auto count = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };

  // Hasty followers see many leaders. With few entries in a message they stop in the middle of what a leader
  // has to tell them.
  const std::uint64_t patience = number("patience", {40, 120});
  Setup setup = {.heartbeat_ticks = number("heartbeat", {patience / 3}),
                 .patience_ticks = patience,
                 .most_entries = number("batch", {1, 2, 64}),
                 .most_unanswered = extra(nullptr, 4, 4, {1, 4}),
                 .part_bytes = extra(nullptr, 64, 3, {3, 64}),
                 .keep_entries = extra(nullptr, 0, 2, {0, 2}),
                 .pre_vote = setting.variant != "no-pre-vote",
                 .check_quorum = extras != Extras::none};
  setup.habits = {.width = count(extra("width", 1, 3, {1, 1, 3})),
                  .reads_each = count(extra("reads", 0, 3, {0, 1, 5})),
                  .captures_every = count(extra("snapshots", 0, 3, {0, 3, 9})),
                  .changes_every = count(extra("changes", 0, 1, {0, 1, 2})),
                  .transfers_every = count(extra("transfers", 0, 2, {0, 0, 2})),
                  .everybody = setting.members};
  return setup;
}

}  // namespace conclave::catalogue
