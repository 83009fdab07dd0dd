#include "core/node_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace conclave {
namespace {

using Ids = std::vector<std::uint32_t>;
using Runs = std::vector<NodeSet::Run>;

Ids ids(const NodeSet& set) {
  Ids out;
  for (const NodeId id : set) out.push_back(id.value);
  return out;
}

Runs runs(const NodeSet& set) { return {set.runs().begin(), set.runs().end()}; }

// A set whose runs stand inside the object itself has allocated nothing.
bool stands_in_place(const NodeSet& set) {
  const auto* object = reinterpret_cast<const std::byte*>(&set);
  const auto* data = reinterpret_cast<const std::byte*>(set.runs().data());
  return std::less_equal<>{}(object, data) && std::less<>{}(data, object + sizeof set);
}

TEST(NodeSet, IsEmptyAtFirst) {
  const NodeSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.size(), 0u);
  EXPECT_EQ(set.begin(), set.end());
  EXPECT_FALSE(set.contains({0}));
  EXPECT_THROW(set.min(), InvariantViolation);
  EXPECT_THROW(set.max(), InvariantViolation);
  EXPECT_THROW(set.after({1}), InvariantViolation);
}

TEST(NodeSet, IteratesInAscendingOrder) { EXPECT_EQ(ids({{9}, {2}, {3}, {7}, {2}}), (Ids{2, 3, 7, 9})); }

TEST(NodeSet, IsOneRunForConsecutiveIds) {
  EXPECT_EQ(runs(NodeSet::range({5}, 4)), (Runs{{5, 8}}));
  EXPECT_TRUE(NodeSet::range({5}, 0).empty());
}

TEST(NodeSet, JoinsTwoRunsWhenTheGapCloses) {
  NodeSet set = {{1}, {2}, {4}, {5}};
  set.insert({3});
  EXPECT_EQ(runs(set), (Runs{{1, 5}}));
  EXPECT_EQ(set.size(), 5u);
}

TEST(NodeSet, GrowsARunAtBothEnds) {
  NodeSet set = {{5}};
  set.insert({6});
  set.insert({4});
  EXPECT_EQ(runs(set), (Runs{{4, 6}}));
}

TEST(NodeSet, ForgetsAnIdInTheMiddleOfARun) {
  NodeSet set = NodeSet::range({1}, 5);
  set.erase({3});
  EXPECT_EQ(runs(set), (Runs{{1, 2}, {4, 5}}));
  EXPECT_EQ(set.size(), 4u);
}

TEST(NodeSet, ForgetsAnIdAtTheEndsOfARun) {
  NodeSet set = NodeSet::range({1}, 4);
  set.erase({1});
  set.erase({4});
  set.erase({9});
  EXPECT_EQ(ids(set), (Ids{2, 3}));
  set.erase({2});
  set.erase({3});
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set, NodeSet{});
}

TEST(NodeSet, ReachesTheGreatestId) {
  NodeSet set = {{UINT32_MAX}, {0}};
  EXPECT_EQ(ids(set), (Ids{0, UINT32_MAX}));
  set.insert({UINT32_MAX - 1});
  EXPECT_EQ(set.max(), NodeId{UINT32_MAX});
  EXPECT_EQ(set.after({UINT32_MAX}), NodeId{0});
  set.erase({UINT32_MAX});
  EXPECT_EQ(ids(set), (Ids{0, UINT32_MAX - 1}));
}

TEST(NodeSet, KnowsTheSuccessorOnARing) {
  const NodeSet set = {{2}, {3}, {7}};
  EXPECT_EQ(set.after({2}), NodeId{3});
  EXPECT_EQ(set.after({3}), NodeId{7});
  EXPECT_EQ(set.after({7}), NodeId{2});
  EXPECT_EQ(set.after({4}), NodeId{7});  // of one that is no member, too
  EXPECT_EQ(NodeSet{{5}}.after({5}), NodeId{5});
}

TEST(NodeSet, AppendsOnlyRunsBeyondAGap) {
  NodeSet set;
  EXPECT_TRUE(set.append({2, 4}));
  EXPECT_FALSE(set.append({3, 6}));  // overlaps
  EXPECT_FALSE(set.append({5, 6}));  // adjacent: it would be the same run
  EXPECT_FALSE(set.append({9, 8}));  // backwards
  EXPECT_TRUE(set.append({6, UINT32_MAX}));
  EXPECT_FALSE(set.append({0, 0}));
  EXPECT_FALSE(NodeSet{}.append({0, UINT32_MAX}));  // its size would not fit
}

TEST(NodeSet, EqualSetsHaveEqualRunsWhateverTheirHistory) {
  NodeSet a = NodeSet::range({1}, 20);
  for (std::uint32_t id = 2; id < 20; id += 2) a.erase({id});
  NodeSet b;
  for (const std::uint32_t id : {20u, 19u, 1u, 17u, 3u, 15u, 5u, 13u, 7u, 11u, 9u}) b.insert({id});
  EXPECT_EQ(ids(a), ids(b));
  EXPECT_EQ(a, b);
  EXPECT_EQ(runs(a), runs(b));
  EXPECT_NE(a, b.with({2}));
}

TEST(NodeSet, AMillionIdsCostTheSameBytesAsTen) {
  const NodeSet ten = NodeSet::range({1}, 10);
  const NodeSet million = NodeSet::range({1}, 1'000'000);
  EXPECT_EQ(million.runs().size(), ten.runs().size());
  EXPECT_EQ(million.runs().capacity(), ten.runs().capacity());
  EXPECT_TRUE(stands_in_place(million));
}

TEST(NodeSet, AllWithoutOneDoesNotAllocate) {
  const NodeSet all = NodeSet::range({1}, 1'000'000);
  const NodeSet peers = all.without({500'000});
  EXPECT_TRUE(stands_in_place(peers));
  EXPECT_EQ(peers.size(), 999'999u);
  EXPECT_EQ(all.size(), 1'000'000u);
}

TEST(NodeSet, NoSetOverEightConsecutiveIdsAllocates) {
  for (std::uint32_t members = 0; members < 256; ++members) {
    NodeSet set;
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      if (members >> bit & 1) set.insert({bit});
    }
    EXPECT_TRUE(stands_in_place(set));
  }
}

TEST(NodeSet, BehavesLikeAStandardSet) {
  std::mt19937 random(20240229);
  for (const std::uint32_t universe : {4u, 20u, 200u}) {
    NodeSet ours;
    NodeSet other;
    std::set<std::uint32_t> theirs;
    for (int step = 0; step < 3000; ++step) {
      const auto id = static_cast<std::uint32_t>(random() % universe);
      if (random() % 2 == 0) {
        ours.insert({id});
        theirs.insert(id);
      } else {
        ours.erase({id});
        theirs.erase(id);
      }
      ASSERT_EQ(ids(ours), Ids(theirs.begin(), theirs.end()));
      ASSERT_EQ(ours.size(), theirs.size());
      const auto probe = static_cast<std::uint32_t>(random() % universe);
      ASSERT_EQ(ours.contains({probe}), theirs.contains(probe));
      ASSERT_EQ(ours.intersects(NodeSet{{probe}, {id}}), theirs.contains(probe) || theirs.contains(id));
      if (theirs.empty()) continue;
      ASSERT_EQ(ours.min().value, *theirs.begin());
      ASSERT_EQ(ours.max().value, *theirs.rbegin());
      const auto next = theirs.upper_bound(probe);
      ASSERT_EQ(ours.after({probe}).value, next == theirs.end() ? *theirs.begin() : *next);
    }
  }
}

}  // namespace
}  // namespace conclave
