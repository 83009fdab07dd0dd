// The judges of the families against the monitors of traces: two statements of the same properties, told the
// same made-up histories, must say the same after every step.
#include "core/judge.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/describe.hpp"
#include "core/random.hpp"
#include "protocols/causality/judge.hpp"
#include "protocols/consensus/judge.hpp"
#include "protocols/election/judge.hpp"
#include "protocols/log/judge.hpp"
#include "protocols/mutex/judge.hpp"
#include "trace/consensus_monitor.hpp"
#include "trace/election_monitor.hpp"
#include "trace/invitation_monitor.hpp"
#include "trace/log_monitor.hpp"
#include "trace/mutex_monitor.hpp"
#include "trace/snapshot_monitor.hpp"

namespace conclave {
namespace {

constexpr NodeId p1{1};
const NodeSet three = NodeSet::range(p1, 3);

// Draws that differ from history to history.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t below(std::uint64_t bound) {
    return ScrambledBits{scramble(seed_ * 1'000'003 + drawn_++)}.below(bound);
  }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  NodeId node() { return {p1.value + static_cast<std::uint32_t>(below(three.size()))}; }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

// One history, told to a judge and to a monitor, with the clients that take part in it.
template <class J, class M>
class History {
 public:
  using Client = typename J::Client;

  History(M monitor, std::vector<std::string> properties)
      : judge(J::start(three, properties)), monitor_(std::move(monitor)), properties_(std::move(properties)) {
    monitor_.begin({.nodes = three});
    for (NodeId node : three) past_[node] = Past(three.size());
  }

  J judge;
  NodeSet up = three;

  void begins(NodeId node, const typename J::Event& event) { happens(node, event, trace::Kind::start); }
  void hears(NodeId node, NodeId from) {
    vectors_[node].merge(vectors_[from]);
    for (std::size_t i = 0; i < three.size(); ++i) past_[node][i] = std::max(past_[node][i], past_[from][i]);
    see(node, trace::Kind::deliver);
  }
  void speaks(NodeId node, const typename J::Command& command) {
    judge.on_command(node, command, past_[node]);
    if (J::is_request(command)) ++past_[node][node.value - p1.value];
    see(node, trace::Kind::command, item(command));
  }
  void happens(NodeId node, const typename J::Event& event, trace::Kind kind = trace::Kind::timer) {
    judge.on_event(node, event);
    see(node, kind, {}, {item(event)});
  }
  void crash(NodeId node) {
    up.erase(node);
    judge.on_crash(node);
    see(node, trace::Kind::crash);
  }
  void recover(NodeId node) {
    up.insert(node);
    judge.on_recover(node);
    see(node, trace::Kind::recover);
  }

  // What each finds wrong if the run ends here, of what was asked for.
  std::set<std::string> judged(const std::map<NodeId, Client>& clients = {}) const {
    std::vector<Last<Client>> last;
    for (const auto& [node, client] : clients) last.push_back({node, up.contains(node), &client});
    std::set<std::string> violated;
    for (const Wrong& wrong : judge.wrong()) violated.insert(wrong.property);
    for (const Wrong& wrong : judge.at_end(last)) violated.insert(wrong.property);
    return violated;
  }
  std::set<std::string> monitored() const {
    M ended = monitor_;
    ended.end({.at = {number_}, .quiet = true});
    std::set<std::string> violated;
    for (const trace::Verdict& verdict : ended.verdicts()) {
      if (!verdict.holds && asks_for(properties_, verdict.property)) violated.insert(verdict.property);
    }
    return violated;
  }
  bool over() const { return !judge.wrong().empty(); }

 private:
  template <class Variant>
  static trace::Item item(const Variant& what) {
    return std::visit(
        []<class T>(const T& alternative) {
          return trace::Item{std::string(type_name<T>), describe_json(alternative)};
        },
        what);
  }
  void see(NodeId node, trace::Kind kind, trace::Item input = {}, std::vector<trace::Item> events = {}) {
    vectors_[node].tick(node);
    trace::Step step;
    step.number = ++number_;
    step.at = {number_};
    step.kind = kind;
    step.node = node;
    step.vector = vectors_[node];
    step.input = std::move(input);
    step.events = std::move(events);
    monitor_.see(step);
  }

  M monitor_;
  std::vector<std::string> properties_;
  std::uint64_t number_ = 0;
  std::map<NodeId, VectorClock> vectors_;
  std::map<NodeId, Past> past_;
};

// Each property alone, and all of these together: alone, a history goes on past violations of the others.
std::vector<std::vector<std::string>> choices(const std::vector<std::string>& properties) {
  std::vector<std::vector<std::string>> choices = {properties};
  for (const std::string& property : properties) choices.push_back({property});
  return choices;
}

// Tells histories made by `tell` for every choice of properties. Each must be violated in some of them, or
// the comparison says nothing.
template <class Tell>
void compare(const std::vector<std::string>& properties, Tell tell) {
  std::set<std::string> ever;
  for (const auto& choice : choices(properties)) {
    for (std::uint64_t seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) {
      Draws draws{seed};
      const std::set<std::string> violated = tell(draws, choice);
      ever.insert(violated.begin(), violated.end());
    }
  }
  EXPECT_EQ(ever, std::set<std::string>(properties.begin(), properties.end()));
}

template <class H>
void fail_or_come_back(H& history, NodeId node) {
  if (history.up.contains(node)) {
    history.crash(node);
  } else {
    history.recover(node);
  }
}

TEST(Judges, OfMutualExclusionAgreeWithTheMonitor) {
  using namespace mutex;
  compare(mutex::Judge::properties(), [](Draws& draws, const auto& properties) {
    History<mutex::Judge, trace::MutexMonitor> history{trace::MutexMonitor{}, properties};
    std::map<NodeId, Spec::Client> clients;
    NodeSet queued;  // by their last requests
    std::uint64_t fence = 0;
    for (int step = 0; step < 30 && !history.over(); ++step) {
      const NodeId node = draws.node();
      Spec::Client& client = clients[node];
      if (!history.up.contains(node) || draws.one_in(20)) {
        client.crash();
        fail_or_come_back(history, node);
      } else if (draws.one_in(4)) {
        history.hears(node, draws.node());
      } else if (client.holding()) {
        client.issue(Release{});
        history.speaks(node, Release{});
      } else if (client.phase == Spec::Client::Phase::outside) {
        client.issue(Acquire{});
        queued.erase(node);
        history.speaks(node, Acquire{});
      } else if (!queued.contains(node) && draws.one_in(3)) {
        queued.insert(node);
        history.happens(node, Queued{});
      } else if (history.judge.inside.empty() || draws.one_in(5)) {
        if (!draws.one_in(6)) ++fence;
        client.see(Granted{{fence}});
        history.happens(node, Granted{{fence}});
      }
      EXPECT_EQ(history.judged(), history.monitored());
    }
    return history.judged();
  });
}

template <election::Winner winner>
void compare_leaders(trace::ElectionMonitor::Winner theirs) {
  using Judge = election::LeaderJudge<winner>;
  compare(Judge::properties(), [theirs](Draws& draws, const auto& properties) {
    History<Judge, trace::ElectionMonitor> history{trace::ElectionMonitor{theirs}, properties};
    if (draws.one_in(2)) {
      const NodeId before = draws.node();
      for (NodeId node : three) history.begins(node, election::Elected{before});
    }
    // Without a reason there is no election.
    if (draws.one_in(2)) {
      history.speaks(draws.node(), election::Start{});
    } else {
      history.crash(draws.node());
    }
    for (int step = 0; step < 20 && !history.over(); ++step) {
      const NodeId node = draws.node();
      const NodeId leader = draws.one_in(2) ? history.up.empty() ? node : history.up.max() : draws.node();
      if (!history.up.contains(node) || draws.one_in(8)) {
        fail_or_come_back(history, node);
      } else if (draws.one_in(5)) {
        history.speaks(node, election::Start{});
      } else if (draws.one_in(5)) {
        history.happens(node, election::Participating{});
      } else {
        history.happens(node, election::Elected{leader});
      }
      EXPECT_EQ(history.judged(), history.monitored());
    }
    return history.judged();
  });
}

TEST(Judges, OfElectionsAgreeWithTheMonitor) {
  compare_leaders<election::Winner::greatest_live>(trace::ElectionMonitor::Winner::greatest_live);
}
TEST(Judges, OfPoliteElectionsAgreeWithTheMonitor) {
  compare_leaders<election::Winner::any_live>(trace::ElectionMonitor::Winner::any_live);
}

TEST(Judges, OfGroupsAgreeWithTheMonitor) {
  using election::GroupJudge;
  compare(GroupJudge::properties(), [](Draws& draws, const auto& properties) {
    History<GroupJudge, trace::InvitationMonitor> history{trace::InvitationMonitor{Ticks{0}}, properties};
    std::uint64_t number = 1;
    for (int step = 0; step < 20 && !history.over(); ++step) {
      const NodeId node = draws.node();
      const NodeId founder = draws.one_in(2) ? node : draws.node();
      const NodeId leader = draws.one_in(9) ? draws.node() : founder;
      if (founder == node && draws.one_in(2)) ++number;
      if (!history.up.contains(node) || draws.one_in(8)) {
        fail_or_come_back(history, node);
      } else if (draws.one_in(5)) {
        history.happens(node, election::Participating{});
      } else {
        history.happens(node, election::Joined{leader, {number - draws.below(2), founder}});
      }
      EXPECT_EQ(history.judged(), history.monitored());
    }
    return history.judged();
  });
}

TEST(Judges, OfConsensusAgreeWithTheMonitor) {
  compare(consensus::Judge::properties(), [](Draws& draws, const auto& properties) {
    const NodeSet traitors = draws.one_in(3) ? NodeSet{draws.node()} : NodeSet{};
    History<consensus::Judge, trace::ConsensusMonitor> history{trace::ConsensusMonitor{traitors}, properties};
    history.judge.traitors = traitors;
    const auto value = [&draws] { return static_cast<consensus::Value>(draws.below(3)) - 1; };
    std::map<NodeId, consensus::Value> wishes;
    for (NodeId node : three) wishes[node] = value();
    for (int step = 0; step < 15 && !history.over(); ++step) {
      const NodeId node = draws.node();
      if (!history.up.contains(node) || draws.one_in(6)) {
        fail_or_come_back(history, node);
      } else if (draws.one_in(2)) {
        history.speaks(node, consensus::Propose{wishes[node]});
      } else {
        history.happens(node, consensus::Decided{draws.one_in(3) ? value() : wishes[p1]});
      }
      EXPECT_EQ(history.judged(), history.monitored());
    }
    return history.judged();
  });
}

TEST(Judges, OfLogsAgreeWithTheMonitor) {
  // What the monitor knows nothing of, or knows otherwise, has tests of its own.
  compare({"agreement", "integrity", "order", "termination"}, [](Draws& draws, const auto& properties) {
    History<log::Judge, trace::LogMonitor> history{trace::LogMonitor{}, properties};
    std::map<NodeId, log::Spec::Client> clients;
    for (NodeId node : three) clients[node] = {.self = node, .wishes = 9};
    std::map<NodeId, std::uint64_t> announced;
    std::vector<std::optional<log::Entry>> places = {std::nullopt};
    for (int step = 0; step < 30 && !history.over(); ++step) {
      const NodeId node = draws.node();
      log::Spec::Client& client = clients[node];
      if (!history.up.contains(node) || draws.one_in(12)) {
        if (history.up.contains(node)) client.crash();
        fail_or_come_back(history, node);
        if (draws.one_in(2)) announced[node] = draws.below(announced[node] + 1);
      } else if (const auto command = client.next(); command && draws.one_in(2)) {
        client.issue(*command);
        history.speaks(node, *command);
        const auto& [serial, value, bytes] = std::get<log::Propose>(*command);
        places.push_back(log::Entry{node, serial, value, bytes});
        if (draws.one_in(9)) places.push_back(places.back());
        if (draws.one_in(9)) places.push_back(log::Entry{node, serial + 100, value, bytes});
      } else {
        std::uint64_t& last = announced[node];
        last = draws.one_in(15) ? draws.below(places.size()) : last + 1;
        if (last >= places.size()) places.resize(last + 1);
        const log::Committed committed{last, draws.one_in(15) ? std::nullopt : places[last]};
        client.see(committed);
        history.happens(node, committed);
      }
      EXPECT_EQ(history.judged(clients), history.monitored());
    }
    return history.judged(clients);
  });
}

TEST(Judges, OfSnapshotsAgreeWithTheMonitor) {
  using causality::SnapshotId;
  compare(causality::Judge::properties(), [](Draws& draws, const auto& properties) {
    History<causality::Judge, trace::SnapshotMonitor> history{trace::SnapshotMonitor{three, 30, false},
                                                              properties};
    history.judge.total = 30;
    std::map<SnapshotId, NodeSet> recorded;
    std::map<SnapshotId, NodeSet> completed;
    for (int step = 0; step < 20 && !history.over(); ++step) {
      const NodeId node = draws.node();
      const SnapshotId snapshot = {{p1.value + static_cast<std::uint32_t>(draws.below(2))}, 1};
      if (!recorded[snapshot].contains(node)) {
        recorded[snapshot].insert(node);
        history.happens(node, causality::Recorded{snapshot, draws.one_in(9) ? 9u : 10u});
      } else if (!completed[snapshot].contains(node)) {
        completed[snapshot].insert(node);
        history.happens(node, causality::Completed{snapshot, draws.one_in(9) ? 1u : 0u});
      }
      EXPECT_EQ(history.judged(), history.monitored());
    }
    return history.judged();
  });
}

TEST(Judges, NameProcessesInWords) {
  EXPECT_EQ(in_words(NodeSet{}), "");
  EXPECT_EQ(in_words(NodeSet{p1}), "p1");
  EXPECT_EQ(in_words(NodeSet::range(p1, 2)), "p1 and p2");
  EXPECT_EQ(in_words(three), "p1, p2 and p3");
}

TEST(Judges, CheckWhatTheyAreAskedForAndEverythingIfNothingIsNamed) {
  EXPECT_TRUE(asks_for({}, "EM1"));
  EXPECT_TRUE(asks_for({"EM2", "EM1"}, "EM1"));
  EXPECT_FALSE(asks_for({"EM2"}, "EM1"));
}

}  // namespace
}  // namespace conclave
