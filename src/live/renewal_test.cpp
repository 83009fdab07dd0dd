#include "live/renewal.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <variant>

#include "core/random.hpp"

namespace conclave::live {
namespace {

using Phase = Renewal::Phase;

Renewal member(std::uint32_t self, std::uint32_t of) {
  return {.self = {self}, .everyone = NodeSet::range({1}, of)};
}

// Members whose messages wait in channels until somebody delivers them. Inside an epoch an algorithm without
// fault is imagined: it lets in whom it likes, one at a time.
struct Town {
  using Word = std::variant<Ready, Epoch>;
  std::map<NodeId, Renewal> nodes;
  std::map<std::pair<NodeId, NodeId>, std::deque<Word>> channels;
  std::map<NodeId, Epoch> inside;          // who, and in which epoch
  std::map<std::uint64_t, Epoch> entered;  // by counter: what fences are made of
  std::uint64_t entries = 0;

  explicit Town(std::uint32_t of) {
    for (std::uint32_t i = 1; i <= of; ++i) nodes[{i}] = member(i, of);
  }

  void carry_out(NodeId from, const Renewal::Out& out) {
    for (const auto& send : out.sends) channels[{from, send.to}].push_back(send.ready);
    for (const auto& [to, epoch] : out.gone) channels[{from, to}].push_back(epoch);
  }
  template <class Act>
  void act(NodeId node, Act&& act) {
    Renewal::Out out;
    act(nodes[node], out);
    carry_out(node, out);
  }
  void want(NodeId node) {
    act(node, [](Renewal& r, auto& out) { r.want(out); });
  }
  void enter(NodeId node) {
    Renewal& r = nodes[node];
    if (r.phase != Phase::running || !r.wanted || inside.contains(node)) return;
    for (const auto& [other, epoch] : inside) {
      if (epoch == r.epoch) return;  // the algorithm sees to that
      ADD_FAILURE() << "node " << other.value << " is inside in epoch " << epoch.counter << ", and "
                    << node.value << " enters in " << r.epoch.counter;
    }
    inside[node] = r.epoch;
    EXPECT_EQ(entered.try_emplace(r.epoch.counter, r.epoch).first->second, r.epoch)
        << "the same fences again";
    r.hold();
    ++entries;
  }
  void leave(NodeId node) {
    if (inside.erase(node) == 0) return;
    act(node, [](Renewal& r, auto& out) {
      r.leave_be();
      r.let_go(out);
    });
  }
  // Another process takes its place. Its client died with it; the links say so to the others, at some time.
  void restart(NodeId node, std::uint64_t floor) {
    inside.erase(node);
    for (auto& [channel, words] : channels) {
      if (channel.first == node || channel.second == node) words.clear();
    }
    nodes[node] = member(node.value, static_cast<std::uint32_t>(nodes.size()));
    nodes[node].floor = floor;
    for (auto& [other, r] : nodes) {
      if (other != node) act(other, [](Renewal& it, auto& out) { it.renew(out); });
    }
  }
  void sleep(NodeId node) {
    if (inside.contains(node)) return;
    act(node, [](Renewal& r, auto& out) { r.sleep(out); });
  }
  bool deliver(NodeId from, NodeId to) {
    auto& words = channels[{from, to}];
    if (words.empty()) return false;
    const Word word = words.front();
    words.pop_front();
    act(to, [&](Renewal& r, auto& out) {
      if (const auto* ready = std::get_if<Ready>(&word)) return r.on_ready(out, from, *ready);
      r.on_gone(out, from, std::get<Epoch>(word));
    });
    return true;
  }
  void settle() {
    for (bool more = true; more;) {
      more = false;
      for (const auto& [from, r] : nodes) {
        for (const auto& [to, q] : nodes) {
          while (deliver(from, to)) more = true;
        }
      }
    }
  }
};

TEST(Renewal, BeginsWhenEverybodyIsReady) {
  Town town(3);
  town.want({1});
  EXPECT_EQ(town.nodes[{1}].phase, Phase::gathering);
  EXPECT_EQ(town.nodes[{1}].missing(), (NodeSet{{2}, {3}}));
  town.settle();
  for (const auto& [id, node] : town.nodes) {
    EXPECT_EQ(node.phase, Phase::running) << id.value;
    EXPECT_EQ(node.epoch, (Epoch{3, {1}}));  // 1, 4, 7… are the second member's
  }
}

TEST(Renewal, ALoneMemberBeginsAtOnce) {
  Town town(1);
  town.want({1});
  EXPECT_EQ(town.nodes[{1}].phase, Phase::running);
}

TEST(Renewal, WaitsForWhoIsInside) {
  Town town(3);
  town.want({2});
  town.settle();
  town.enter({2});
  town.restart({3}, 0);
  town.want({3});
  town.settle();
  EXPECT_EQ(town.nodes[{2}].phase, Phase::leaving);
  EXPECT_EQ(town.nodes[{3}].phase, Phase::gathering);
  EXPECT_EQ(town.nodes[{3}].missing(), NodeSet{NodeId{2}});
  town.leave({2});
  town.settle();
  EXPECT_EQ(town.nodes[{3}].phase, Phase::running);
  EXPECT_GT(town.nodes[{3}].epoch.counter, 1u);
}

TEST(Renewal, WhoForgotIsNotCountedOn) {
  Town town(3);
  town.want({3});
  town.settle();
  const Epoch before = town.nodes[{3}].epoch;
  // Nobody notices the restart but by what the new process says; and that is less than what the others know.
  town.nodes[{2}] = member(2, 3);
  town.want({2});
  EXPECT_LT(town.nodes[{2}].epoch, before);
  town.settle();
  EXPECT_EQ(town.nodes[{2}].phase, Phase::running);
  EXPECT_GT(town.nodes[{3}].epoch, before);
  EXPECT_EQ(town.nodes[{3}].epoch, town.nodes[{2}].epoch);
}

TEST(Renewal, WhoProposesTheSameAgainIsSomebodyElse) {
  Town town(2);
  town.want({2});
  town.settle();
  const Epoch before = town.nodes[{1}].epoch;
  town.nodes[{2}] = member(2, 2);
  town.want({2});
  EXPECT_EQ(town.nodes[{2}].epoch, before);
  town.settle();
  EXPECT_EQ(town.nodes[{2}].phase, Phase::running);
  EXPECT_GT(town.nodes[{1}].epoch, before);
}

TEST(Renewal, AnEvictedMemberIsNotWaitedFor) {
  Town town(3);
  for (std::uint32_t i : {1u, 2u}) town.nodes[{i}].absent.insert({3});
  town.want({1});
  for (int i = 0; i < 2; ++i) {
    town.deliver({1}, {2});
    town.deliver({2}, {1});
  }
  EXPECT_EQ(town.nodes[{1}].phase, Phase::running);
  EXPECT_EQ(town.nodes[{1}].members, NodeSet::range({1}, 2));
}

// It woke up, and knows of no epoch after the one that the others left without it.
TEST(Renewal, WhoWasLeftOutDoesNotProposeWhatOthersRan) {
  Town town(3);
  town.want({1});
  town.settle();
  for (std::uint32_t i : {1u, 2u}) town.nodes[{i}].absent.insert({3});
  town.act({1}, [](Renewal& r, auto& out) { r.renew(out); });
  for (int i = 0; i < 2; ++i) {
    town.deliver({1}, {2});
    town.deliver({2}, {1});
  }
  ASSERT_EQ(town.nodes[{1}].phase, Phase::running);
  const Epoch without = town.nodes[{1}].epoch;
  for (std::uint32_t i : {1u, 2u}) town.nodes[{i}].absent.clear();
  town.act({3}, [](Renewal& r, auto& out) {
    r.wanted = true;
    r.renew(out);
  });
  town.settle();
  ASSERT_EQ(town.nodes[{3}].phase, Phase::running);
  EXPECT_GT(town.nodes[{3}].epoch.counter, without.counter);
}

TEST(Renewal, AMinorityNeverBegins) {
  Town town(3);
  town.nodes[{1}].absent = {{2}, {3}};
  town.want({1});
  EXPECT_EQ(town.nodes[{1}].phase, Phase::asleep);
  Renewal::Out out;
  town.nodes[{2}].on_ready(out, {1}, {{9, {1}}, NodeSet{NodeId{1}, NodeId{2}}, false});
  EXPECT_EQ(town.nodes[{2}].phase, Phase::running) << "two of three are enough";
  town.nodes[{3}].on_ready(out, {1}, {{9, {1}}, NodeSet{NodeId{1}}, false});
  EXPECT_EQ(town.nodes[{3}].phase, Phase::asleep) << "one is not";
}

TEST(Renewal, WhoIsInsideAndAloneLeavesForAnEpochWithEverybody) {
  Town town(3);
  town.want({1});
  town.settle();
  town.enter({1});
  const Epoch before = town.nodes[{1}].epoch;
  town.nodes[{1}].absent = {{2}, {3}};
  town.act({1}, [](Renewal& r, auto& out) { r.renew(out); });
  EXPECT_EQ(town.nodes[{1}].phase, Phase::leaving);
  town.leave({1});
  EXPECT_EQ(town.nodes[{1}].phase, Phase::gathering);
  town.nodes[{1}].absent.clear();
  town.settle();
  EXPECT_EQ(town.nodes[{1}].phase, Phase::running);
  EXPECT_GT(town.nodes[{2}].epoch, before);
}

TEST(Renewal, RefusesSetsThatMakeNoSense) {
  Renewal node = member(1, 3);
  Renewal::Out out;
  node.on_ready(out, {2}, {{5, {2}}, NodeSet{NodeId{2}, NodeId{3}}, false});             // not for us
  node.on_ready(out, {2}, {{5, {2}}, NodeSet{NodeId{1}, NodeId{2}, NodeId{9}}, false});  // a stranger
  node.on_ready(out, {2}, {{5, {3}}, NodeSet{NodeId{1}, NodeId{2}}, false});             // proposer absent
  EXPECT_EQ(node.phase, Phase::asleep);
  EXPECT_TRUE(out.sends.empty());
}

// Whatever happens, nobody enters while somebody is inside in another epoch; and when all is calm again,
// whoever wants gets in.
TEST(Renewal, NeverLetsTwoEpochsOverlapAndAlwaysGoesOn) {
  std::uint64_t entries = 0;
  std::uint64_t greatest = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Town town(static_cast<std::uint32_t>(2 + seed % 4));
    const auto size = static_cast<std::uint32_t>(town.nodes.size());
    std::uint64_t drawn = 0;
    const auto draw = [&](std::uint64_t bound) {
      return ScrambledBits(scramble(seed * 1'000'003 + ++drawn)).below(bound);
    };
    const auto anybody = [&] { return NodeId{static_cast<std::uint32_t>(1 + draw(size))}; };
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t what = draw(100);
      const NodeId node = anybody();
      if (what < 15)
        town.want(node);
      else if (what < 30)
        town.enter(node);
      else if (what < 45)
        town.leave(node);
      else if (what < 48)
        town.restart(node, draw(3) * 10);
      else if (what < 51)
        town.sleep(node);
      else
        town.deliver(anybody(), node);
      ASSERT_LE(town.inside.size(), 1u) << "seed " << seed;
    }
    // Act two.
    for (std::uint32_t i = 1; i <= size; ++i) town.leave({i});
    town.want({1});
    town.settle();
    ASSERT_EQ(town.nodes[{1}].phase, Phase::running) << "seed " << seed;
    for (const auto& [id, node] : town.nodes) ASSERT_EQ(node.epoch, town.nodes[{1}].epoch) << "seed " << seed;
    entries += town.entries;
    greatest = std::max(greatest, town.nodes[{1}].epoch.counter);
  }
  EXPECT_GT(entries, 3000u) << "a run in which nobody enters shows nothing";
  EXPECT_GT(greatest, 10u);
}

}  // namespace
}  // namespace conclave::live
