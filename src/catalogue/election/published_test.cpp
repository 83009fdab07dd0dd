// The published figures of the election family, measured.
#include <gtest/gtest.h>

#include <algorithm>

#include "catalogue/election/setups.hpp"
#include "catalogue/election/staged.hpp"
#include "catalogue/entry.hpp"
#include "trace/election_monitor.hpp"

namespace conclave::catalogue {
namespace {

std::vector<NodeId> rising(std::uint32_t nodes) {
  const NodeSet all = NodeSet::range({1}, nodes);
  return {all.begin(), all.end()};
}

struct Spread {
  std::uint64_t least = UINT64_MAX;
  std::uint64_t most = 0;
  std::uint64_t sum = 0;
  std::uint64_t rings = 0;
};

// Over every arrangement of the ids on a ring: one place is fixed, the others are permuted.
Spread over_all_rings(std::uint32_t nodes) {
  const Entry& entry = *find("chang-roberts");
  Spread spread;
  std::vector<NodeId> ring = rising(nodes);
  do {
    const auto report =
        run_staged(entry, {.members = NodeSet::range({1}, nodes), .ring = ring, .starters = rising(nodes)});
    const std::uint64_t sent = report.sent.at("Election");
    EXPECT_EQ(report.sent.at("Elected"), nodes);
    spread.least = std::min(spread.least, sent);
    spread.most = std::max(spread.most, sent);
    spread.sum += sent;
    ++spread.rings;
  } while (std::next_permutation(ring.begin() + 1, ring.end()));
  return spread;
}

TEST(PublishedElection, ChangRobertsOverAllArrangements) {
  const struct {
    std::uint32_t nodes;
    std::uint64_t least;
    double mean;
    std::uint64_t most;
  } rows[] = {
      {4, 7, 8.333, 10}, {5, 9, 11.417, 15}, {6, 11, 14.700, 21}, {7, 13, 18.150, 28}, {8, 15, 21.743, 36}};
  for (const auto& row : rows) {
    const Spread spread = over_all_rings(row.nodes);
    EXPECT_EQ(spread.least, row.least) << row.nodes;
    EXPECT_EQ(spread.most, row.most) << row.nodes;
    const double mean = static_cast<double>(spread.sum) / static_cast<double>(spread.rings);
    EXPECT_NEAR(mean, row.mean, 0.0005) << row.nodes;
    // N*H_N exactly: sum = rings * sum of N/i.
    double harmonic = 0;
    for (std::uint32_t i = 1; i <= row.nodes; ++i) harmonic += static_cast<double>(row.nodes) / i;
    EXPECT_NEAR(mean, harmonic, 1e-9) << row.nodes;
  }
}

TEST(PublishedElection, ChangRobertsOnAThousandProcessesNeedsNHnOnAverage) {
  const Entry& entry = *find("chang-roberts");
  const NodeSet members = NodeSet::range({1}, 1000);
  double sum = 0;
  constexpr std::uint64_t seeds = 60;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto report = run_staged(
        entry,
        {.members = members, .ring = ring_of({.members = members, .seed = seed}), .starters = rising(1000)});
    sum += static_cast<double>(report.sent.at("Election"));
  }
  double expected = 0;
  for (int i = 1; i <= 1000; ++i) expected += 1000.0 / i;
  EXPECT_NEAR(sum / seeds, expected, 0.01 * expected);
}

TEST(PublishedElection, OneStarterOfChangRobertsCosts2NAndItsDistance) {
  const Entry& entry = *find("chang-roberts");
  for (const std::uint32_t n : {2u, 3u, 8u, 17u}) {
    for (std::uint32_t d = 0; d < n; ++d) {
      const auto messages = messages_of(
          entry, {.members = NodeSet::range({1}, n), .ring = rising(n), .starters = {NodeId{n - d}}});
      EXPECT_EQ(messages, 2 * n + d) << n << " " << d;  // at most 3N-1
    }
  }
}

TEST(PublishedElection, WithoutTheFlagEveryInitiationIsCarriedToItsEnd) {
  const Entry& entry = *find("chang-roberts");
  const std::uint32_t n = 9;
  const std::vector<NodeId> starters = {{2}, {5}, {9}, {1}};
  const auto report = run_staged(entry, {.members = NodeSet::range({1}, n),
                                         .ring = rising(n),
                                         .starters = starters,
                                         .variant = "no-participant-flag"});
  std::uint64_t distances = 0;
  for (NodeId starter : starters) distances += n - starter.value;
  EXPECT_EQ(report.sent.at("Election"), distances + starters.size() * n);
  EXPECT_EQ(report.sent.at("Elected"), starters.size() * n);
}

TEST(PublishedElection, TheRingWithAListCosts2NPerStarter) {
  const Entry& entry = *find("ring-list");
  for (const std::uint32_t n : {2u, 5u, 8u}) {
    for (std::uint32_t k = 1; k <= n; ++k) {
      std::vector<NodeId> starters = rising(n);
      starters.resize(k);
      EXPECT_EQ(messages_of(entry, {.members = NodeSet::range({1}, n), .starters = starters}), 2 * k * n);
    }
  }
}

TEST(PublishedElection, TheRingWithAListTriesEveryDeadProcessOncePerLap) {
  const Entry& entry = *find("ring-list");
  for (const NodeSet& dead : {NodeSet{{8}}, NodeSet{{3}, {4}}, NodeSet{{1}, {5}, {8}}}) {
    const auto report =
        run_staged(entry, {.members = NodeSet::range({1}, 8), .dead = dead, .starters = {{2}}});
    EXPECT_EQ(report.bounced, 2 * dead.size());
    EXPECT_EQ(report.messages - report.bounced, 2 * (8 - dead.size()));
  }
}

TEST(PublishedElection, AllToAllCostsNTimesNMinusOneWhoeverStarts) {
  const Entry& entry = *find("all-to-all");
  for (const std::uint32_t n : {2u, 3u, 10u}) {
    const NodeSet members = NodeSet::range({1}, n);
    EXPECT_EQ(messages_of(entry, {.members = members, .starters = {{1}}}), n * (n - 1));
    EXPECT_EQ(messages_of(entry, {.members = members, .starters = rising(n)}), n * (n - 1));
  }
}

// The greatest is dead, and the process k of 0 … n-1 notices; p live processes stand at or above it.
double bully_messages(std::string_view row, std::uint32_t n, std::uint32_t k, bool knows = false) {
  std::map<std::string, std::string> parameters = {{"T_t", "1"}, {"T_p", "0"}};
  if (knows) parameters["known_dead"] = "1";
  return messages_of(
      *find(row),
      {.members = NodeSet::range({0}, n), .dead = {{n - 1}}, .starters = {{k}}, .parameters = parameters});
}

TEST(PublishedElection, BullyCostsPSquaredAndNMinusTwo) {
  for (const std::uint32_t n : {3u, 5u, 8u, 12u}) {
    for (std::uint32_t k = 0; k + 1 < n; ++k) {
      const double p = n - 1 - k;
      EXPECT_EQ(bully_messages("bully", n, k), p * p + n - 2) << n << " " << k;
      EXPECT_EQ(bully_messages("bully-send-to-all", n, k), p * (n - 1) + p * (p - 1) / 2 + n - 1);
      EXPECT_EQ(bully_messages("bully-delayed", n, k), p == 1 ? n - 1 : 2 * p + n - 2) << n << " " << k;
    }
    EXPECT_EQ(bully_messages("bully", n, 0), n * n - n - 1);
    EXPECT_EQ(bully_messages("bully", n, n - 2), n - 1);
    EXPECT_EQ(bully_messages("bully", n, n - 2, true), n - 2);
  }
}

// What goes wrong when nobody but the starter may close the election, and the starter dies.
TEST(PublishedElection, AListThatOnlyItsStarterTakesOffGoesRoundForEver) {
  for (const char* variant : {"canonical", "starter-closes"}) {
    const Entry& entry = *find("ring-list");
    sim::Options options = {.nodes = 4, .step_limit = 10'000};
    options.delay.usual = {sim::Delay::Shape::fixed, 10, 10};
    options.script =
        sim::Script{{.what = sim::Action::What::wish, .node = {2}},
                    {.what = sim::Action::What::crash, .at = {15}, .node = {2}, .forever = true}};
    trace::ElectionMonitor monitor;
    const auto report = entry.simulate(
        options, {.protocol = "ring-list", .variant = variant, .members = NodeSet::range({1}, 4)}, &monitor);
    const bool holds = monitor.verdicts()[1].holds;
    if (variant == std::string_view("canonical")) {
      EXPECT_TRUE(report.quiet);
      EXPECT_TRUE(holds) << monitor.verdicts()[1].why;
      EXPECT_EQ(monitor.summary().leader, NodeId{4});
    } else {
      EXPECT_FALSE(report.quiet);
      EXPECT_EQ(report.steps, options.step_limit);
      EXPECT_FALSE(holds);
    }
  }
}

}  // namespace
}  // namespace conclave::catalogue
