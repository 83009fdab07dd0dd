#include "protocols/registers/dijkstra.hpp"

#include <gtest/gtest.h>

#include "sim/lasso.hpp"
#include "sim/random.hpp"

namespace conclave::registers {
namespace {

using Label = Dijkstra::Label;
using Machine = sim::RegisterMachine<Dijkstra>;

Machine machine_of(std::uint32_t n, const Dijkstra::Setup& setup = {.tokens = false}) {
  return Machine::start(NodeSet::range({1}, n), setup);
}

// Steps of p_i from asking until it is inside; what it did.
std::vector<Machine::Done> enter(Machine& machine, std::size_t index) {
  std::vector<Machine::Done> done;
  machine.programs[index].on_command(Acquire{});
  while (!machine.programs[index].inside()) done.push_back(machine.step(index));
  return done;
}

void leave(Machine& machine, std::size_t index) {
  machine.programs[index].on_command(Release{});
  while (!machine.idle(index)) machine.step(index);
}

std::pair<int, int> reads_and_writes(const std::vector<Machine::Done>& steps) {
  int reads = 0;
  int writes = 0;
  for (const auto& done : steps) {
    reads += done.access.kind == Access::Kind::read_via ? 2 : done.access.kind == Access::Kind::read ? 1 : 0;
    writes += done.access.kind == Access::Kind::write ? 1 : 0;
  }
  return {reads, writes};
}

TEST(Dijkstra, TheProcessThatTheSentinelNamesGoesStraightIn) {
  Machine machine = machine_of(4, {.k = 2, .tokens = false});
  EXPECT_EQ(reads_and_writes(enter(machine, 1)), std::pair(4, 2));  // and two more writes to leave
}

TEST(Dijkstra, AnyOtherTakesTheSentinelOverFromWhoeverIsNotInterested) {
  Machine machine = machine_of(4, {.k = 4, .tokens = false});
  EXPECT_EQ(reads_and_writes(enter(machine, 1)), std::pair(7, 4));
  EXPECT_EQ(machine.words[Dijkstra::k()], 2u);
}

TEST(Dijkstra, TakesAsManyStepsAloneAsItSays) {
  for (const std::uint32_t n : {1u, 2u, 5u, 9u}) {
    for (const bool split : {false, true}) {
      for (const bool tokens : {false, true}) {
        const Dijkstra::Setup setup = {.k = n, .split_read = split, .tokens = tokens};
        Machine machine = machine_of(n, setup);
        const auto steps = enter(machine, 0).size();
        EXPECT_EQ(steps, n == 1 ? steps : Dijkstra::steps_alone(n, setup));
        EXPECT_LE(steps, Dijkstra::steps_alone(n, setup));
      }
    }
  }
}

TEST(Dijkstra, WaitsWhileTheSentinelNamesSomebodyInterested) {
  Machine machine = machine_of(2, {.k = 1, .tokens = false});
  enter(machine, 0);
  machine.programs[1].on_command(Acquire{});
  for (int i = 0; i < 100; ++i) machine.step(1);
  EXPECT_FALSE(machine.programs[1].inside());
  leave(machine, 0);
  for (int i = 0; i < 20 && !machine.programs[1].inside(); ++i) machine.step(1);
  EXPECT_TRUE(machine.programs[1].inside());
}

TEST(Dijkstra, TwoWhoOccupyAtOnceBothStartAgain) {
  Machine machine = machine_of(2, {.k = 1, .tokens = false});
  for (std::size_t i : {0u, 1u}) {
    machine.programs[i].on_command(Acquire{});
    machine.programs[i].label = Label::L4;  // as if the sentinel had named both in turn
    machine.step(i);
  }
  machine.step(0);
  machine.step(0);
  EXPECT_EQ(machine.programs[0].label, Label::L1);
  machine.step(1);
  EXPECT_EQ(machine.programs[1].label, Label::L1);
}

TEST(Dijkstra, LeavesInEitherOrder) {
  for (const bool b_first : {false, true}) {
    Machine machine = machine_of(2, {.b_first = b_first, .tokens = false});
    enter(machine, 0);
    machine.programs[0].on_command(Release{});
    const Dijkstra& program = machine.programs[0];
    EXPECT_EQ(machine.step(0).place, b_first ? program.b(1) : program.c(1));
    EXPECT_EQ(program.label, Label::E2);
    EXPECT_EQ(machine.step(0).place, b_first ? program.c(1) : program.b(1));
    EXPECT_EQ(program.label, Label::NC);
  }
}

TEST(Dijkstra, FencesCountTheEntries) {
  Machine machine = machine_of(2, {});
  for (std::uint64_t entry = 1; entry <= 4; ++entry) {
    const auto event = enter(machine, entry % 2).back().event;
    ASSERT_TRUE(event);
    EXPECT_EQ(std::get<Granted>(*event).fence.value, entry);
    leave(machine, entry % 2);
  }
}

TEST(Dijkstra, WhoWithdrawsLeavesNoTrace) {
  const Machine fresh = machine_of(3, {.k = 1, .tokens = false});
  for (std::uint32_t steps = 0; steps < Dijkstra::steps_alone(3, fresh.programs[0].setup); ++steps) {
    Machine machine = fresh;
    machine.programs[1].on_command(Acquire{});
    for (std::uint32_t i = 0; i < steps; ++i) machine.step(1);
    if (machine.programs[1].inside()) break;
    machine.programs[1].withdraw();
    while (!machine.idle(1)) machine.step(1);
    machine.words[Dijkstra::k()] = 1;  // which may name anybody
    EXPECT_EQ(machine, fresh) << steps;
  }
}

TEST(Dijkstra, StaysExclusiveWhenProcessesWithdrawAtRandom) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Machine machine = machine_of(3, {.split_read = true, .tokens = false});
    for (std::uint64_t step = 0; step < 400; ++step) {
      const auto who = sim::Draw(seed, sim::Purpose::schedule, 0, step).below(3);
      Dijkstra& program = machine.programs[who];
      const bool waits =
          program.label != Label::NC && program.label != Label::E2 && program.label != Label::CS;
      if (waits && sim::Draw(seed, sim::Purpose::coin, 0, step).below(20) == 0) program.withdraw();
      machine.step_eagerly(who);
      ASSERT_LE(sim::count_inside(machine), 1u) << "seed " << seed << ", step " << step;
    }
  }
}

TEST(Dijkstra, AScheduleThatNeglectsNobodyStarvesOne) {
  for (const bool split : {false, true}) {
    const Machine machine = machine_of(2, {.k = 2, .split_read = split, .tokens = false});
    const sim::StarvationSearch search(machine, {1}, 100'000);
    EXPECT_TRUE(search.complete());
    const auto lasso = search.find();
    ASSERT_TRUE(lasso);
    const sim::Turn turn = walk_turn(machine, *lasso);
    EXPECT_TRUE(turn.returns);
    EXPECT_EQ(turn.entries.at({1}), 0u);
    EXPECT_GE(turn.entries.at({2}), 1u);
    EXPECT_GE(turn.steps.at({1}), 1u);
    EXPECT_EQ(turn.most_inside, 1u);
  }
}

// With safe registers c[1] may read false again and again while p1 only rewrites that it is true: nobody
// enters.
TEST(Dijkstra, OnSafeRegistersAnAdversaryKeepsEverybodyOut) {
  Machine machine = machine_of(2, {.k = 2, .split_read = true, .tokens = false});
  for (std::size_t i : {0u, 1u}) machine.programs[i].on_command(Acquire{});
  const auto never = [](std::uint32_t) -> Word { return 0; };
  const auto until = [&](std::size_t who, Label label) {
    do machine.step_safely(who, never);
    while (machine.programs[who].label != label || machine.writing[who]);
  };
  until(1, Label::L4);
  until(0, Label::L2);
  const auto go_round = [&] {
    machine.step_safely(0, never);  // p1 begins to write c[1] := true, which it is already
    until(1, Label::L5);
    until(1, Label::L1);  // p2 reads c[1] meanwhile, and gets false
    until(1, Label::L4);
    until(0, Label::L3);  // p1 ends its write
    until(0, Label::L2);  // and finds p2 still interested
  };
  go_round();
  const Machine before = machine;
  go_round();
  EXPECT_EQ(machine, before);
}

}  // namespace
}  // namespace conclave::registers
