#include "live/replica.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "live/part_file.hpp"
#include "protocols/raft/objection.hpp"
#include "sim/direct.hpp"
#include "sim/stage_of.hpp"
#include "trace/merge.hpp"

namespace conclave::live {
namespace {

using raft::Raft;
using Server = Replica<Raft>;
using log::Committed;
using log::Propose;

// Servers in one process, with disks of their own and links that lose what is sent to who is down.
class Cluster {
 public:
  using Setup = Raft::Setup (*)(NodeId);

  explicit Cluster(std::uint32_t count, bool traced = false, Setup setup = usual)
      : members_(NodeSet::range({1}, count)), traced_(traced), setup_(setup) {
    std::string name = (std::filesystem::temp_directory_path() / "replica-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    for (NodeId node : members_) start(node);
  }
  ~Cluster() {
    servers_.clear();
    std::filesystem::remove_all(folder_);
  }

  void start(NodeId node) {
    Server::Ports ports = {.send = [this, node](NodeId to, ByteView bytes) { post(node, to, bytes); },
                           .event = [this, node](const log::Spec::Event& event) { see(node, event); },
                           .failed = [](const storage::Failure& why) { FAIL() << why.text; },
                           .objection =
                               [](const Raft& at, NodeId from, const Raft::Message& message) {
                                 return std::string(raft::objection(at, from, message));
                               }};
    if (traced_) {
      parts_[node] = std::make_unique<PartFile>(part(node));
      ports.trace = [this, node](bool comes_back) {
        return parts_[node]->open({.protocol = "raft", .world = "live", .nodes = members_}, node, comes_back);
      };
    }
    auto opened = Server::open(
        loop, {.self = node, .members = members_, .data = folder_ + "/" + std::to_string(node.value)},
        setup_(node), std::move(ports));
    ASSERT_TRUE(opened) << opened.error().text;
    servers_[node] = std::move(*opened);
  }
  static Raft::Setup usual(NodeId) {
    return {.heartbeat_ticks = 40, .patience_ticks = 200, .keep_entries = 2};
  }
  // The first one leads, and what it does not say by itself nobody ever hears.
  static Raft::Setup without_heartbeats(NodeId node) {
    constexpr std::uint64_t an_hour = 3'600'000;
    return {.heartbeat_ticks = an_hour,
            .patience_ticks = node == NodeId{1} ? 20 : an_hour,
            .check_quorum = false};
  }
  std::string part(NodeId node) const { return folder_ + "/" + std::to_string(node.value) + ".jsonl"; }
  std::expected<trace::Merged, std::string> merged() const {
    std::vector<trace::Part> parts;
    for (NodeId node : members_) {
      std::ifstream file(part(node), std::ios::binary);
      auto read = trace::read_parts(file, part(node));
      if (!read) return std::unexpected(read.error());
      std::ranges::move(*read, std::back_inserter(parts));
    }
    return trace::merge(parts);
  }
  // As by kill -9, but for what the disk was given already.
  void stop(NodeId node) {
    servers_.erase(node);
    committed[node].clear();
    restored.erase(node);
  }

  template <class Condition>
  bool comes_true(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < deadline)
      loop.run_for(std::chrono::milliseconds(1));
    return condition();
  }

  Server& server(NodeId node) { return *servers_.at(node); }
  std::optional<NodeId> leader() const {
    for (const auto& [node, server] : servers_) {
      if (server->node().leads()) return node;
    }
    return std::nullopt;
  }
  void propose(NodeId node, std::uint64_t serial) {
    server(node).command(Propose{serial, serial, Payload(Bytes(256, static_cast<std::uint8_t>(serial)))});
  }
  bool has_all(NodeId node, NodeId client, std::uint64_t serials) const {
    const auto found = committed.find(node);
    if (found == committed.end()) return false;
    const auto last = found->second.find(client);
    return last != found->second.end() && last->second >= serials;
  }

  boost::asio::io_context loop;
  std::map<NodeId, std::map<NodeId, std::uint64_t>> committed;  // the last serial of each client, by server
  std::map<NodeId, std::uint64_t> restored;
  std::uint64_t sent = 0;

 private:
  void post(NodeId from, NodeId to, ByteView bytes) {
    ++sent;
    boost::asio::post(loop, [this, from, to, copy = std::vector(bytes.begin(), bytes.end())] {
      const auto found = servers_.find(to);
      if (found == servers_.end()) return;
      const auto taken = found->second->deliver(from, copy);
      EXPECT_TRUE(taken) << taken.error();
    });
  }
  void see(NodeId node, const log::Spec::Event& event) {
    if (const auto* place = std::get_if<Committed>(&event)) {
      if (!place->entry) return;
      const Bytes expected(256, static_cast<std::uint8_t>(place->entry->serial));
      EXPECT_EQ(place->entry->bytes, Payload(expected));
      committed[node][place->entry->client] = place->entry->serial;
    } else if (const auto* state = std::get_if<log::Restored>(&event)) {
      restored[node] = state->index;
    }
  }

  NodeSet members_;
  bool traced_;
  Setup setup_;
  std::string folder_;
  std::map<NodeId, std::unique_ptr<PartFile>> parts_;
  std::map<NodeId, std::unique_ptr<Server>> servers_;
};

TEST(Replica, AServerAloneCommitsWhatItsDiskHasAndHasItAgainAfterACrash) {
  Cluster cluster(1);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  for (std::uint64_t serial = 1; serial <= 100; ++serial) cluster.propose({1}, serial);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all({1}, {1}, 100); }));
  EXPECT_LT(cluster.server({1}).flushes(), 20u) << "what comes together is flushed together";
  cluster.stop({1});
  cluster.start({1});
  EXPECT_TRUE(cluster.comes_true([&] { return cluster.has_all({1}, {1}, 100); }));
}

TEST(Replica, ThreeServersAgreeAndOneThatWasDownCatchesUp) {
  Cluster cluster(3);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  const NodeId leader = *cluster.leader();
  const NodeId other = {leader.value % 3 + 1};
  for (std::uint64_t serial = 1; serial <= 50; ++serial) {
    cluster.propose(leader, serial);
    cluster.propose(other, serial);
  }
  for (std::uint32_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(cluster.comes_true(
        [&] { return cluster.has_all({id}, leader, 50) && cluster.has_all({id}, other, 50); }));
  }
  cluster.stop(leader);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  for (std::uint64_t serial = 51; serial <= 60; ++serial) cluster.propose(other, serial);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all(other, other, 60); }));
  cluster.start(leader);
  EXPECT_TRUE(cluster.comes_true([&] { return cluster.has_all(leader, other, 60); }));
}

TEST(Replica, AllServersDownAtOnceLoseNothingThatWasCommitted) {
  Cluster cluster(3);
  for (std::uint64_t round = 1; round <= 5; ++round) {
    ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
    const NodeId leader = *cluster.leader();
    cluster.propose({1}, round);
    ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all(leader, {1}, round); }));
    for (std::uint32_t id = 1; id <= 3; ++id) cluster.stop({id});
    for (std::uint32_t id = 1; id <= 3; ++id) cluster.start({id});
    ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all({2}, {1}, round); })) << round;
  }
}

TEST(Replica, ASnapshotReplacesTheLogOnDiskAndGoesToWhoMissedTooMuch) {
  Cluster cluster(3);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  const NodeId leader = *cluster.leader();
  const NodeId away = {leader.value % 3 + 1};
  cluster.stop(away);
  for (std::uint64_t serial = 1; serial <= 30; ++serial) cluster.propose(leader, serial);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all(leader, leader, 30); }));
  cluster.server(leader).command(log::Capture{});
  cluster.server(leader).command(log::Compact{Payload(Bytes(100'000, 7))});
  const std::uint64_t saved = cluster.server(leader).node().snapshot->last.index.value;
  cluster.start(away);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.restored.contains(away); }));
  EXPECT_EQ(cluster.restored[away], saved);
  // It answers when its disk has the snapshot.
  ASSERT_TRUE(cluster.comes_true([&] {
    const auto* leads = std::get_if<Raft::Leader>(&cluster.server(leader).node().role);
    return leads && leads->others.at(away).match.value >= saved;
  }));
  for (const NodeId node : {leader, away}) {
    const Bulk& state = cluster.server(node).node().snapshot->state;
    EXPECT_TRUE(state.in_memory().empty()) << "it lies on the disk";
    EXPECT_EQ(state, Bulk(Payload(Bytes(100'000, 7))));
  }
  cluster.stop(leader);
  cluster.stop(away);
  cluster.start(leader);
  cluster.start(away);
  EXPECT_EQ(cluster.restored[leader], saved);
  EXPECT_EQ(cluster.restored[away], saved);
  EXPECT_EQ(cluster.server(away).node().snapshot->state.size(), 100'000u);
  cluster.propose(leader, 31);
  EXPECT_TRUE(cluster.comes_true([&] { return cluster.has_all(away, leader, 31); }));
}

// What servers write of themselves is one run, deaths and disks and all, and the simulator takes every step
// of it.
TEST(Replica, ATracedClusterIsRepeatedByTheSimulatorToTheLastState) {
  Cluster cluster(3, true);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  const NodeId leader = *cluster.leader();
  const NodeId other = {leader.value % 3 + 1};
  const NodeId third = {other.value % 3 + 1};
  for (std::uint64_t serial = 1; serial <= 10; ++serial) {
    cluster.propose(leader, serial);
    cluster.propose(other, serial);
  }
  cluster.server(other).command(log::Read{1});
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all(other, leader, 10); }));
  cluster.server(leader).command(log::Capture{});
  cluster.server(leader).command(log::Compact{Payload(Bytes(100, 7))});
  cluster.stop(leader);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  cluster.propose(third, 1);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all(other, third, 1); }));
  cluster.start(leader);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all(leader, third, 1); }));

  const auto merged = cluster.merged();
  ASSERT_TRUE(merged) << merged.error();
  const trace::Run& run = merged->run;
  for (const trace::Kind kind : {trace::Kind::crash, trace::Kind::recover, trace::Kind::synced,
                                 trace::Kind::timer, trace::Kind::command})
    EXPECT_NE(std::ranges::find(run.steps, kind, &trace::Step::kind), run.steps.end())
        << enumerator_name(kind);
  const auto directions = trace::directions_of(run.steps);
  ASSERT_TRUE(directions) << directions.error();
  trace::Repetition repetition(run.steps);
  sim::StageOf<Raft> stage(run.header.nodes, Cluster::usual({1}), &repetition);
  const sim::Followed followed = sim::run_directions(stage, *directions, &repetition);
  EXPECT_EQ(followed.problem, "");
  EXPECT_EQ(followed.broken, "");
  EXPECT_EQ(followed.directions, directions->size());
}

TEST(Replica, FollowersApplyWithoutWaitingForAHeartbeatWhatOneOfThemProposed) {
  Cluster cluster(3, false, Cluster::without_heartbeats);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  for (std::uint64_t serial = 1; serial <= 5; ++serial) {
    for (const std::uint32_t proposer : {1, 2}) {
      cluster.propose({proposer}, serial);
      for (std::uint32_t id = 1; id <= 3; ++id)
        ASSERT_TRUE(cluster.comes_true([&] { return cluster.has_all({id}, {proposer}, serial); }))
            << id << " does not hear of what " << proposer << " proposed";
    }
  }
  const std::uint64_t sent = cluster.sent;
  cluster.loop.run_for(std::chrono::milliseconds(30));
  EXPECT_EQ(cluster.sent, sent) << "there is nothing to say";
}

// One of three servers. The others are this test, which hears what it sends.
class Leader {
 public:
  Leader() {
    std::string name = (std::filesystem::temp_directory_path() / "replica-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    auto opened = Server::open(loop_, {.self = {1}, .members = NodeSet::range({1}, 3), .data = folder_},
                               Cluster::without_heartbeats({1}),
                               {.send = [this](NodeId to, ByteView bytes) { hear(to, bytes); },
                                .event = [](const log::Spec::Event&) {},
                                .failed = [](const storage::Failure& why) { FAIL() << why.text; }});
    server_ = std::move(opened.value());
    until([&] { return raft().ballot.term.value == 1; });
    say(2, raft::VoteReply{raft().ballot.term, true, raft().log.last()});
    until([&] { return raft().leads() && durable() == 1; });
    for (const std::uint32_t peer : {2, 3}) match(peer, 1);
    end_turn();
    heard_.clear();
  }
  ~Leader() {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  // On its disk, and sent to the others.
  void propose(std::uint64_t serial) { server_->command(Propose{serial, serial, {}}); }
  void propose_and_write(std::uint64_t count) {
    for (std::uint64_t serial = 1; serial <= count; ++serial) propose(serial);
    until([&] { return durable() == count + 1; });
    heard_.clear();
  }
  void match(std::uint32_t peer, std::uint64_t index) {
    say(peer, raft::AppendReply{.term = raft().ballot.term, .matched = raft::Index{index}});
  }
  void end_turn() {
    loop_.restart();
    loop_.poll();
  }
  std::vector<Raft::Message> heard_by(std::uint32_t peer) { return std::exchange(heard_[{peer}], {}); }
  const Raft& raft() const { return server_->node(); }

 private:
  void hear(NodeId to, ByteView bytes) {
    const auto message = decode<Raft::Message>(numbers_of(bytes));
    ASSERT_TRUE(message);
    heard_[to].push_back(*message);
    if (const auto* question = std::get_if<Raft::PreVote>(&*message)) asked_ = question->term;
  }
  void say(std::uint32_t from, const Raft::Message& message) {
    EXPECT_TRUE(server_->deliver({from}, bytes_of(encode(message))));
  }
  std::uint64_t durable() const { return std::get<Raft::Leader>(raft().role).durable.value; }
  template <class Condition>
  void until(Condition condition) {
    for (int tries = 0; tries < 20'000 && !condition(); ++tries) {
      if (asked_) say(2, Raft::PreVoteReply{*std::exchange(asked_, {}), true});
      loop_.restart();
      loop_.run_one_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(condition());
  }

  boost::asio::io_context loop_;
  std::string folder_;
  std::unique_ptr<Server> server_;
  std::map<NodeId, std::vector<Raft::Message>> heard_;
  std::optional<raft::Term> asked_;
};

std::vector<Raft::Message> notice(std::uint64_t index) { return {Raft::CommitNotice{{{1}, {index}}}}; }

TEST(ReplicaNotices, OfManyInATurnOnlyTheLastLeaves) {
  Leader leader;
  leader.propose_and_write(4);
  for (std::uint64_t index = 2; index <= 5; ++index) leader.match(2, index);
  EXPECT_EQ(leader.raft().committed.value, 5u);
  EXPECT_TRUE(leader.heard_by(2).empty());
  leader.end_turn();
  EXPECT_EQ(leader.heard_by(2), notice(5));
  EXPECT_EQ(leader.heard_by(3), notice(5));
  leader.end_turn();
  EXPECT_TRUE(leader.heard_by(2).empty()) << "and that only once";
}

TEST(ReplicaNotices, NoneLeavesToWhomEntriesLeaveInTheSameTurn) {
  Leader leader;
  leader.propose_and_write(4);  // as many as may be under way
  leader.match(2, 5);
  leader.propose(5);
  leader.end_turn();
  const auto heard = leader.heard_by(2);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(std::get<Raft::Append>(heard[0]).committed.value, 5u);
  EXPECT_EQ(leader.heard_by(3), notice(5)) << "it has to answer before it gets more";
}

TEST(ReplicaNotices, EntriesThatLeftBeforeDoNotSayWhatWasCommittedAfterThem) {
  Leader leader;
  leader.propose_and_write(1);
  leader.propose(2);
  leader.match(2, 2);
  leader.end_turn();
  const auto heard = leader.heard_by(2);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(std::get<Raft::Append>(heard[0]).committed.value, 1u);
  EXPECT_EQ(heard[1], notice(2)[0]);
}

TEST(Replica, MessagesOfWhoIsTracedAreReadByWhoIsNot) {
  Cluster cluster(2, true);
  ASSERT_TRUE(cluster.comes_true([&] { return cluster.leader().has_value(); }));
  const Raft::Message message = Raft::PreVoteReply{};
  Bytes bytes = encode(message);
  EXPECT_TRUE(cluster.server({1}).deliver({2}, bytes_of(bytes))) << "nobody has to trace";
  encode(Stamp{}, bytes);
  EXPECT_TRUE(cluster.server({1}).deliver({2}, bytes_of(bytes)))
      << "a stamp that cannot be right is left out";
  bytes.push_back(0);
  EXPECT_FALSE(cluster.server({1}).deliver({2}, bytes_of(bytes)));
  Cluster untraced(1);
  bytes.pop_back();
  EXPECT_TRUE(untraced.server({1}).deliver({2}, bytes_of(bytes)));
}

}  // namespace
}  // namespace conclave::live
