#include "causality/cut.hpp"

#include <gtest/gtest.h>

#include "causality/lattice.hpp"
#include "causality/random_diagram.hpp"

namespace conclave::causality {
namespace {

// p2.1 sends to p1.2, p1.5 to p3.6.
Diagram two_messages() { return *Diagram::of({5, 2, 6}, {{{1, 1}, {0, 2}}, {{0, 4}, {2, 5}}}); }

// Every cut, consistent or not.
void each_cut(const Diagram& diagram, const std::function<void(const Cut&)>& visit) {
  Cut cut(diagram.processes());
  for (;;) {
    visit(cut);
    std::size_t process = 0;
    while (process < cut.size() && cut[process] == diagram.events_of_each()[process]) cut[process++] = 0;
    if (process == cut.size()) return;
    ++cut[process];
  }
}

bool inside(const Cut& a, const Cut& b) { return DenseClock(a).within(DenseClock(b)); }

TEST(Cut, AReceiptWithoutItsSendingIsNamed) {
  const Diagram diagram = two_messages();
  const History history = diagram.history();
  EXPECT_TRUE(consistent(history, {4, 2, 5}));
  EXPECT_TRUE(consistent(history, {0, 0, 0}));
  const Cut bad = {3, 2, 6};
  EXPECT_FALSE(consistent(history, bad));
  EXPECT_EQ(offending_messages(diagram, bad), (std::vector<Message>{{{0, 4}, {2, 5}}}));
  EXPECT_EQ(contradictions(history, bad), (std::vector<Contradiction>{{{2, 5}, {0, 4}, true}}));
  EXPECT_EQ(least_consistent_containing(history, bad), (Cut{4, 2, 6}));
  EXPECT_EQ(greatest_consistent_inside(history, bad), (Cut{3, 2, 4}));
}

TEST(Cut, NewsThatCameThroughAThirdAreSaidToBeIndirect) {
  const Diagram diagram = *Diagram::of({1, 2, 1}, {{{0, 1}, {1, 1}}, {{1, 2}, {2, 1}}});
  const auto found = contradictions(diagram.history(), {0, 2, 1});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (Contradiction{{1, 1}, {0, 1}, true}));
  EXPECT_EQ(found[1], (Contradiction{{2, 1}, {0, 1}, false}));
}

TEST(Cut, MessagesAndVectorsGiveTheSameAnswer) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Diagram diagram = random_diagram(3, 14, seed);
    const History history = diagram.history();
    each_cut(diagram, [&](const Cut& cut) {
      const bool by_messages = offending_messages(diagram, cut).empty();
      ASSERT_EQ(by_messages, consistent(history, cut));
      ASSERT_EQ(by_messages, contradictions(history, cut).empty());
    });
  }
}

TEST(Cut, LeastAndGreatestAreSo) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const Diagram diagram = random_diagram(3, 10, seed);
    const History history = diagram.history();
    std::vector<Cut> all;
    ASSERT_TRUE(Lattice(history).each([&](const Cut& cut) { return all.push_back(cut), true; }));
    each_cut(diagram, [&](const Cut& cut) {
      const Cut least = least_consistent_containing(history, cut);
      const Cut greatest = greatest_consistent_inside(history, cut);
      ASSERT_TRUE(consistent(history, least) && inside(cut, least));
      ASSERT_TRUE(consistent(history, greatest) && inside(greatest, cut));
      for (const Cut& other : all) {
        if (inside(cut, other)) {
          ASSERT_TRUE(inside(least, other));
        }
        if (inside(other, cut)) {
          ASSERT_TRUE(inside(other, greatest));
        }
      }
    });
  }
}

}  // namespace
}  // namespace conclave::causality
