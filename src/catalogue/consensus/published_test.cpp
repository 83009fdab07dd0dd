// What is published on synchronous consensus, measured.
#include <gtest/gtest.h>

#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"

namespace conclave::catalogue {
namespace {

struct Asked {
  std::uint32_t nodes = 5;
  std::string variant = "canonical";
  std::map<std::string, std::string> parameters = {};
  bool crash = false;
};

ConsensusRun run(const char* name, const Asked& asked, std::uint64_t seed) {
  const Entry& entry = *find(name);
  sim::Options options;
  entry.usual(options);
  options.nodes = asked.nodes;
  options.seed = seed;
  options.faults.crash = asked.crash;
  return judge_consensus(entry, options,
                         {.protocol = name,
                          .variant = asked.variant,
                          .members = entry.members(asked.nodes),
                          .parameters = asked.parameters,
                          .seed = seed});
}

// The first seed that breaks a claim, and how.
std::optional<std::string> first_failure(const char* name, const Asked& asked, std::uint64_t seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (const auto failure = run(name, asked, seed).judged.failure) return failure;
  }
  return std::nullopt;
}

TEST(PublishedConsensus, FloodingOnACompleteGraphCostsEachPairTwoMessages) {
  for (const std::uint32_t n : {2u, 4u, 9u}) {
    const ConsensusRun all = run("sync-flooding", {.nodes = n, .parameters = {{"graph", "complete"}}}, 1);
    EXPECT_EQ(all.summary.messages, n * (n - 1));
    EXPECT_EQ(all.summary.rounds, 2u);
  }
}

TEST(PublishedConsensus, FloodingReachesAgreementOnEveryGraph) {
  for (const std::uint32_t n : {1u, 2u, 3u, 6u, 12u})
    EXPECT_EQ(first_failure("sync-flooding", {.nodes = n}, 200), std::nullopt) << n;
}

TEST(PublishedConsensus, WithoutRelayFloodingNeverEndsUnlessAllAreNeighbours) {
  const Asked line = {.variant = "no-relay", .parameters = {{"graph", "line"}}};
  const ConsensusRun stuck = run("sync-flooding", line, 1);
  EXPECT_EQ(stuck.judged.failed, "termination");
  EXPECT_FALSE(
      run("sync-flooding", {.variant = "no-relay", .parameters = {{"graph", "complete"}}}, 1).judged.failure);
}

TEST(PublishedConsensus, FPlusOneRoundsAgreeWhoeverCrashesAndCostAtMostSoMuch) {
  for (const auto& [n, f] : {std::pair(3u, 1u), std::pair(4u, 1u), std::pair(5u, 2u), std::pair(9u, 2u)}) {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
      const Asked asked = {.nodes = n, .parameters = {{"f", std::to_string(f)}}, .crash = true};
      const ConsensusRun one = run("sync-crash-tolerant", asked, seed);
      ASSERT_FALSE(one.judged.failure) << n << " " << seed << " " << *one.judged.failure;
      ASSERT_EQ(one.summary.rounds, f + 1);
      ASSERT_LE(one.summary.messages, (f + 1) * n * (n - 1));
    }
  }
}

TEST(PublishedConsensus, FRoundsDisagree) {
  for (const std::uint32_t n : {3u, 4u}) {
    const auto failure =
        first_failure("sync-crash-tolerant", {.nodes = n, .variant = "too-few-rounds", .crash = true}, 1000);
    ASSERT_TRUE(failure) << n;
    EXPECT_NE(failure->find("agreement"), std::string::npos) << *failure;
  }
}

TEST(PublishedConsensus, SignedOrdersSurviveAnyNumberOfTraitors) {
  for (const auto& [n, f] :
       {std::pair(2u, "1"), std::pair(3u, "2"), std::pair(4u, "3"), std::pair(7u, "3")}) {
    EXPECT_EQ(first_failure("byzantine-signed", {.nodes = n, .parameters = {{"f", f}}}, 500), std::nullopt)
        << n;
  }
}

TEST(PublishedConsensus, UnsignedOrdersAreLostToOneTraitorAmongThree) {
  const auto failure =
      first_failure("byzantine-signed", {.nodes = 3, .variant = "unsigned", .parameters = {{"f", "1"}}}, 100);
  ASSERT_TRUE(failure);
}

TEST(PublishedConsensus, ByWordOfMouthItTakesMoreThanThreeTimesAsManyAsTraitors) {
  for (const std::uint32_t n : {2u, 3u, 4u, 5u, 7u}) {
    EXPECT_EQ(first_failure("byzantine-oral", {.nodes = n}, 200), std::nullopt) << n;
    if (n == 2) continue;  // nobody is left to disagree with
    EXPECT_TRUE(first_failure("byzantine-oral", {.nodes = n, .variant = "outnumbered"}, 1000)) << n;
  }
}

TEST(PublishedConsensus, EveryFigureIsAsClaimed) {
  for (const char* name : {"sync-flooding", "sync-crash-tolerant", "byzantine-signed", "byzantine-oral"}) {
    for (const std::uint32_t nodes : {3u, 4u, 8u}) {
      for (const Measurement& figure : find(name)->measure(nodes, 1)) {
        EXPECT_GE(figure.measured, figure.claimed.low) << name << " " << figure.what;
        EXPECT_LE(figure.measured, figure.claimed.high) << name << " " << figure.what;
      }
    }
  }
}

TEST(PublishedConsensus, ParametersThatMakeNoSenseAreRefused) {
  const auto refused = [](const char* name, std::uint32_t nodes, const char* parameter, const char* value) {
    const Entry& entry = *find(name);
    return entry
        .refuse({.nodes = nodes}, {.members = entry.members(nodes), .parameters = {{parameter, value}}})
        .has_value();
  };
  EXPECT_TRUE(refused("sync-flooding", 5, "graph", "moebius"));
  EXPECT_FALSE(refused("sync-flooding", 5, "graph", "ring"));
  EXPECT_TRUE(refused("sync-crash-tolerant", 4, "f", "2"));
  EXPECT_FALSE(refused("sync-crash-tolerant", 5, "f", "2"));
  EXPECT_TRUE(refused("byzantine-signed", 3, "f", "3"));
  EXPECT_TRUE(refused("byzantine-signed", 5, "traitors", "1,2,3"));
  EXPECT_TRUE(refused("byzantine-signed", 5, "traitors", "7"));
  EXPECT_TRUE(refused("byzantine-signed", 5, "traitors", "1,,2"));
  EXPECT_FALSE(refused("byzantine-signed", 5, "traitors", "1,2"));
  EXPECT_TRUE(refused("byzantine-signed", 5, "strategy", "kindness"));
  EXPECT_TRUE(refused("byzantine-oral", 6, "f", "2"));
  EXPECT_FALSE(refused("byzantine-oral", 7, "f", "2"));
  EXPECT_TRUE(refused("byzantine-oral", 4, "traitors", "1,2"));
}

}  // namespace
}  // namespace conclave::catalogue
