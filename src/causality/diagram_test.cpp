#include "causality/diagram.hpp"

#include <gtest/gtest.h>

#include "causality/random_diagram.hpp"

namespace conclave::causality {
namespace {

// Three processes; p1.2 sends to p2.2, p2.3 to p3.2.
Diagram three() { return *Diagram::of({2, 4, 3}, {{{0, 2}, {1, 2}}, {{1, 3}, {2, 2}}}); }

TEST(Diagram, ScalarTimesFollowTheRules) {
  EXPECT_EQ(three().scalar_times(),
            (std::vector<std::vector<std::uint64_t>>{{1, 2}, {1, 3, 4, 5}, {1, 5, 6}}));
  EXPECT_EQ(three().scalar_times(5)[2], (std::vector<std::uint64_t>{5, 25, 30}));
}

TEST(Diagram, VectorTimesFollowTheRules) {
  const auto times = three().vector_times();
  EXPECT_EQ(times[1][3], DenseClock({2, 4, 0}));
  EXPECT_EQ(times[2][2], DenseClock({2, 3, 3}));
}

TEST(Diagram, AScalarOrderDoesNotTellWhatHappenedBefore) {
  const Diagram diagram = three();
  const auto scalar = diagram.scalar_times();
  const EventId a = {1, 4};
  const EventId b = {2, 3};
  EXPECT_LT(scalar[1][3], scalar[2][2]);
  EXPECT_FALSE(diagram.reaches(a, b));
  EXPECT_FALSE(diagram.reaches(b, a));
}

TEST(Diagram, ImpossibleMessagesAreRefused) {
  EXPECT_EQ(Diagram::of({1, 1}, {{{0, 2}, {1, 1}}}).error(), "a message names 1.2, which is no event");
  EXPECT_EQ(Diagram::of({1, 1}, {{{0, 1}, {5, 1}}}).error(), "a message names 6.1, which is no event");
  EXPECT_EQ(Diagram::of({2, 1}, {{{0, 1}, {0, 2}}}).error(),
            "a message leads from 1.1 to 1.2, in one process");
  EXPECT_EQ(Diagram::of({2, 2}, {{{0, 2}, {1, 1}}, {{1, 2}, {0, 1}}}).error(),
            "1.1 would have to happen before itself");
}

TEST(Diagram, InEveryDiagramClocksAreRight) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Diagram diagram = random_diagram(2 + seed % 4, 30, seed);
    const auto scalar = diagram.scalar_times();
    const auto vector = diagram.vector_times();
    const History history = diagram.history();
    for (const EventId a : diagram.in_causal_order()) {
      const DenseClock& va = vector[a.process][a.number - 1];
      ASSERT_EQ(history.clock(a), va);
      ASSERT_EQ(history.chain(a), scalar[a.process][a.number - 1]);
      std::uint64_t predecessors = 0;
      for (const EventId b : diagram.in_causal_order()) {
        const DenseClock& vb = vector[b.process][b.number - 1];
        const bool before = diagram.reaches(a, b);
        ASSERT_EQ(before, va.before(vb));
        ASSERT_EQ(before, history.happened_before(a, b));
        if (before) {
          ASSERT_LT(scalar[a.process][a.number - 1], scalar[b.process][b.number - 1]);
        }
        if (diagram.reaches(b, a)) ++predecessors;
        if (a.process != b.process) {  // the test that needs two entries only
          const bool apart = va[a.process] > vb[a.process] && vb[b.process] > va[b.process];
          ASSERT_EQ(apart, va.concurrent(vb));
        }
      }
      ASSERT_EQ(predecessors, va.predecessors());
    }
  }
}

}  // namespace
}  // namespace conclave::causality
