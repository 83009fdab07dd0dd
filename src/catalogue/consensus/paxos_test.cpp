#include <gtest/gtest.h>

#include "catalogue/consensus/rows.hpp"

namespace conclave::catalogue {
namespace {

TEST(PaxosRow, OneProposerCostsWhatThePapersSay) {
  const Entry& entry = *find("paxos");
  for (std::uint32_t nodes = 1; nodes <= 9; ++nodes) {
    for (const Measurement& figure : entry.measure(nodes, nodes))
      EXPECT_EQ(figure.measured, figure.claimed.low) << figure.what << ", " << nodes << " nodes";
  }
}

// Two proposers at the same moment, every message taking the same time.
Judged two_proposers(const char* variant, std::uint64_t seed) {
  const Entry& entry = *find("paxos");
  sim::Options options = {.nodes = 5, .entries = 1, .starters = 2, .seed = seed, .until = {10'000}};
  options.think = {sim::Delay::Shape::fixed, 0, 0};
  options.delay.usual = {sim::Delay::Shape::fixed, 10, 10};
  return judge(entry, options,
               {.protocol = "paxos", .variant = variant, .members = entry.members(5), .seed = seed});
}

TEST(PaxosRow, TwoWhoNeverWaitOvertakeEachOtherForEver) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Judged judged = two_proposers("duel", seed);
    EXPECT_EQ(judged.failed, "termination");
    EXPECT_GT(judged.report.sent.at("Prepare"), 200u);
  }
}

TEST(PaxosRow, TwoWhoWaitAtRandomDecide) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    EXPECT_FALSE(two_proposers("canonical", seed).failure) << "seed " << seed;
}

// A majority votes, one of it crashes and forgets, and makes another majority with who has not heard.
TEST(PaxosRow, WithoutADiskTwoValuesAreDecided) {
  const Entry& entry = *find("paxos");
  std::uint64_t seed = 1;
  Judged judged;
  for (; seed <= 5000 && !judged.failure; ++seed) {
    sim::Options options = {.nodes = 3, .entries = 1, .seed = seed};
    entry.usual(options);
    options.faults = sim::Faults::allowed_by(entry.assumes);
    judged = judge(entry, options,
                   {.protocol = "paxos", .variant = "amnesia", .members = entry.members(3), .seed = seed});
  }
  EXPECT_TRUE(judged.failed == "agreement" || judged.failed == "uniform" || judged.failed == "rule")
      << judged.failed << " after " << seed << " seeds";
}

// Who proposes nothing learns too: it waits for the outcome like everybody.
TEST(PaxosRow, WhoProposesNothingLearnsTheDecisionOverLinksThatLoseMuch) {
  const Entry& entry = *find("paxos");
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    sim::Options options = {.nodes = 4, .entries = 1, .starters = 1, .seed = seed};
    options.faults.loss = 0.5;
    const Judged judged =
        judge(entry, options, {.protocol = "paxos", .members = entry.members(4), .seed = seed});
    EXPECT_FALSE(judged.failure) << "seed " << seed << ": " << judged.failure.value_or("");
  }
}

}  // namespace
}  // namespace conclave::catalogue
