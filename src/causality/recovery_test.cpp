#include "causality/recovery.hpp"

#include <gtest/gtest.h>

#include "causality/random_diagram.hpp"

namespace conclave::causality {
namespace {

// Two processes that talk in turns and save their states at the worst times: each saves between receiving
// and sending, so that every checkpoint knows a message that the other's checkpoint has not sent.
TEST(RecoveryLine, TheDominoEffectGoesBackToTheStart) {
  const Diagram diagram =
      *Diagram::of({4, 4}, {{{0, 1}, {1, 1}}, {{1, 2}, {0, 2}}, {{0, 3}, {1, 3}}, {{1, 4}, {0, 4}}});
  const RecoveryLine line = recovery_line(diagram.history(), {{2, 4}, {1, 3}});
  EXPECT_EQ(line.line, (Cut{0, 0}));
  EXPECT_EQ(line.rolled_back, (std::vector<std::uint32_t>{2, 2}));
  EXPECT_EQ(line.lost, (std::vector<std::uint32_t>{4, 4}));
  EXPECT_TRUE(line.domino());
  ASSERT_EQ(line.steps.size(), 4u);
  EXPECT_EQ(line.steps[0].received, (EventId{0, 4}));
  EXPECT_EQ(line.steps[0].sent, (EventId{1, 4}));
}

TEST(RecoveryLine, CheckpointsThatFitAreKept) {
  const Diagram diagram = *Diagram::of({3, 3}, {{{0, 1}, {1, 2}}});
  const RecoveryLine line = recovery_line(diagram.history(), {{1, 3}, {2}});
  EXPECT_EQ(line.line, (Cut{3, 2}));
  EXPECT_EQ(line.rolled_back, (std::vector<std::uint32_t>{0, 0}));
  EXPECT_TRUE(line.steps.empty());
}

TEST(RecoveryLine, SurvivorsKeepWhatTheyHaveUnlessItWasUndone) {
  const Diagram diagram = *Diagram::of({3, 3}, {{{0, 3}, {1, 3}}});
  const History history = diagram.history();
  EXPECT_EQ(recovery_line(history, {{2}, {1}}, {false, true}).line, (Cut{2, 1}));
  EXPECT_EQ(recovery_line(history, {{2}, {1}}, {true, false}).line, (Cut{3, 1}));
}

TEST(RecoveryLine, IsTheGreatestConsistentChoice) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Diagram diagram = random_diagram(3, 24, seed);
    const History history = diagram.history();
    Checkpoints checkpoints(3);
    for (std::uint32_t process = 0; process < 3; ++process) {
      for (std::uint32_t number = 1 + (seed + process) % 3; number <= diagram.events_of_each()[process];
           number += 3)
        checkpoints[process].push_back(number);
    }
    const RecoveryLine result = recovery_line(history, checkpoints);
    EXPECT_TRUE(consistent(history, result.line));
    const auto all = consistent_global_checkpoints(history, checkpoints);
    EXPECT_NE(std::ranges::find(all, result.line), all.end());
    for (const Cut& other : all) {
      EXPECT_TRUE(consistent(history, other));
      EXPECT_TRUE(DenseClock(other).within(DenseClock(result.line)));
    }
  }
}

}  // namespace
}  // namespace conclave::causality
