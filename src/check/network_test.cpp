// What the network does to processes, on protocols so small that every run can be listed by hand.
#include <gtest/gtest.h>

#include <set>

#include "check/explore.hpp"

namespace conclave::check {
namespace {

// A client says Go as often as it wishes, and is told numbers.
struct Go {
  bool operator==(const Go&) const = default;
};
struct Told {
  std::uint32_t what = 0;
  bool operator==(const Told&) const = default;
};
struct Spec {
  using Command = std::variant<Go>;
  using Event = std::variant<Told>;
  struct Client {
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;
    bool operator==(const Client&) const = default;
    bool holding() const { return false; }
    bool content() const { return wishes == 0; }
    std::optional<Command> next() const { return wishes > 0 ? std::optional<Command>(Go{}) : std::nullopt; }
    bool may(const Command&) const { return true; }
    void wish() { ++wishes; }
    void issue(const Command&) { --wishes; }
    void crash() { wishes = 0; }
    void see(const Event&) {}
  };
};

constexpr std::uint32_t bad = 13;

// Remembers who was told what, in order for each; 13 is wrong.
template <class S>
struct LedgerOf {
  using Command = typename S::Command;
  using Event = typename S::Event;
  using Client = typename S::Client;
  std::map<NodeId, std::vector<std::uint32_t>> told = {};
  bool operator==(const LedgerOf&) const = default;

  static LedgerOf start(const NodeSet&, const std::vector<std::string>&) { return {}; }
  static std::vector<std::string> properties() { return {"luck"}; }
  static bool needs_past(const std::vector<std::string>&) { return false; }
  static bool is_request(const Command&) { return false; }
  void on_command(NodeId, const Command&, const Past&) {}
  void on_event(NodeId node, const Event& event) { told[node].push_back(std::get<Told>(event).what); }
  void on_crash(NodeId) {}
  void on_recover(NodeId) {}
  std::vector<Wrong> wrong() const {
    for (const auto& [node, all] : told) {
      if (std::ranges::find(all, bad) != all.end()) return {{"luck", in_words(node) + " was told 13"}};
    }
    return {};
  }
  std::vector<Wrong> at_end(std::span<const Last<Client>>) const { return {}; }
  static std::vector<std::string_view> sometimes() { return {"somebody is told something"}; }
  std::uint32_t seen() const { return told.empty() ? 0 : 1; }
  // "2:1 1; 3:7"
  std::string outcome() const {
    std::string words = told.empty() ? "nothing" : "";
    for (const auto& [node, all] : told) {
      words += (words.empty() ? "" : "; ") + std::to_string(node.value) + ":";
      for (const std::uint32_t what : all) words += (words.back() == ':' ? "" : " ") + std::to_string(what);
    }
    return words;
  }
};
using Ledger = LedgerOf<Spec>;
static_assert(FamilyJudge<Ledger>);

constexpr NodeId p1 = {1}, p2 = {2};

// Who says Go sends every other process 1, then 2 if there are two letters.
template <Links links>
struct Herald {
  struct News {
    std::uint32_t what = 0;
    bool operator==(const News&) const = default;
  };
  using Spec = check::Spec;
  using Message = std::variant<News>;
  using Timer = NoTimer;
  using Out = Effects<Herald>;
  struct Setup {
    std::uint32_t letters = 1;
    bool careful = false;  // believes that nobody is ever told 2
  };
  static constexpr Assumptions assumes = {.links = links};
  NodeSet others = {};
  std::uint32_t letters = 1;
  bool careful = false;
  bool operator==(const Herald&) const = default;
  static Herald start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    return {.others = all.without(self), .letters = setup.letters, .careful = setup.careful};
  }
  void on_command(Out& out, const Go&) {
    for (std::uint32_t i = 1; i <= letters; ++i) out.broadcast(others, News{i});
  }
  void on_message(Out& out, NodeId, const News& news) {
    ensure(!careful || news.what < 2, "nobody is told 2");
    out.announce(Told{news.what});
  }
};
using Reliable = Herald<Links::reliable_fifo>;
using Lossy = Herald<Links::lossy>;

std::set<std::string> ends(const Report& report) {
  std::set<std::string> all;
  for (const auto& [outcome, count] : report.outcomes) all.insert(outcome);
  return all;
}
using Ends = std::set<std::string>;

// Only p1 says Go.
Options one_speaks(Budget budget = {}) {
  return {.entries = 0, .entries_of = {{p1, 1}}, .budget = budget, .partial_order = false};
}
template <class P>
Report run(const Options& options, typename P::Setup setup = {}, std::uint32_t nodes = 2) {
  return explore<P, Ledger>(options, NodeSet::range(p1, nodes), setup, Ledger{});
}

TEST(Network, OneLetterTakesTwoSteps) {
  const Report report = run<Reliable>(one_speaks());
  EXPECT_EQ(report.states, 3u);
  EXPECT_EQ(report.edges, 2u);
  EXPECT_EQ(report.depth, 2u);
  EXPECT_EQ(ends(report), Ends{"2:1"});
  EXPECT_TRUE(report.sometimes.at("somebody is told something"));
  EXPECT_TRUE(report.holds());
}

TEST(Network, WhoOpensHasSpokenBeforeTheFirstState) {
  Options options = one_speaks();
  options.opening = {p1};
  EXPECT_EQ(run<Reliable>(options).states, 2u);
}

TEST(Network, LinksKeepOrderUnlessToldOtherwise) {
  Options options = one_speaks();
  EXPECT_EQ(ends(run<Reliable>(options, {.letters = 2})), Ends{"2:1 2"});
  options.fifo = false;
  EXPECT_EQ(ends(run<Reliable>(options, {.letters = 2})), (Ends{"2:1 2", "2:2 1"}));
  EXPECT_EQ(ends(run<Lossy>(one_speaks(), {.letters = 2})), (Ends{"2:1 2", "2:2 1"}));
}

TEST(Network, ACrashCanComeAtEveryMoment) {
  const Report report = run<Reliable>(one_speaks({.crashes = 1}));
  // Nobody, or p1 or p2 before the start, with the letter under way, in the end; p2 also before p1 speaks.
  EXPECT_EQ(report.states, 9u);
  EXPECT_EQ(report.edges, 10u);
  EXPECT_EQ(ends(report), (Ends{"2:1", "nothing"}));
}

TEST(Network, NoMoreCrashThanTheBudgetAllows) {
  const auto states = [](std::uint8_t crashes) {
    return run<Reliable>(one_speaks({.crashes = crashes})).states;
  };
  EXPECT_LT(states(0), states(1));
  EXPECT_LT(states(1), states(2));
  EXPECT_EQ(states(2), states(3));  // there are only two to crash
}

TEST(Network, ALetterCanGetLost) {
  const Report report = run<Lossy>(one_speaks({.losses = 1}));
  EXPECT_EQ(report.states, 4u);
  EXPECT_EQ(report.edges, 3u);
  EXPECT_EQ(ends(report), (Ends{"2:1", "nothing"}));
  EXPECT_EQ(ends(run<Lossy>(one_speaks({.losses = 1}), {.letters = 2})),
            (Ends{"2:1 2", "2:2 1", "2:1", "2:2"}));
}

TEST(Network, ALetterCanArriveTwice) {
  EXPECT_EQ(ends(run<Lossy>(one_speaks({.duplications = 1}))), (Ends{"2:1", "2:1 1"}));
  EXPECT_EQ(ends(run<Lossy>(one_speaks({.duplications = 2}))), (Ends{"2:1", "2:1 1", "2:1 1 1"}));
}

TEST(Network, PartitionsHealAndReliableLinksDeliverThen) {
  const Report report = run<Reliable>(one_speaks({.partitions = 1}));
  EXPECT_EQ(report.states, 9u);  // before, during and after, each with the letter unsent, under way, arrived
  EXPECT_EQ(report.edges, 11u);
  EXPECT_EQ(ends(report), Ends{"2:1"});
}

TEST(Network, OnLossyLinksAPartitionCanCostWhatIsUnderWay) {
  EXPECT_EQ(ends(run<Lossy>(one_speaks({.partitions = 1}))), (Ends{"2:1", "nothing"}));
}

TEST(Network, ThreeNodesArePartedInThreeWays) {
  Options options = one_speaks({.partitions = 1});
  options.entries_of = {};
  const Report report = run<Reliable>(options, {}, 3);
  EXPECT_EQ(report.states, 1u + 3u + 1u);  // whole, parted, healed
  EXPECT_EQ(report.edges, 3u + 3u);
}

TEST(Network, WhoBreaksItsOwnRulesIsFound) {
  const Report report = run<Reliable>(one_speaks(), {.letters = 2, .careful = true});
  const Finding* finding = report.violation("own rules");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->why, "nobody is told 2");
  EXPECT_EQ(finding->steps, 3u);
  ASSERT_EQ(finding->way.size(), 3u);
  EXPECT_EQ(finding->way[0].kind, trace::Kind::command);
  EXPECT_EQ(finding->way[2].kind, trace::Kind::deliver);
  EXPECT_EQ(finding->way[2].node, p2);
  EXPECT_EQ(finding->way[2].from, p1);
}

TEST(Network, CountsMessagesOfRunsThatEnd) {
  Options options = one_speaks();
  options.count_messages = true;
  const Report report = run<Reliable>(options, {.letters = 2}, 3);
  EXPECT_EQ(report.figures.at("messages at least"), 4u);
  EXPECT_EQ(report.figures.at("messages at most"), 4u);
}

// Counts its client's wishes on disk, and says after a crash what it knows.
struct Diarist {
  struct Nothing {
    bool operator==(const Nothing&) const = default;
  };
  using Spec = check::Spec;
  using Message = std::variant<Nothing>;
  using Timer = NoTimer;
  using Out = Effects<Diarist>;
  using Setup = NoSetup;
  struct Durable {
    std::uint32_t wishes = 0;
    bool operator==(const Durable&) const = default;
  };
  static constexpr Assumptions assumes = {.crashes = Crashes::recover};
  std::uint32_t wishes = 0;
  bool operator==(const Diarist&) const = default;
  static Diarist start(NodeId, const NodeSet&, const Setup&, Out&) { return {}; }
  static Diarist recover(NodeId, const NodeSet&, const Setup&, const Durable& durable, Out& out) {
    out.announce(Told{durable.wishes});
    return {.wishes = durable.wishes};
  }
  void on_command(Out& out, const Go&) { out.persist({++wishes}); }
  void on_message(Out&, NodeId, const Nothing&) {}
};

TEST(Network, WhoComesBackKnowsWhatItWroteDown) {
  Options options = {.entries = 2, .budget = {.crashes = 1, .recoveries = 1}, .partial_order = false};
  const Report report = run<Diarist>(options, {}, 1);
  // It never crashed, or with an empty disk; or after one wish, or after two.
  EXPECT_EQ(ends(report), (Ends{"nothing", "1:1", "1:2"}));
}

// Its client passes on what it hears of crashes: 1 for down, 2 for up.
struct Heard {
  std::uint32_t what = 0;
  bool operator==(const Heard&) const = default;
};
struct WatchfulSpec {
  using Command = std::variant<Heard>;
  using Event = std::variant<Told>;
  struct Client {
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;
    std::vector<std::uint32_t> news = {};
    bool operator==(const Client&) const = default;
    bool holding() const { return false; }
    bool content() const { return news.empty(); }
    std::optional<Command> next() const {
      return news.empty() ? std::nullopt : std::optional<Command>(Heard{news.front()});
    }
    bool may(const Command&) const { return true; }
    void wish() { ++wishes; }
    void issue(const Command&) {
      ++requests;
      news.erase(news.begin());
    }
    void crash() { *this = {}; }
    void see(const Event&) {}
    void told_down(NodeId) { news.push_back(1); }
    void told_up(NodeId) { news.push_back(2); }
  };
};
template <Links links>
struct Watchman {
  using Spec = WatchfulSpec;
  using Message = std::variant<Heard>;
  using Timer = NoTimer;
  using Out = Effects<Watchman>;
  struct Setup {};
  static constexpr Assumptions assumes = {.links = links, .crashes = Crashes::recover};
  NodeId self = {};
  bool operator==(const Watchman&) const = default;
  static Watchman start(NodeId self, const NodeSet&, const Setup&, Out&) { return {.self = self}; }
  void on_command(Out& out, const Heard& news) { out.announce(Told{news.what}); }
  void on_message(Out&, NodeId, const Heard&) {}
};

template <Links links>
Ends heard_of_one_who_returns() {
  using Book = LedgerOf<WatchfulSpec>;
  const Options options = {.entries = 0, .budget = {.crashes = 1, .recoveries = 1}};
  return ends(explore<Watchman<links>, Book>(options, NodeSet::range(p1, 2), {}, Book{}));
}
TEST(Network, TheFailureDetectorKeepsTheOrderWhateverLinksDo) {
  const Ends expected = {"nothing", "1:1", "2:1", "1:1 2", "2:1 2"};
  EXPECT_EQ(heard_of_one_who_returns<Links::reliable_fifo>(), expected);
  EXPECT_EQ(heard_of_one_who_returns<Links::reliable_unordered>(), expected);
}

TEST(Network, NobodyComesBackWithoutABudgetForIt) {
  const Options options = {.entries = 2, .budget = {.crashes = 1}, .partial_order = false};
  EXPECT_EQ(ends(run<Diarist>(options, {}, 1)), Ends{"nothing"});
}

// Asks another process and waits for so long; silence is taken for death.
struct Impatient {
  struct Ask {
    bool operator==(const Ask&) const = default;
  };
  struct Answer {
    bool operator==(const Answer&) const = default;
  };
  enum class Alarm { silence };
  using Spec = check::Spec;
  using Message = std::variant<Ask, Answer>;
  using Timer = Alarm;
  using Out = Effects<Impatient>;
  struct Setup {
    std::uint64_t patience = 20;
  };
  static constexpr Assumptions assumes = {.crashes = Crashes::stop, .timing = Timing::synchronous};
  NodeSet others = {};
  std::uint64_t patience = 0;
  bool operator==(const Impatient&) const = default;
  static Impatient start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    return {.others = all.without(self), .patience = setup.patience};
  }
  void on_command(Out& out, const Go&) {
    out.broadcast(others, Ask{});
    out.arm(Alarm::silence, {{patience}, {patience}});
  }
  void on_message(Out& out, NodeId from, const Ask&) { out.send(from, Answer{}); }
  void on_message(Out& out, NodeId, const Answer&) {
    out.disarm(Alarm::silence);
    out.announce(Told{1});
  }
  void on_timer(Out& out, Alarm) { out.announce(Told{bad}); }
};

Options timed(Budget budget = {}) {
  Options options = one_speaks(budget);
  options.unit = {10};
  return options;
}

TEST(Network, ATimerOfTwoUnitsWaitsForAnAnswerThatTakesTwo) {
  const Report report = run<Impatient>(timed(), {.patience = 20});
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(ends(report), Ends{"1:1"});
}

TEST(Network, ATimerOfOneUnitDoesNot) {
  for (const std::uint64_t patience : {1u, 9u, 10u}) {
    const Report report = run<Impatient>(timed(), {.patience = patience});
    const Finding* finding = report.violation("luck");
    ASSERT_NE(finding, nullptr) << patience;
    EXPECT_EQ(finding->way.back().kind, trace::Kind::timer);
  }
  EXPECT_TRUE(run<Impatient>(timed(), {.patience = 11}).holds());  // counts as two units
}

TEST(Network, SilenceMeansACrashWhereTimeIsBounded) {
  Options options = timed({.crashes = 1});
  const Report report = run<Impatient>(options, {.patience = 20});
  const Finding* finding = report.violation("luck");
  ASSERT_NE(finding, nullptr);
  const bool crashed = std::ranges::any_of(
      finding->way, [](const trace::Direction& d) { return d.kind == trace::Kind::crash && d.node == p2; });
  EXPECT_TRUE(crashed);
}

// Sends when its alarm rings, which may be at any time; but no run has ended while it may.
struct Asynchronous {
  struct Ask {
    bool operator==(const Ask&) const = default;
  };
  enum class Alarm { again };
  using Spec = check::Spec;
  using Message = std::variant<Ask>;
  using Timer = Alarm;
  using Out = Effects<Asynchronous>;
  using Setup = NoSetup;
  static constexpr Assumptions assumes = {.links = Links::lossy};
  NodeSet others = {};
  bool operator==(const Asynchronous&) const = default;
  static Asynchronous start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.others = all.without(self)};
  }
  void on_command(Out& out, const Go&) { out.arm(Alarm::again, {{1}, {1}}); }
  void on_message(Out& out, NodeId, const Ask&) { out.announce(Told{1}); }
  void on_timer(Out& out, Alarm) { out.broadcast(others, Ask{}); }
};

TEST(Network, ARunWithATimerRunningHasNotEnded) {
  const Report enough = run<Asynchronous>(one_speaks({.timeouts = 1}));
  EXPECT_EQ(ends(enough), Ends{"2:1"});
  EXPECT_EQ(enough.final_states, 1u);
  const Report none = run<Asynchronous>(one_speaks({.losses = 1}));
  EXPECT_EQ(none.final_states, 0u);
  EXPECT_EQ(none.figures.at("runs cut short by a budget"), 1u);
}

// Tosses a coin with three faces, and another if the first shows 2.
struct Gambler {
  struct Nothing {
    bool operator==(const Nothing&) const = default;
  };
  using Spec = check::Spec;
  using Message = std::variant<Nothing>;
  using Timer = NoTimer;
  using Out = Effects<Gambler>;
  using Setup = NoSetup;
  static constexpr Assumptions assumes = {};
  bool again = false;
  bool operator==(const Gambler&) const = default;
  static Gambler start(NodeId, const NodeSet&, const Setup&, Out&) { return {}; }
  void on_command(Out& out, const Go&) { out.choose(3); }
  void on_choice(Out& out, unsigned face) {
    out.announce(Told{face});
    if (face == 2 && !again) out.choose(2);
    again = true;
  }
  void on_message(Out&, NodeId, const Nothing&) {}
};

TEST(Network, CoinsShowEveryFace) {
  EXPECT_EQ(ends(run<Gambler>(one_speaks())), (Ends{"1:0", "1:1", "1:2 0", "1:2 1"}));
}

}  // namespace
}  // namespace conclave::check
