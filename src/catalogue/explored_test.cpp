// How many states the checker reaches. A changed count is a changed meaning: of an algorithm, of a step, or
// of what a state is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>

#include "catalogue/explore.hpp"

namespace conclave::catalogue {
namespace {

bool has_an_hour() { return std::getenv("CONCLAVE_LONG") != nullptr; }

struct Counts {
  std::uint64_t states = 0;
  std::uint64_t edges = 0;
  std::uint32_t depth = 0;
  std::uint64_t finals = 0;
  bool operator==(const Counts&) const = default;
  friend void PrintTo(const Counts& c, std::ostream* out) {
    *out << c.states << " states, " << c.edges << " edges, depth " << c.depth << ", " << c.finals << " final";
  }
};

Counts counts_of(const check::Report& report) {
  return {report.states, report.edges, report.depth, report.final_states};
}
// How many edges the reduction saves depends on the order of the search, which means nothing.
Counts counts_but_edges(const check::Report& report) {
  return {report.states, 0, report.depth, report.final_states};
}

// The first so many processes act once, the others not at all.
void let_act(std::uint32_t count, check::Options& options) {
  options.entries = 0;
  options.entries_of.clear();
  for (std::uint32_t i = 1; i <= count; ++i) options.entries_of[NodeId{i}] = 1;
}

// Without reductions, and asking only for what makes the judge remember nothing beyond the processes.
struct Plain {
  const char* name;
  std::uint32_t nodes = 3;
  std::uint32_t entries = 1;
  std::optional<bool> fifo = {};
  std::vector<NodeId> ring = {};
  const char* tokens = nullptr;
};

CheckPlan plan_of(const Plain& plain) {
  const Entry& entry = *find(plain.name);
  CheckPlan plan = usual_check(entry, plain.nodes);
  check::Options& options = plan.options;
  options.entries = plain.entries;
  options.fifo = plain.fifo;
  options.budget = {};
  options.starvation = false;
  options.partial_order = false;
  options.symmetry = false;
  if (entry.family == "election") {
    options.properties = {"E1", "E2", "agreement"};
  } else {
    options.properties = {"EM1"};
  }
  plan.setting.ring = plain.ring;
  if (plain.tokens) plan.setting.parameters["tokens"] = plain.tokens;
  return plan;
}

Counts count(const Plain& plain, bool exact = false) {
  CheckPlan plan = plan_of(plain);
  plan.options.exact = exact;
  const check::Report report = explore(*find(plain.name), plan);
  EXPECT_TRUE(report.complete) << plain.name;
  EXPECT_TRUE(report.findings.empty()) << plain.name;
  return counts_of(report);
}

std::vector<NodeId> ring_of(std::initializer_list<std::uint32_t> ids) {
  std::vector<NodeId> ring;
  for (const std::uint32_t id : ids) ring.push_back({id});
  return ring;
}

// The figures of this group were counted by a breadth-first search that shares no code with the checker, over
// the same protocol headers; those of Ricart-Agrawala, Chang-Roberts and the bakery also by Spin.

TEST(Explored, RicartAgrawalaOnFifoLinks) {
  EXPECT_EQ(count({"ricart-agrawala", 3, 1, true}), (Counts{10'484, 20'993, 18, 188}));
  EXPECT_EQ(count({"ricart-agrawala", 2, 2, true}), (Counts{167, 226, 16, 7}));
}
TEST(Explored, RicartAgrawalaOnUnorderedLinks) {
  EXPECT_EQ(count({"ricart-agrawala", 3, 1, false}), (Counts{27'169, 62'119, 18, 255}));
  EXPECT_EQ(count({"ricart-agrawala", 2, 2, false}), (Counts{378, 531, 16, 9}));
}
TEST(Explored, RicartAgrawalaEnteringTwice) {
  if (!has_an_hour()) GTEST_SKIP() << "with CONCLAVE_LONG=1";
  EXPECT_EQ(count({"ricart-agrawala", 3, 2, true}), (Counts{1'647'033, 4'079'517, 36, 663}));
}
TEST(Explored, Lamport) { EXPECT_EQ(count({"lamport", 3, 1, true}), (Counts{144'376, 337'533, 24, 113})); }
TEST(Explored, MaekawaDoesNotCareForTheOrderOfLinks) {
  for (const bool fifo : {true, false})
    EXPECT_EQ(count({"maekawa", 3, 1, fifo}), (Counts{306, 612, 15, 7})) << fifo;
}
TEST(Explored, MaekawaWithoutDeadlocks) {
  EXPECT_EQ(count({"maekawa-deadlock-free", 3, 1, true}), (Counts{667, 1'242, 15, 18}));
  EXPECT_EQ(count({"maekawa-deadlock-free", 3, 2, true}), (Counts{35'402, 79'015, 30, 231}));
}
// Seven processes vote in sets of three, three processes in sets of two: some deadlocks show among seven
// only. As many contend as said, once each.
CheckPlan maekawa_of_seven(const char* name, std::uint32_t contenders) {
  CheckPlan plan = usual_check(*find(name), 7);
  let_act(contenders, plan.options);
  plan.options.symmetry = false;
  plan.options.workers = 2;
  return plan;
}
TEST(Explored, MaekawaOfSevenDeadlocksIfThreeContend) {
  const Entry& maekawa = *find("maekawa");
  CheckPlan plan = maekawa_of_seven("maekawa", 2);
  plan.options.properties = {"EM1", "ND"};
  EXPECT_TRUE(explore(maekawa, plan).holds());
  plan = maekawa_of_seven("maekawa", 3);
  plan.options.properties = {"EM1", "ND"};
  const check::Report three = explore(maekawa, plan);
  ASSERT_EQ(three.findings.size(), 1u);
  EXPECT_EQ(three.findings[0].property, "ND");
  EXPECT_EQ(three.findings[0].steps, 12u);
}
TEST(Explored, MaekawaOfSevenWithoutDeadlocks) {
  const auto count = [](std::uint32_t contenders) {
    const check::Report report =
        explore(*find("maekawa-deadlock-free"), maekawa_of_seven("maekawa-deadlock-free", contenders));
    EXPECT_TRUE(report.complete && report.holds()) << contenders;
    return counts_but_edges(report);
  };
  EXPECT_EQ(count(2), (Counts{416, 0, 16, 6}));
  EXPECT_EQ(count(3), (Counts{18'576, 0, 27, 95}));
  EXPECT_EQ(count(4), (Counts{1'875'110, 0, 38, 3'821}));
}
TEST(Explored, CentralServer) {
  EXPECT_EQ(count({"central-server", 3, 2, false}), (Counts{1'505, 3'390, 30, 1}));
  EXPECT_EQ(count({"central-server", 3, 2, true}), (Counts{1'238, 2'748, 30, 1}));
}
TEST(Explored, ChangRoberts) {
  for (const auto& ring : {ring_of({3, 1, 2}), ring_of({1, 2, 3})})
    EXPECT_EQ(count({.name = "chang-roberts", .nodes = 3, .ring = ring}), (Counts{170, 334, 22, 1}));
  EXPECT_EQ(count({.name = "chang-roberts", .nodes = 4, .ring = ring_of({2, 4, 1, 3})}),
            (Counts{1'039, 2'636, 32, 1}));
  EXPECT_EQ(count({.name = "chang-roberts", .nodes = 4, .ring = ring_of({1, 2, 3, 4})}),
            (Counts{948, 2'427, 32, 1}));
  EXPECT_EQ(count({.name = "chang-roberts", .nodes = 5, .ring = ring_of({5, 4, 3, 2, 1})}),
            (Counts{8'386, 25'495, 47, 1}));
}
TEST(Explored, Bakery) {
  EXPECT_EQ(count({.name = "bakery", .tokens = "0"}), (Counts{7'818, 21'495, 45, 1}));
  EXPECT_EQ(count({.name = "bakery", .entries = 2, .tokens = "0"}), (Counts{154'529, 447'129, 90, 1}));
  EXPECT_EQ(count({.name = "bakery", .tokens = "1"}), (Counts{9'266, 25'503, 51, 1}));
}

TEST(Explored, WholeStatesAreAsManyAsFingerprints) {
  for (const Plain& plain :
       {Plain{"ricart-agrawala", 3, 1, true}, Plain{"ricart-agrawala", 3, 1, false},
        Plain{"lamport", 3, 1, true}, Plain{"maekawa-deadlock-free", 3, 2, true},
        Plain{"central-server", 3, 2, false}, Plain{.name = "bakery", .entries = 2, .tokens = "0"}})
    EXPECT_EQ(count(plain, true), count(plain, false)) << plain.name;
}

// The standard configurations, as `conclave check NAME` explores them; and without reductions, as far as that
// was counted.
struct Standard {
  const char* name;
  Counts usual;
  Counts plain = {};
};
const std::vector<Standard> standards = {
    {"central-server", {285, 656, 30, 1}, {1'505, 3'390, 30, 1}},
    {"central-token", {5'138, 12'060, 17, 34}, {5'138, 12'690, 17, 34}},
    {"token-ring", {318, 613, 19, 0}, {318, 645, 19, 0}},
    {"lamport", {149'695, 211'938, 24, 652}, {149'695, 344'832, 24, 652}},
    {"maekawa", {104, 208, 15, 3}, {306, 612, 15, 7}},
    {"maekawa-deadlock-free", {35'402, 63'492, 30, 231}, {35'402, 79'015, 30, 231}},
    {"all-to-all", {33'708, 158'245, 21, 3}, {33'708, 189'438, 21, 3}},
    {"chang-roberts", {1'884, 3'937, 32, 1}, {1'884, 4'636, 32, 1}},
    {"ring-list", {11'520, 32'661, 28, 7}, {11'520, 33'218, 28, 7}},
    {"bully", {512'589, 1'779'969, 30, 7}, {512'589, 1'955'323, 30, 7}},
    {"bully-delayed", {115'928, 396'307, 47, 7}, {115'928, 416'013, 47, 7}},
    {"bully-polite", {512'589, 1'779'950, 30, 7}, {512'589, 1'955'323, 30, 7}},
    {"invitation", {15'917, 56'922, 18, 0}, {15'917, 57'767, 18, 0}},
    {"sync-flooding", {80, 105, 18, 1}, {80, 213, 18, 1}},
    {"sync-crash-tolerant", {399, 508, 24, 16}, {399, 817, 24, 16}},
    {"byzantine-signed", {1'063, 2'192, 26, 2}, {1'063, 4'665, 26, 2}},
    {"paxos", {306'675, 1'550'968, 21, 588}, {306'675, 1'694'125, 21, 588}},
    {"multi-paxos", {111'843, 535'212, 19, 0}, {111'843, 545'623, 19, 0}},
    {"raft", {105'613, 364'599, 20, 0}, {105'613, 376'239, 20, 0}},
    {"dijkstra", {7'050, 19'236, 48, 3}, {7'050, 19'236, 48, 3}},
    {"bakery", {28'842, 83'233, 51, 1}, {28'842, 83'233, 51, 1}},
    {"global-snapshot", {21'549, 87'565, 19, 1}, {21'549, 98'766, 19, 1}},
    // Long ones without reductions.
    {"ricart-agrawala", {1'978'953, 4'453'636, 20, 6'240}},
    {"ricart-agrawala-just-released", {6'747'406, 12'796'816, 36, 3'172}},
    {"carvalho-roucairol", {4'022'149, 7'618'305, 36, 1'863}},
    {"bakery-messages", {1'217'712, 4'768'779, 42, 30}},
    {"bully-send-to-all", {1'176'993, 4'026'647, 32, 7}},
};

check::Report explore_standard(const char* name, bool reduced, unsigned workers = 1) {
  CheckPlan plan = usual_check(*find(name));
  plan.options.partial_order = reduced;
  plan.options.symmetry = reduced;
  plan.options.workers = workers;
  return explore(*find(name), plan);
}

class StandardConfiguration : public testing::TestWithParam<Standard> {};

TEST_P(StandardConfiguration, IsExhaustedAndHolds) {
  const auto& [name, usual, plain] = GetParam();
  if (find(name)->long_check && !has_an_hour()) GTEST_SKIP() << "with CONCLAVE_LONG=1";
  const check::Report report = explore_standard(name, true, find(name)->long_check ? 2 : 1);
  if (plain.edges > 0) {
    EXPECT_LE(report.edges, plain.edges);
  }
  Counts counts = counts_but_edges(report);
  counts.edges = usual.edges;
  EXPECT_EQ(counts, usual);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
}

// Reductions save steps, or states that differ in names; they never change what is said.
TEST_P(StandardConfiguration, IsTheSameWithoutReductions) {
  const auto& [name, usual, plain] = GetParam();
  if (plain.states == 0) GTEST_SKIP() << "long";
  const check::Report report = explore_standard(name, false);
  EXPECT_EQ(counts_of(report), plain);
  EXPECT_TRUE(report.complete);
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(usual.depth, plain.depth);
}

INSTANTIATE_TEST_SUITE_P(Explored, StandardConfiguration, testing::ValuesIn(standards), [](const auto& one) {
  std::string name = one.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Explored, NoAlgorithmIsForgotten) {
  for (const Entry& entry : entries()) {
    if (entry.family == "limits") continue;  // they are there to fail
    const bool listed =
        std::ranges::any_of(standards, [&](const Standard& one) { return one.name == entry.name; });
    const bool promised = std::ranges::find(entry.worlds, "check") != entry.worlds.end();
    EXPECT_EQ(listed, promised) << entry.name;
    EXPECT_EQ(entry.check != nullptr, promised) << entry.name;
  }
}

// One process crashes and comes back at any moment. Without reductions.
struct Returning {
  const char* name;
  std::map<NodeId, std::uint32_t> entries;  // of each
  Counts counts;
};

check::Report explore_returning(const Returning& one, bool reduced) {
  const auto nodes = static_cast<std::uint32_t>(one.entries.size());
  CheckPlan plan = usual_check(*find(one.name), nodes);
  plan.options.entries_of = one.entries;
  plan.options.budget = {.crashes = 1, .recoveries = 1};
  plan.options.partial_order = reduced;
  plan.options.starvation = false;
  plan.options.properties = {"E2"};  // E1 is lost if an election runs meanwhile
  return explore(*find(one.name), plan);
}

TEST(Explored, ElectionsEndAlthoughSomebodyComesBack) {
  const std::vector<Returning> all = {
      {"bully", {{NodeId{1}, 1}, {NodeId{2}, 1}}, {7'399, 18'900, 22, 6}},
      {"bully-polite", {{NodeId{1}, 1}, {NodeId{2}, 1}}, {12'570, 32'663, 23, 7}},
      {"bully-delayed", {{NodeId{1}, 1}, {NodeId{2}, 1}}, {3'148, 7'796, 24, 6}},
      {"bully-delayed", {{NodeId{1}, 0}, {NodeId{2}, 0}, {NodeId{3}, 1}}, {90'163, 326'491, 40, 7}},
      {"ring-list", {{NodeId{1}, 1}, {NodeId{2}, 0}}, {27'422, 103'403, 27, 11}}};
  for (const Returning& one : all) {
    const check::Report report = explore_returning(one, false);
    EXPECT_TRUE(report.complete && report.holds()) << one.name;
    EXPECT_EQ(counts_of(report), one.counts) << one.name;
  }
}
TEST(Explored, ElectionsOfThreeEndAlthoughSomebodyComesBack) {
  if (!has_an_hour()) GTEST_SKIP() << "with CONCLAVE_LONG=1";
  const std::map<NodeId, std::uint32_t> first = {{NodeId{1}, 1}, {NodeId{2}, 0}, {NodeId{3}, 0}};
  for (const Returning& one : {Returning{"bully", first, {4'329'472, 0, 56, 7}},
                               Returning{"bully-polite", first, {8'264'561, 0, 58, 8}}}) {
    const check::Report report = explore_returning(one, true);
    EXPECT_TRUE(report.complete && report.holds()) << one.name;
    EXPECT_EQ(counts_but_edges(report), one.counts) << one.name;
  }
}

// Raft beyond its standard configuration: more than one time-out, so more than one term, and what the paper's
// figure 2 does not have. Three servers, of which the first proposes. Links are FIFO, as they are between
// processes, unless said.
//
// What is committed is told to everybody by a notice, which may come before or after whatever else is under
// way: that doubles the states of two elections, and of a snapshot, after which nothing else is under way.
// Where members change there are fewer, or hardly more: who proposed was told by an AppendEntries before,
// which was answered, and the leader's next step had to be tried before and after each answer.
struct RaftRun {
  const char* about;
  Counts counts;
  check::Budget budget;
  std::map<std::string, std::string> parameters = {};
  std::uint32_t proposers = 1;
  bool fifo = true;
  bool pre_vote = false;
  bool is_long = false;
};
const std::vector<RaftRun> raft_runs = {
    {"two_elections_and_a_crash", {3'663'591, 0, 35, 0}, {.crashes = 1, .recoveries = 1, .timeouts = 2}},
    {"two_elections_and_a_loss", {984'114, 0, 33, 0}, {.losses = 1, .timeouts = 2}},
    {"two_elections_and_a_duplicate", {2'262'460, 0, 34, 0}, {.duplications = 1, .timeouts = 2}},
    {"a_cut", {9'990, 0, 20, 0}, {.timeouts = 1, .partitions = 1}},
    {"reads_and_a_crash",
     {100'468, 0, 26, 0},
     {.crashes = 1, .recoveries = 1, .timeouts = 1},
     {{"reads", "1"}}},
    {"snapshots_and_a_crash",
     {162'701, 0, 29, 0},
     {.crashes = 1, .recoveries = 1, .timeouts = 1},
     {{"snapshots", "1"}}},
    {"changes_of_members_and_a_crash",
     {41'442, 0, 36, 0},
     {.crashes = 1, .recoveries = 1, .timeouts = 1},
     {{"changes", "1"}}},
    {"changes_of_members_and_two_elections", {1'108'908, 0, 44, 0}, {.timeouts = 2}, {{"changes", "1"}}},
    {"transfers_of_the_lead_and_two_elections", {1'417'075, 0, 49, 0}, {.timeouts = 2}, {{"transfers", "1"}}},
    {.about = "two_elections_with_pre_vote_and_a_crash",
     .counts = {11'905'612, 0, 43, 0},
     .budget = {.crashes = 1, .recoveries = 1, .timeouts = 2},
     .pre_vote = true,
     .is_long = true},
    {.about = "two_proposers_two_elections_and_a_crash",
     .counts = {55'546'447, 0, 46, 0},
     .budget = {.crashes = 1, .recoveries = 1, .timeouts = 2},
     .proposers = 2,
     .is_long = true},
    {.about = "reads_two_elections_and_a_crash",
     .counts = {97'993'029, 0, 50, 0},
     .budget = {.crashes = 1, .recoveries = 1, .timeouts = 2},
     .parameters = {{"reads", "1"}},
     .is_long = true},
    {.about = "snapshots_and_two_elections",
     .counts = {17'709'437, 0, 46, 0},
     .budget = {.timeouts = 2},
     .parameters = {{"snapshots", "1"}},
     .is_long = true},
    {.about = "three_elections",
     .counts = {14'538'406, 0, 47, 0},
     .budget = {.timeouts = 3},
     .is_long = true},
    {.about = "two_elections_on_unordered_links",
     .counts = {43'143'511, 0, 36, 0},
     .budget = {.timeouts = 2},
     .fifo = false,
     .is_long = true},
};

class RaftExplored : public testing::TestWithParam<RaftRun> {};

TEST_P(RaftExplored, Holds) {
  const RaftRun& run = GetParam();
  if (run.is_long && !has_an_hour()) GTEST_SKIP() << "with CONCLAVE_LONG=1";
  const Entry& raft = *find("raft");
  CheckPlan plan = usual_check(raft);
  plan.options.budget = run.budget;
  plan.options.fifo = run.fifo;
  let_act(run.proposers, plan.options);
  plan.options.workers = 2;
  plan.setting.variant = run.pre_vote ? "canonical" : "no-pre-vote";
  for (const auto& [name, value] : run.parameters) plan.setting.parameters[name] = value;
  const check::Report report = explore(raft, plan);
  EXPECT_TRUE(report.complete && report.holds());
  EXPECT_EQ(counts_but_edges(report), run.counts);
}

INSTANTIATE_TEST_SUITE_P(Explored, RaftExplored, testing::ValuesIn(raft_runs),
                         [](const auto& one) { return std::string(one.param.about); });

TEST(Explored, WithoutTokensNoFenceIsClaimed) {
  const Entry& bakery = *find("bakery");
  CheckPlan plan = usual_check(bakery, 2);
  const auto claimed = [&] { return claimed_and_checkable(bakery, plan.setting); };
  EXPECT_TRUE(std::ranges::count(claimed(), "fence") == 1);
  plan.setting.parameters["tokens"] = "0";
  EXPECT_TRUE(std::ranges::count(claimed(), "fence") == 0);
  EXPECT_TRUE(explore(bakery, plan).holds());
}

// Configurations in which something goes wrong.
std::vector<CheckPlan> violating() {
  std::vector<CheckPlan> plans;
  const auto add = [&](const char* name, std::vector<std::string> properties) -> CheckPlan& {
    plans.push_back(usual_check(*find(name)));
    plans.back().options.properties = std::move(properties);
    return plans.back();
  };
  add("maekawa", {"EM1", "ND"});
  add("maekawa", {"EM1"}).setting.variant = "no-self-vote";
  add("central-server", {"EM3"}).options.budget.tells = 1;
  add("lamport", {"EM1"}).options.fifo = false;
  add("global-snapshot", {}).options.fifo = false;
  add("sync-crash-tolerant", {}).setting.variant = "too-few-rounds";
  add("bakery", {"EM1"}).setting.variant = "no-choosing";
  CheckPlan& late = add("bully", {});
  late.options.unit = {30};
  late.options.budget = {};
  CheckPlan& parted = add("bully", {});
  parted.options.entries = 0;
  parted.options.entries_of = {{NodeId{1}, 1}};
  parted.options.budget = {.partitions = 1};
  CheckPlan& forgetful = add("paxos", {"agreement"});
  forgetful.setting.variant = "amnesia";
  forgetful.options.budget = {.crashes = 1, .recoveries = 1};
  return plans;
}

std::string called(const CheckPlan& plan) { return plan.setting.protocol + " " + plan.setting.variant; }

TEST(Explored, WaysAreAsShortWithoutReductions) {
  for (CheckPlan& plan : violating()) {
    const Entry& entry = *find(plan.setting.protocol);
    const check::Report reduced = explore(entry, plan);
    plan.options.partial_order = false;
    plan.options.symmetry = false;
    const check::Report plain = explore(entry, plan);
    ASSERT_EQ(reduced.findings.size(), plain.findings.size()) << called(plan);
    EXPECT_FALSE(plain.findings.empty()) << called(plan);
    for (std::size_t i = 0; i < plain.findings.size(); ++i) {
      EXPECT_EQ(reduced.findings[i].property, plain.findings[i].property) << called(plan);
      EXPECT_EQ(reduced.findings[i].steps, plain.findings[i].steps) << called(plan);
    }
  }
}

void expect_same(const check::Report& one, const check::Report& other, const std::string& name) {
  EXPECT_EQ(counts_of(one), counts_of(other)) << name;
  EXPECT_EQ(one.complete, other.complete) << name;
  EXPECT_EQ(one.outcomes, other.outcomes) << name;
  EXPECT_EQ(one.sometimes, other.sometimes) << name;
  ASSERT_EQ(one.findings.size(), other.findings.size()) << name;
  for (std::size_t i = 0; i < one.findings.size(); ++i) {
    EXPECT_EQ(one.findings[i].property, other.findings[i].property) << name;
    EXPECT_EQ(one.findings[i].why, other.findings[i].why) << name;
    EXPECT_EQ(one.findings[i].way, other.findings[i].way) << name;
    EXPECT_EQ(one.findings[i].cycle, other.findings[i].cycle) << name;
  }
}

TEST(Explored, WorkersTellTheSameStoryOfWhatGoesWrong) {
  for (CheckPlan& plan : violating()) {
    const Entry& entry = *find(plan.setting.protocol);
    const check::Report one = explore(entry, plan);
    for (const unsigned workers : {2u, 3u}) {
      plan.options.workers = workers;
      expect_same(one, explore(entry, plan), called(plan));
    }
  }
}

TEST(Explored, WorkersCountTheSame) {
  for (const char* name : {"central-server", "lamport", "maekawa-deadlock-free", "bully-delayed",
                           "all-to-all", "sync-crash-tolerant", "invitation", "bakery", "global-snapshot"}) {
    for (const bool reduced : {true, false}) {
      const check::Report one = explore_standard(name, reduced);
      for (const unsigned workers : {2u, 3u})
        expect_same(one, explore_standard(name, reduced, workers), name);
    }
  }
}

}  // namespace
}  // namespace conclave::catalogue
