#include "sim/registers.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "protocols/registers/bakery.hpp"
#include "protocols/registers/dijkstra.hpp"
#include "trace/json.hpp"
#include "trace/registers_monitor.hpp"

namespace conclave::sim {
namespace {

using registers::Bakery;
using registers::Dijkstra;

Options busy(std::uint32_t nodes, std::uint64_t seed) {
  Options options = {.nodes = nodes, .entries = 3, .seed = seed, .step_limit = 1'000'000};
  options.think = {Delay::Shape::uniform, 0, 30};
  options.hold = {Delay::Shape::uniform, 0, 10};
  return options;
}

struct Judged {
  Report report;
  trace::RegistersMonitor monitor{false};
  bool holds(std::string_view property) const {
    for (const trace::Verdict& verdict : monitor.verdicts()) {
      if (verdict.property == property) return verdict.holds;
    }
    return false;
  }
};

template <Program P>
Judged run(const Options& options, const typename P::Setup& setup, Registers kind, Schedule schedule = {}) {
  Judged judged;
  RegisterWorld<P> world(options, setup, kind, std::move(schedule), &judged.monitor);
  judged.report = world.run();
  return judged;
}

std::string trace_of(std::uint64_t seed, Registers kind) {
  std::ostringstream out;
  trace::JsonWriter writer(out);
  Options options = busy(4, seed);
  options.faults.pause = true;
  RegisterWorld<Bakery> world(options, {}, kind, {}, &writer);
  world.run();
  return out.str();
}

TEST(RegisterWorld, SameSeedSameBytes) {
  for (const Registers kind : {Registers::atomic, Registers::safe}) {
    EXPECT_EQ(trace_of(3, kind), trace_of(3, kind));
    EXPECT_NE(trace_of(3, kind), trace_of(4, kind));
  }
  EXPECT_NE(trace_of(3, Registers::atomic), trace_of(3, Registers::safe));
}

TEST(RegisterWorld, TracesCanBeReadBack) {
  std::istringstream in(trace_of(5, Registers::safe));
  const auto run = trace::read(in);
  ASSERT_TRUE(run) << run.error();
  EXPECT_TRUE(std::ranges::any_of(run->steps, [](const trace::Step& step) {
    return step.kind == trace::Kind::access && step.input.type == "begin";
  }));
}

TEST(RegisterWorld, TheBakeryKeepsItsPropertiesOnAtomicAndOnSafeRegisters) {
  for (const Registers kind : {Registers::atomic, Registers::safe}) {
    std::uint64_t overlapped = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const Judged judged = run<Bakery>(busy(static_cast<std::uint32_t>(2 + seed % 3), seed), {}, kind);
      for (const char* property : {"EM1", "EM2", "ND", "FCFS", "fence"})
        ASSERT_TRUE(judged.holds(property)) << property << ", seed " << seed;
      ASSERT_TRUE(judged.report.content && judged.report.quiet) << seed;
      overlapped += judged.monitor.overlapping_reads();
    }
    EXPECT_EQ(overlapped > 100, kind == Registers::safe);
  }
}

TEST(RegisterWorld, DijkstraKeepsItsPropertiesInEveryVariant) {
  const Dijkstra::Setup setups[] = {
      {.k = 2}, {.split_read = true}, {.b_first = true}, {.split_read = true, .b_first = true}};
  for (const auto& setup : setups) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const Judged judged =
          run<Dijkstra>(busy(static_cast<std::uint32_t>(2 + seed % 3), seed), setup, Registers::atomic);
      for (const char* property : {"EM1", "ND", "fence"})
        ASSERT_TRUE(judged.holds(property)) << property << ", seed " << seed;
      ASSERT_TRUE(judged.report.content) << seed;
    }
  }
}

TEST(RegisterWorld, DijkstraStaysExclusiveOnSafeRegisters) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Judged judged = run<Dijkstra>(busy(3, seed), {.split_read = true}, Registers::safe);
    ASSERT_TRUE(judged.holds("EM1")) << seed;
    ASSERT_TRUE(judged.report.content) << seed;
  }
}

TEST(RegisterWorld, WithoutChoosingExclusionIsLostSoon) {
  std::uint64_t violations = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    violations += run<Bakery>(busy(3, seed), {.no_choosing = true}, Registers::atomic).holds("EM1") ? 0 : 1;
  EXPECT_GT(violations, 0u);
}

// The processors' view of the memory orders: what the programs state is enough, and the fences are needed.
TEST(RegisterWorld, BehindStoreBuffersTheFencesKeepExclusion) {
  std::uint64_t broken_bakeries = 0;
  std::uint64_t broken_dijkstras = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Options options = busy(3, seed);
    for (const Judged& judged : {run<Bakery>(options, {}, Registers::buffered),
                                 run<Dijkstra>(options, {.split_read = true}, Registers::buffered)}) {
      for (const char* property : {"EM1", "EM2", "ND", "fence"})
        ASSERT_TRUE(judged.holds(property)) << property << ", seed " << seed;
    }
    const auto breaks = [](const Judged& judged) { return judged.holds("EM1") ? 0 : 1; };
    broken_bakeries += breaks(run<Bakery>(options, {.unfenced = true}, Registers::buffered));
    broken_dijkstras +=
        breaks(run<Dijkstra>(options, {.split_read = true, .unfenced = true}, Registers::buffered));
  }
  EXPECT_GT(broken_bakeries, 0u);
  EXPECT_GT(broken_dijkstras, 0u);
}

TEST(RegisterWorld, AWriteIsSeenByItsProcessFirstAndAReleaseComesLast) {
  using Machine = RegisterMachine<Dijkstra>;
  Machine machine = Machine::start(NodeSet::range({1}, 2), {.split_read = true});
  machine.programs[0].on_command(registers::Acquire{});
  machine.step_buffered(0);  // b[1] := false
  EXPECT_EQ(machine.words[1], 1u);
  machine.buffers[0].push_back({3, 0, true});
  machine.buffers[0].push_back({1, 1, false});
  machine.buffers[0].push_back({0, 2, false});
  // The first, and the write to k; not the release, nor the second write to b[1].
  EXPECT_EQ(machine.drainable(0), (std::vector<std::size_t>{0, 3}));
  machine.flush(0);
  EXPECT_EQ(machine.words[0], 2u);
  EXPECT_EQ(machine.words[1], 1u);
}

TEST(RegisterWorld, AGivenScheduleStarvesOneInDijkstrasAlgorithm) {
  // p1 asks; then round and round: p2 comes in and out while p1 only ever finds p2 interested.
  Options options = {.nodes = 2, .entries = 50, .seed = 1};
  options.think = options.hold = {Delay::Shape::fixed, 0, 0};
  const auto schedule = Schedule::parse("2,2,1,1,1,2,2,2,2,2", 2);
  ASSERT_TRUE(schedule);
  const Judged judged = run<Dijkstra>(options, {.k = 2, .tokens = false}, Registers::atomic, *schedule);
  EXPECT_GE(judged.monitor.most_overtaken(), 49u);
  EXPECT_EQ(judged.monitor.summary().entries.front(), NodeId{2});
}

TEST(RegisterWorld, ThePausedTakeNoSteps) {
  Options options = {.nodes = 2, .seed = 1};
  options.script = Script{{.what = Action::What::pause, .at = {0}, .node = {1}},
                          {.what = Action::What::wish, .at = {1}, .node = {1}, .amount = 5},
                          {.what = Action::What::wish, .at = {1}, .node = {2}, .amount = 5},
                          {.what = Action::What::resume, .at = {500}, .node = {1}}};
  const Judged judged = run<Bakery>(options, {}, Registers::atomic);
  EXPECT_EQ(judged.monitor.summary().entries, (std::vector<NodeId>{{2}, {1}}));
  EXPECT_GT(judged.report.end.count, 500u);
  EXPECT_TRUE(judged.report.content);
}

TEST(RegisterWorld, ARecordedRunReplaysFromItsScript) {
  Options options = busy(3, 8);
  options.faults.pause = true;
  options.record = true;
  const Judged original = run<Bakery>(options, {}, Registers::atomic);
  options.record = false;
  options.faults = {};
  options.script = original.report.done;
  const Judged again = run<Bakery>(options, {}, Registers::atomic);
  EXPECT_EQ(original.monitor.summary().entries, again.monitor.summary().entries);
  EXPECT_EQ(original.report.end, again.report.end);
}

// Waits for the other's turn, which never comes: both spin for ever.
struct Polite {
  using Spec = registers::Spec;
  struct Setup {
    bool operator==(const Setup&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::none};
  NodeId self = {};
  bool called = false;
  bool operator==(const Polite&) const = default;
  bool inside() const { return false; }
  static Setup on_hardware() { return {}; }
  static std::vector<Register> registers(const NodeSet&, const Setup&) { return {{"turn", 0}}; }
  static Polite start(NodeId self, const NodeSet&, const Setup&) { return {.self = self}; }
  static std::uint32_t steps_alone(std::uint32_t, const Setup&) { return 4; }
  void on_command(const registers::Acquire&) { called = true; }
  void on_command(const registers::Release&) {}
  std::optional<Access> next() const {
    return called ? std::optional(Access::read(0, Order::relaxed)) : std::nullopt;
  }
  std::optional<Spec::Event> step(Word) { return std::nullopt; }
};
static_assert(Program<Polite>);

TEST(RegisterWorld, SpinningForEverIsADeadlock) {
  const Judged judged = run<Polite>(busy(2, 1), {}, Registers::atomic);
  EXPECT_FALSE(judged.holds("ND"));
  EXPECT_TRUE(judged.report.quiet);
  EXPECT_LT(judged.report.steps, 10'000u);
}

TEST(Schedule, IsAModeOrAListOfProcesses) {
  EXPECT_EQ(Schedule::parse("bursty", 2)->mode, Schedule::Mode::bursty);
  EXPECT_EQ(Schedule::parse("2,1,2", 2)->list, (std::vector<NodeId>{{2}, {1}, {2}}));
  for (const char* wrong : {"", "3", "0", "1,", ",1", "1;2", "fair", "1,x", "-1", "99999999999999"})
    EXPECT_FALSE(Schedule::parse(wrong, 2)) << wrong;
}

TEST(Schedule, EveryModeLetsEverybodyRun) {
  for (const char* mode : {"uniform", "bursty", "unfair", "drawn", "1,2,3"}) {
    Scheduler scheduler(*Schedule::parse(mode, 3), 7);
    std::vector<std::uint32_t> steps(3);
    for (int i = 0; i < 10'000; ++i) ++steps[scheduler.pick({0, 1, 2})];
    for (const std::uint32_t count : steps) EXPECT_GT(count, 100u) << mode;
  }
}

}  // namespace
}  // namespace conclave::sim
