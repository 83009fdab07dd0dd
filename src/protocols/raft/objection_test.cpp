#include "protocols/raft/objection.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "core/random.hpp"

namespace conclave::raft {
namespace {

using P = Raft;

constexpr Position at(std::uint64_t term, std::uint64_t index) { return {{term}, {index}}; }
Entry entry(std::uint64_t term) { return {{term}, {}, {}}; }
Payload bytes(std::size_t count) { return Payload(Bytes(count, 7)); }

struct Node {
  P::Out out;
  P node;
  explicit Node(std::uint32_t id) : node(P::start({id}, NodeSet::range({1}, 3), {.pre_vote = false}, out)) {}
  template <class M>
  void hear(std::uint32_t from, const M& message) {
    EXPECT_EQ(objection(node, {from}, P::Message(message)), "");
    out.clear();
    node.on_message(out, {from}, message);
    hear_of_writes(node, out);
  }
  template <class C>
  void ask(const C& command) {
    out.clear();
    node.on_command(out, command);
    hear_of_writes(node, out);
  }
  std::string_view objects(std::uint32_t from, P::Message message) const {
    return objection(node, {from}, message);
  }
};

// Leads in term 1, and what it holds is committed.
Node leader() {
  Node one(1);
  one.node.on_timer(one.out, P::Timer::election);
  hear_of_writes(one.node, one.out);
  one.hear(2, VoteReply{{1}, true, one.node.log.last()});
  one.hear(2, AppendReply{.term = {1}, .matched = Index{1}});
  EXPECT_TRUE(one.node.leads());
  EXPECT_EQ(one.node.committed, Index{1});
  return one;
}
// Follows member 1 in term 2, with the first two of three entries committed.
Node follower() {
  Node two(2);
  two.hear(1, P::Append{.term = {2}, .entries = {entry(1), entry(2), entry(2)}, .committed = {2}});
  EXPECT_EQ(two.node.committed, Index{2});
  return two;
}

TEST(Objection, NobodyAgreesWithALogBeyondItsEnd) {
  const Node one = leader();
  EXPECT_EQ(one.objects(2, AppendReply{.term = {1}, .matched = Index{1}}), "");
  EXPECT_NE(one.objects(2, AppendReply{.term = {1}, .matched = Index{2}}), "");
  EXPECT_NE(one.objects(2, AppendReply{.term = {1}, .matched = Index{1ull << 40}}), "");
  EXPECT_EQ(one.objects(2, AppendReply{.term = {0}, .matched = Index{2}}), "") << "about an earlier leader";
  EXPECT_NE(one.objects(2, AppendReply{.term = {1}, .matched = Index{1}, .round = 1}), "");
}

TEST(Objection, ATermHasOneLeader) {
  const Node one = leader();
  EXPECT_NE(one.objects(2, P::Append{.term = {1}}), "");
  EXPECT_NE(one.objects(2, P::InstallSnapshot{.term = {1}, .about = {.last = at(1, 5)}}), "");
  EXPECT_EQ(one.objects(2, P::Append{.term = {2}}), "") << "a later leader";
}

TEST(Objection, WhatIsCommittedStays) {
  const Node two = follower();
  EXPECT_NE(two.objects(3, P::Append{.term = {3}, .previous = at(1, 1), .entries = {entry(3)}}), "");
  EXPECT_NE(two.objects(3, P::Append{.term = {3}, .entries = {entry(2), entry(2)}}), "");
  EXPECT_EQ(two.objects(3, P::Append{.term = {3}, .previous = at(2, 2), .entries = {entry(3)}}), "");
  EXPECT_EQ(two.objects(3, P::Append{.term = {1}, .entries = {entry(1), entry(1)}}), "")
      << "from a leader of long ago, to whom nobody listens";
  EXPECT_NE(two.objects(1, P::InstallSnapshot{.term = {3}, .about = {.last = at(1, 9)}}), "");
}

TEST(Objection, TermsDoNotFallAndDoNotRunAhead) {
  const Node two = follower();
  EXPECT_NE(two.objects(1, P::Append{.term = {2}, .previous = at(2, 2), .entries = {entry(1)}}), "");
  EXPECT_NE(two.objects(1, P::Append{.term = {2}, .previous = at(2, 3), .entries = {entry(3)}}), "");
  EXPECT_NE(two.objects(1, P::Append{.term = {0}}), "");
  EXPECT_NE(two.objects(1, RequestVote{{~0ull}, at(2, 3)}), "");
  EXPECT_NE(two.objects(1, P::PreVoteReply{{1ull << 40}, false}), "");
  EXPECT_NE(two.objects(1, RequestVote{{3}, at(3, 3)}), "") << "its log is of a term that has not begun";
  EXPECT_NE(two.objects(1, RequestVote{{3}, at(0, 3)}), "");
  EXPECT_EQ(two.objects(1, RequestVote{{1'000'000}, at(2, 3)}), "") << "it was cut off for long";
}

TEST(Objection, MembersMakeAMajorityAndFitIntoMemory) {
  const Node two = follower();
  const auto with = [](const Configuration& members) {
    return P::Append{.term = {2}, .previous = at(2, 3), .entries = {{{2}, {}, members}}};
  };
  EXPECT_EQ(two.objects(1, with({.voters = {{1}, {2}}})), "");
  EXPECT_NE(two.objects(1, with({.outgoing = {{1}}})), "");
  EXPECT_NE(two.objects(1, with({.voters = NodeSet::range({1}, 4'000'000'000)})), "");
  EXPECT_NE(two.objects(1, with({.voters = {{1}}, .learners = NodeSet::range({1}, 5'000)})), "");
  const Node one = leader();
  EXPECT_NE(one.objects(2, P::ForwardWish{conclave::log::Reconfigure{.voters = {}}}), "");
  EXPECT_NE(one.objects(2, P::ForwardWish{conclave::log::Reconfigure{.voters = NodeSet::range({1}, 5'000)}}),
            "");
}

TEST(Objection, ASnapshotKeepsToItsSize) {
  const Node two = follower();
  const auto part = [](std::uint64_t offset, std::uint64_t size, std::size_t count) {
    return P::InstallSnapshot{.term = {2},
                              .about = {.last = at(2, 9), .configuration = {.voters = {{1}, {2}}}},
                              .offset = offset,
                              .size = size,
                              .part = bytes(count)};
  };
  EXPECT_EQ(two.objects(1, part(0, 10, 10)), "");
  EXPECT_EQ(two.objects(1, part(0, 0, 0)), "");
  EXPECT_NE(two.objects(1, part(0, 10, 11)), "");
  EXPECT_NE(two.objects(1, part(11, 10, 0)), "");
  EXPECT_NE(two.objects(1, part(~0ull, 10, 5)), "");
  EXPECT_NE(two.objects(1, part(0, 1ull << 40, 5)), "");
  auto with_state = part(0, 10, 10);
  with_state.about.state = bytes(3);
  EXPECT_NE(two.objects(1, with_state), "");
}

TEST(Objection, ASnapshotThatGetsShorterBeginsAnew) {
  Node two = follower();
  P::InstallSnapshot part = {.term = {2},
                             .about = {.last = at(2, 9), .configuration = {.voters = {{1}, {2}}}},
                             .size = 100,
                             .part = bytes(60)};
  two.hear(1, part);
  part.size = 50;
  part.part = bytes(50);
  two.hear(1, part);
  EXPECT_EQ(two.node.snapshot->state.size(), 50u);
}

TEST(Objection, NobodyHasMoreOfASnapshotThanThereIs) {
  Node one = leader();
  one.ask(conclave::log::Capture{});
  one.ask(conclave::log::Compact{bytes(20)});
  EXPECT_EQ(one.objects(2, P::SnapshotReply{{1}, {1}, 20}), "");
  EXPECT_NE(one.objects(2, P::SnapshotReply{{1}, {1}, 21}), "");
}

TEST(Objection, ANoticeContradictsNothingThatIsCommitted) {
  const Node two = follower();
  EXPECT_EQ(two.objects(1, P::CommitNotice{at(1, 1)}), "");
  EXPECT_EQ(two.objects(1, P::CommitNotice{at(7, 9)}), "") << "there may be more than it knows";
  EXPECT_NE(two.objects(1, P::CommitNotice{at(2, 1)}), "");
  EXPECT_NE(two.objects(1, P::CommitNotice{}), "");
  EXPECT_NE(two.objects(1, P::CommitNotice{at(0, 3)}), "");
  EXPECT_NE(two.objects(1, P::CommitNotice{at(1, ~0ull)}), "");
}

TEST(Objection, EverybodyForwardsItsOwnCommandsInTheirOrder) {
  const Node one = leader();
  const auto forward = [](std::uint64_t oldest, std::vector<Command> commands) {
    return P::Forward{oldest, std::move(commands)};
  };
  EXPECT_EQ(one.objects(2, forward(1, {{{2}, 1}, {{2}, 2}})), "");
  EXPECT_NE(one.objects(3, forward(1, {{{2}, 1}})), "");
  EXPECT_NE(one.objects(2, forward(1, {{{2}, 2}, {{2}, 1}})), "");
  EXPECT_NE(one.objects(2, forward(1, {{{2}, 1}, {{2}, 1}})), "");
  EXPECT_NE(one.objects(2, forward(3, {{{2}, 1}})), "");
  EXPECT_NE(one.objects(2, forward(0, {{{2}, 0}})), "");
  EXPECT_NE(one.objects(2, forward(1, {{{2}, ~0ull}})), "");
  EXPECT_NE(one.objects(2, forward(1, {})), "");
}

// Servers that keep the rules, with messages that are lost, late and repeated, crashes that forget what the
// disk had not yet, snapshots, other members and other leaders: nobody ever objects.
class Honest {
 public:
  explicit Honest(std::uint64_t seed) : seed_(seed) {
    for (std::uint32_t id = 1; id <= 4; ++id) {
      nodes_[{id}] = P::start({id}, everybody, setup(), out_);
      settle({id});
    }
  }
  void step() {
    const NodeId node = {static_cast<std::uint32_t>(1 + below(4))};
    P& one = nodes_.at(node);
    out_.clear();
    switch (below(12)) {
      case 0: one.on_timer(out_, below(3) == 0 ? P::Timer::election : P::Timer::heartbeat); break;
      case 1: one.on_timer(out_, P::Timer::retry); break;
      case 2: one.on_command(out_, conclave::log::Propose{++serials_[node], 1, bytes(below(40))}); break;
      case 3: one.on_command(out_, conclave::log::Read{++serials_[node]}); break;
      case 4: return rarely(node);
      default: return deliver();
    }
    settle(node);
  }
  std::uint64_t committed() const {
    std::uint64_t most = 0;
    for (const auto& [id, node] : nodes_) most = std::max(most, node.committed.value);
    return most;
  }
  std::uint64_t installed = 0;

 private:
  struct Parcel {
    NodeId from;
    NodeId to;
    P::Message message;
  };
  inline static const NodeSet everybody = NodeSet::range({1}, 4);
  static P::Setup setup() { return {.most_entries = 3, .part_bytes = 16, .keep_entries = 2}; }

  std::uint64_t below(std::uint64_t bound) {
    return ScrambledBits(scramble(seed_ + scramble(++draws_))).below(bound);
  }
  void rarely(NodeId node) {
    P& one = nodes_.at(node);
    switch (below(8)) {
      case 0:
        one = disks_.contains(node) ? P::recover(node, everybody, setup(), disks_.at(node), out_)
                                    : P::start(node, everybody, setup(), out_);
        break;
      case 1: one.on_command(out_, conclave::log::Capture{}); break;
      case 2:
        if (one.capture) one.on_command(out_, conclave::log::Compact{bytes(below(100))});
        break;
      case 3:
        one.on_command(out_, conclave::log::Transfer{{static_cast<std::uint32_t>(1 + below(4))}});
        break;
      case 4:
        if (below(3) == 0)
          one.on_command(out_, conclave::log::Reconfigure{
                                   .voters = NodeSet::range({1}, static_cast<std::uint32_t>(3 + below(2)))});
        break;
      case 5: one.on_timer(out_, P::Timer::quorum); break;
      default: one.on_command(out_, conclave::log::Suspect{{static_cast<std::uint32_t>(1 + below(4))}});
    }
    settle(node);
  }
  void deliver() {
    if (parcels_.empty()) return;
    const std::size_t which = below(4) == 0 ? below(parcels_.size()) : 0;
    const Parcel parcel = parcels_[which];
    const std::uint64_t fate = below(20);
    if (fate > 0) parcels_.erase(parcels_.begin() + static_cast<std::ptrdiff_t>(which));
    if (fate == 1) return;
    P& one = nodes_.at(parcel.to);
    ASSERT_EQ(objection(one, parcel.from, parcel.message), "") << parcel.message.index();
    out_.clear();
    std::visit([&](const auto& message) { one.on_message(out_, parcel.from, message); }, parcel.message);
    settle(parcel.to);
  }
  // The disk takes no time.
  void settle(NodeId node) {
    hear_of_writes(nodes_.at(node), out_);
    for (const Write& write : out_.writes) {
      disks_[node].take(write);
      installed += write.snapshot ? 1 : 0;
    }
    for (const auto* sends : {&out_.early, &out_.sends})
      for (const auto& send : *sends) parcels_.push_back({node, send.to, send.message});
    while (parcels_.size() > 60) parcels_.erase(parcels_.begin() + static_cast<std::ptrdiff_t>(below(60)));
    out_.clear();
  }

  std::uint64_t seed_;
  std::uint64_t draws_ = 0;
  P::Out out_;
  std::map<NodeId, P> nodes_;
  std::map<NodeId, P::Durable> disks_;
  std::map<NodeId, std::uint64_t> serials_;
  std::deque<Parcel> parcels_;
};

TEST(Objection, ThereIsNoneToWhoKeepsTheRules) {
  std::uint64_t committed = 0;
  std::uint64_t installed = 0;
  for (std::uint64_t seed = 1; seed <= 60 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Honest servers(seed);
    for (int i = 0; i < 6'000 && !HasFatalFailure(); ++i) servers.step();
    committed += servers.committed();
    installed += servers.installed;
  }
  EXPECT_GT(committed, 2'000u);
  EXPECT_GT(installed, 100u);
}

}  // namespace
}  // namespace conclave::raft
