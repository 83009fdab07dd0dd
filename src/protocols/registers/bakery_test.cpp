#include "protocols/registers/bakery.hpp"

#include <gtest/gtest.h>

#include "sim/lasso.hpp"
#include "sim/random.hpp"

namespace conclave::registers {
namespace {

using Label = Bakery::Label;
using Machine = sim::RegisterMachine<Bakery>;

Machine machine_of(std::uint32_t n, const Bakery::Setup& setup = {.tokens = false}) {
  return Machine::start(NodeSet::range({1}, n), setup);
}

void ask(Machine& machine, std::size_t index) { machine.programs[index].on_command(Acquire{}); }

void run_to(Machine& machine, std::size_t index, Label label) {
  for (int i = 0; i < 1000 && machine.programs[index].label != label; ++i) machine.step(index);
  ASSERT_EQ(machine.programs[index].label, label);
}

TEST(Bakery, ReadsThreeTimesEveryNumberAndWritesFourTimes) {
  Machine machine = machine_of(5);
  ask(machine, 2);
  int reads = 0;
  int writes = 1;  // to leave
  while (!machine.programs[2].inside())
    machine.step(2).access.kind == Access::Kind::read ? ++reads : ++writes;
  EXPECT_EQ(reads, 15);
  EXPECT_EQ(writes, 4);
}

TEST(Bakery, TakesAsManyStepsAloneAsItSays) {
  for (const std::uint32_t n : {1u, 2u, 7u}) {
    for (const bool tokens : {false, true}) {
      const Bakery::Setup setup = {.tokens = tokens};
      Machine machine = machine_of(n, setup);
      ask(machine, 0);
      std::uint32_t steps = 0;
      for (; !machine.programs[0].inside(); ++steps) machine.step(0);
      EXPECT_EQ(steps, Bakery::steps_alone(n, setup));
    }
  }
}

TEST(Bakery, ALaterComerDrawsAGreaterTicketAndWaits) {
  Machine machine = machine_of(2);
  ask(machine, 1);
  run_to(machine, 1, Label::B1);
  ask(machine, 0);
  run_to(machine, 0, Label::B1);
  EXPECT_EQ(machine.programs[0].ticket, 2u);
  for (int i = 0; i < 100; ++i) machine.step(0);
  EXPECT_FALSE(machine.programs[0].inside());
  run_to(machine, 1, Label::CS);
}

TEST(Bakery, OfEqualTicketsTheSmallerIdGoesFirst) {
  Machine machine = machine_of(2);
  for (std::size_t i : {0u, 1u}) {
    ask(machine, i);
    run_to(machine, i, Label::D2);
  }
  for (std::size_t i : {1u, 0u}) run_to(machine, i, Label::B1);
  for (int i = 0; i < 100; ++i) machine.step(1);
  EXPECT_FALSE(machine.programs[1].inside());
  run_to(machine, 0, Label::CS);
}

TEST(Bakery, WaitsForWhoeverIsStillChoosing) {
  Machine machine = machine_of(2);
  ask(machine, 0);
  run_to(machine, 0, Label::D2);
  ask(machine, 1);
  run_to(machine, 1, Label::B1);
  for (int i = 0; i < 100; ++i) machine.step(1);
  EXPECT_EQ(machine.programs[1].label, Label::B1);
}

TEST(Bakery, WithoutChoosingTwoEnterTogether) {
  Machine machine = machine_of(2, {.no_choosing = true, .tokens = false});
  for (std::size_t i : {0u, 1u}) {
    ask(machine, i);
    run_to(machine, i, Label::D2);
  }
  run_to(machine, 1, Label::CS);
  run_to(machine, 0, Label::CS);
  EXPECT_EQ(sim::count_inside(machine), 2u);
}

TEST(Bakery, TheDoorwayEndsWhenTheTicketIsDrawn) {
  Machine machine = machine_of(3);
  ask(machine, 0);
  std::optional<Spec::Event> event;
  while (!event) event = machine.step(0).event;
  EXPECT_TRUE(std::holds_alternative<Queued>(*event));
  EXPECT_EQ(machine.programs[0].label, Label::B1);
}

TEST(Bakery, TicketsGrowAsLongAsSomebodyHoldsOne) {
  Machine machine = machine_of(2);
  ask(machine, 0);
  run_to(machine, 0, Label::CS);
  for (Word ticket = 2; ticket < 200; ++ticket) {
    const std::size_t comes = 1 - ticket % 2;
    ask(machine, comes);
    run_to(machine, comes, Label::B1);
    EXPECT_EQ(machine.programs[comes].ticket, ticket);
    machine.programs[1 - comes].on_command(Release{});
    machine.step(1 - comes);
    run_to(machine, comes, Label::CS);
  }
}

TEST(Bakery, WhoWithdrawsLeavesNoTrace) {
  const Machine fresh = machine_of(3);
  for (std::uint32_t steps = 0; steps < Bakery::steps_alone(3, {.tokens = false}); ++steps) {
    Machine machine = fresh;
    ask(machine, 1);
    for (std::uint32_t i = 0; i < steps; ++i) machine.step(1);
    machine.programs[1].withdraw();
    while (!machine.idle(1)) machine.step(1);
    EXPECT_EQ(machine, fresh) << steps;
  }
}

TEST(Bakery, ASurvivorClearsWhatAKilledProcessLeft) {
  const Machine fresh = machine_of(3);
  for (std::uint32_t steps = 0; steps <= Bakery::steps_alone(3, {.tokens = false}); ++steps) {
    Machine machine = fresh;
    ask(machine, 1);
    for (std::uint32_t i = 0; i < steps; ++i) machine.step(1);
    machine.programs[1] = Bakery::abandoned({2}, NodeSet::range({1}, 3), {.tokens = false});
    while (!machine.idle(1)) machine.step(1);
    EXPECT_EQ(machine, fresh) << steps;
  }
}

TEST(Bakery, StaysExclusiveWhenProcessesWithdrawAtRandom) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Machine machine = machine_of(3);
    for (std::uint64_t step = 0; step < 400; ++step) {
      const auto who = sim::Draw(seed, sim::Purpose::schedule, 0, step).below(3);
      Bakery& program = machine.programs[who];
      const bool waits =
          program.label != Label::NC && program.label != Label::X && program.label != Label::CS;
      if (waits && sim::Draw(seed, sim::Purpose::coin, 0, step).below(20) == 0) program.withdraw();
      machine.step_eagerly(who);
      ASSERT_LE(sim::count_inside(machine), 1u) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace conclave::registers
