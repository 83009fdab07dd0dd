#include "protocols/raft/raft.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/log/rows.hpp"
#include "catalogue/log/store_monitor.hpp"
#include "catalogue/raft/play.hpp"
#include "catalogue/raft/setup.hpp"
#include "protocols/log/judge.hpp"
#include "sim/slowness.hpp"
#include "trace/log_monitor.hpp"

namespace conclave::catalogue {
namespace {

// Long enough for leaders to come and go. And everybody is served in time.
void usual(sim::Options& options) {
  options.think = {sim::Delay::Shape::uniform, 0, 300};
  options.patience = {200'000};
}

// How many of its longest election time-outs it takes at most until the log grows, once the faults are over.
// Disks are as slow then as before, and a write may take longer than a hasty follower waits; without pre-vote
// every term that somebody tries costs all of them one more. docs/raft.md says how the bounds are found.
std::uint64_t most_elections(const raft::Raft::Setup& setup) { return setup.pre_vote ? 50 : 100; }

// For how long at most a read waits while a leader has a majority: docs/raft.md.
trace::PromptReads::Bounds bounds_of_reads(const sim::Options& options, const raft::Raft::Setup& setup) {
  const auto slowness = sim::slowness(options);
  if (!slowness) return {};
  const std::uint64_t message = slowness->message.count;
  const std::uint64_t disks = 4 * slowness->disk.count;
  const std::uint64_t heartbeat = setup.heartbeat_ticks * slowness->timers;
  // The round that is under way, and the next; who has a vote since then, gets it with a heartbeat.
  const std::uint64_t leader = 4 * message + heartbeat + disks;
  return {.leader = {leader},
          .others = {leader + 4 * message + heartbeat +
                     disks},  // to the leader and back, and the news of the place
          .again = {2 * (setup.patience_ticks + setup.handicap_ticks) * slowness->timers}};
}

// For how long at most a member that keeps up lacks the news of what the leader has announced: docs/raft.md.
// Where messages overtake each other, the news may come before what it is about, and is lost then; where they
// carry few entries, one that fell behind may need many of them.
trace::PromptNews::Bounds bounds_of_news(const sim::Options& options, const raft::Raft::Setup& setup) {
  const auto slowness = sim::slowness(options);
  if (!slowness || !sim::keeps_order(options) || setup.most_entries < 64) return {};
  const std::uint64_t message = slowness->message.count;
  const std::uint64_t disks = 4 * slowness->disk.count;
  const std::uint64_t heartbeat = setup.heartbeat_ticks * slowness->timers;
  const std::uint64_t patience = 2 * (setup.patience_ticks + setup.handicap_ticks) * slowness->timers;
  // An answer may be awaited before there is more, and then comes the news.
  return {.news = {3 * message + disks}, .again = {patience + heartbeat + 4 * message + disks}};
}

std::unique_ptr<trace::Monitor> monitor(const sim::Options& options, const Setting& setting) {
  const auto setup = raft_setup<raft::Raft::Setup>(setting);
  return std::make_unique<StoreMonitor>(
      trace::LogMonitor::SecondAct{.begins = sim::end_of_faults(options),
                                   .progress_within = {most_elections(setup) * setup.patience_ticks * 2}},
      bounds_of_reads(options, setup), bounds_of_news(options, setup));
}

// One server proposes, and nothing goes wrong. Heartbeats look like other messages, so they are so rare that
// the run ends before the first.
trace::LogMonitor::Summary quiet_run(std::uint32_t nodes, std::uint64_t seed, NodeId proposer) {
  const Entry& entry = *find("raft");
  sim::Options options = {.nodes = nodes, .seed = seed};
  options.delay.usual = {sim::Delay::Shape::fixed, 10, 10};
  options.script = sim::Script(20, {.what = sim::Action::What::wish, .at = {1}, .node = proposer});
  Setting setting = {.protocol = "raft", .members = entry.members(nodes), .seed = seed};
  setting.parameters = {{"patience", "100000"}, {"heartbeat", "90000"}, {"batch", "64"}, {"extras", "1"}};
  trace::LogMonitor monitor;
  entry.simulate(options, setting, &monitor);
  return monitor.summary();
}

double sent(const trace::LogMonitor::Summary& run, std::initializer_list<const char*> types) {
  double sum = 0;
  for (const char* type : types) {
    if (const auto found = run.sent.find(type); found != run.sent.end())
      sum += static_cast<double>(found->second);
  }
  return sum;
}

// What it takes beside the first entry of the term. That one takes a command of the leader along if there is
// one already; and whoever forwarded the first command hears with its entry that the first one is committed.
double per_command(const trace::LogMonitor::Summary& run, std::uint32_t nodes, std::uint64_t taken_along) {
  const double first = 3 * (nodes - 1.0) - (taken_along == 0 ? 1 : 0);
  return (sent(run, {"AppendEntries", "AppendReply", "CommitNotice", "Forward"}) - first) /
         static_cast<double>(run.commands - taken_along);
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const double peers = nodes - 1.0;
  const NodeId leader = quiet_run(nodes, seed, {1}).leaders.at(0);
  const auto own = quiet_run(nodes, seed, leader);
  const auto forwarded = quiet_run(nodes, seed, {leader.value == 1 ? 2u : 1u});
  const auto delays = [](const auto& run) { return static_cast<double>(run.delay.least) / 10; };
  return {{"messages per pre-vote", sent(own, {"PreVote", "PreVoteReply"}), exactly(2 * peers)},
          {"messages per election", sent(own, {"RequestVote", "VoteReply"}), exactly(2 * peers)},
          {"messages per command of the leader", per_command(own, nodes, 1), exactly(3 * peers)},
          {"messages per command of another", per_command(forwarded, nodes, 0), exactly(3 * peers + 1)},
          {"message delays, proposed by the leader", delays(own), exactly(2)},
          {"message delays, proposed by another", delays(forwarded), exactly(4)}};
}

}  // namespace

Entry raft() {
  Entry entry = {
      .name = "raft",
      .family = "log",
      .title = "Raft, a log with a strong leader",
      .paper = "Ongaro and Ousterhout, USENIX ATC, 2014",
      .year = 2014,
      .source = "src/protocols/raft/raft.hpp",
      .worlds = {"sim", "check", "live"},
      .cost =
          "3(N-1) messages per command of the leader, or 2(N-1) if another follows at once; 1 more if "
          "another server proposed it",
      .properties = {"agreement", "integrity", "order", "termination", "election safety", "log matching",
                     "leader completeness", "fresh reads", "prompt reads", "prompt news", "open questions",
                     "linearizable"},
      .remark = "termination: with probability 1, once messages arrive and a majority stays up",
      .variants = {{"canonical", "whoever stands for election asks first whether it would be elected"},
                   {"no-pre-vote", "as in the paper of 2014: it does not ask, and may end a good term"}},
      .parameters =
          {{"patience", "ticks for which a follower waits for a leader; 0: 40 or 120", "0", 0, 1'000'000},
           {"heartbeat", "ticks between a leader's signs of life; 0: a third of that", "0", 0, 1'000'000},
           {"batch", "entries in one message, at most; 0: 1, 2 or 64", "0", 0, 1'000'000},
           {"extras",
            "what the paper's figure 2 does not have: reads, snapshots, changes of members, transfers "
            "of the lead, more than one proposal at a time; 0: some, by the seed, 1: none, 2: all",
            "0", 0, 2},
           {"width", "proposals of a client under way; 0: by extras", "0", 0, 1'000},
           {"reads", "questions of a client for each of its proposals; 0: by extras", "0", 0, 1'000'000},
           {"snapshots", "a server saves its state after so many places; 0: by extras", "0", 0, 1'000'000},
           {"changes", "a client has the voters changed after so many proposals; 0: by extras", "0", 0,
            1'000'000},
           {"transfers", "a client has somebody else lead after so many proposals; 0: by extras", "0", 0,
            1'000'000}},
      .least_nodes = 1,
      .most_nodes = 1'000,
      .monitor = monitor,
      .usual = usual,
      .measure = measure};
  bind<raft::Raft, raft_setup<raft::Raft::Setup>>(entry);
  entry.play = play_raft;
  bind_check<raft::Raft, log::Judge, raft_setup<raft::Raft::Setup>>(entry);
  entry.checkable.insert(entry.checkable.end(), {"log matching", "leader completeness", "open questions"});
  entry.usual_check = [](check::Options& o, Setting& setting) {
    o.entries = 0;
    o.entries_of = {{NodeId{1}, 1}};
    o.budget = {.crashes = 1, .recoveries = 1, .timeouts = 1};
    setting.variant = "no-pre-vote";
    setting.parameters["batch"] = "1";
    setting.parameters["extras"] = "1";
    setting.parameters["patience"] = "120";
  };
  return entry;
}

}  // namespace conclave::catalogue
