#include "sim/seeds.hpp"

#include <gtest/gtest.h>

namespace conclave::sim {
namespace {

TEST(Seeds, FindTheLeastFailureWhateverTheNumberOfJobs) {
  for (const unsigned jobs : {1u, 2u, 7u}) {
    const auto outcome = run_seeds(
        10, 1000, jobs,
        [](std::uint64_t seed) {
          return seed >= 300 && seed % 7 == 0 ? std::optional<std::string>("divisible") : std::nullopt;
        },
        [](std::uint64_t) {});
    ASSERT_TRUE(outcome.failure);
    EXPECT_EQ(outcome.failure->seed, 301u);
    EXPECT_EQ(outcome.failure->why, "divisible");
  }
}

TEST(Seeds, RunsThemAllWhenNoneFails) {
  const auto outcome = run_seeds(
      1, 500, 3, [](std::uint64_t) { return std::nullopt; }, [](std::uint64_t) {});
  EXPECT_EQ(outcome.ran, 500u);
  EXPECT_FALSE(outcome.failure);
}

TEST(Shrink, KeepsJustTheActionsThatTheFailureNeeds) {
  Script script;
  for (std::uint32_t i = 0; i < 100; ++i) script.push_back({.at = {i}, .node = {i}});
  const auto has = [](const Script& some, std::uint32_t node) {
    return std::ranges::find(some, NodeId{node}, &Action::node) != some.end();
  };
  const Script shrunk = shrink(script, [&](const Script& some) { return has(some, 13) && has(some, 77); });
  ASSERT_EQ(shrunk.size(), 2u);
  EXPECT_EQ(shrunk[0].node, NodeId{13});
  EXPECT_EQ(shrunk[1].node, NodeId{77});
}

TEST(Shrink, MayEndWithNothingAtAll) {
  EXPECT_TRUE(shrink(Script(5), [](const Script&) { return true; }).empty());
}

}  // namespace
}  // namespace conclave::sim
