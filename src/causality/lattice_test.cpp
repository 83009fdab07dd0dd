#include "causality/lattice.hpp"

#include <gtest/gtest.h>

#include <set>

#include "causality/random_diagram.hpp"

namespace conclave::causality {
namespace {

// Every cut is tried.
std::set<Cut> by_brute_force(const Diagram& diagram) {
  std::set<Cut> found;
  Cut cut(diagram.processes());
  for (;;) {
    if (offending_messages(diagram, cut).empty()) found.insert(cut);
    std::size_t process = 0;
    while (process < cut.size() && cut[process] == diagram.events_of_each()[process]) cut[process++] = 0;
    if (process == cut.size()) return found;
    ++cut[process];
  }
}

// Every order of events that an observer may see is walked.
bool some_observer_misses(const std::set<Cut>& cuts, const Cut& whole, Cut here, const Predicate& holds) {
  if (holds(here)) return false;
  if (here == whole) return true;
  for (std::size_t process = 0; process < here.size(); ++process) {
    Cut next = here;
    ++next[process];
    if (cuts.contains(next) && some_observer_misses(cuts, whole, next, holds)) return true;
  }
  return false;
}

TEST(Lattice, CountsAreTheKnownOnes) {
  const Diagram minimal = *Diagram::of({5, 2, 6}, {{{1, 1}, {0, 2}}, {{0, 5}, {2, 6}}});
  EXPECT_EQ(Lattice(minimal.history()).count(), 86u);
  const Diagram apart = *Diagram::of({9, 9, 9}, {});
  EXPECT_EQ(Lattice(apart.history()).count(), 1000u);
  EXPECT_EQ(Lattice(History()).count(), 1u);
}

TEST(Lattice, BeyondItsBoundItGivesUp) {
  const Diagram apart = *Diagram::of({9, 9, 9}, {});
  const History history = apart.history();
  EXPECT_EQ(Lattice(history, 999).count(), std::nullopt);
  EXPECT_EQ(Lattice(history, 1000).count(), 1000u);
  EXPECT_FALSE(Lattice(history, 999).each([](const Cut&) { return true; }));
  EXPECT_EQ(Lattice(history, 999).possibly([](const Cut&) { return false; }), std::nullopt);
  EXPECT_EQ(Lattice(history, 999).definitely([](const Cut&) { return false; }), std::nullopt);
}

TEST(Lattice, EveryConsistentCutIsFoundOnce) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Diagram diagram = random_diagram(2 + seed % 3, 14, seed);
    const std::set<Cut> expected = by_brute_force(diagram);
    const Lattice lattice(diagram.history());
    EXPECT_EQ(lattice.count(), expected.size());
    std::vector<Cut> found;
    ASSERT_TRUE(lattice.each([&](const Cut& cut) { return found.push_back(cut), true; }));
    EXPECT_TRUE(std::ranges::equal(found, expected));
  }
}

TEST(Lattice, PossiblyAndDefinitelyAreWhatObserversSee) {
  int only_possibly = 0;
  int definitely = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Diagram diagram = random_diagram(3, 11, seed);
    const std::set<Cut> cuts = by_brute_force(diagram);
    const Lattice lattice(diagram.history());
    for (std::uint32_t sum = 2; sum < 8; ++sum) {
      const Predicate holds = [&](const Cut& cut) {
        return cut[0] + cut[1] == sum && cut[2] % 2 == seed % 2;
      };
      const bool possible = std::ranges::any_of(cuts, holds);
      const bool sure = !some_observer_misses(cuts, diagram.events_of_each(), Cut(3), holds);
      EXPECT_EQ(lattice.possibly(holds), possible);
      EXPECT_EQ(lattice.definitely(holds), sure);
      only_possibly += possible && !sure;
      definitely += sure;
    }
  }
  EXPECT_GT(only_possibly, 0);
  EXPECT_GT(definitely, 0);
}

}  // namespace
}  // namespace conclave::causality
