#include "protocols/mutex/voting_sets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace conclave::mutex {
namespace {

// Ids with gaps, so that a position is never mistaken for an id.
NodeSet members(std::uint32_t count) {
  NodeSet all;
  for (std::uint32_t i = 0; i < count; ++i) all.insert({10 + 3 * i});
  return all;
}

std::uint32_t common(const NodeSet& a, const NodeSet& b) {
  return static_cast<std::uint32_t>(std::ranges::count_if(a, [&](NodeId id) { return b.contains(id); }));
}

TEST(VotingSets, EverySetContainsItsOwnerAndMeetsEveryOther) {
  for (std::uint32_t count = 1; count <= 150; ++count) {
    const NodeSet all = members(count);
    const VotingSets sets = voting_sets(all);
    ASSERT_EQ(sets.size(), count);
    for (const auto& [owner, set] : sets) {
      EXPECT_TRUE(set.contains(owner)) << count << " members, owner " << owner.value;
      EXPECT_EQ(common(set, all), set.size());
      for (const auto& [other, their_set] : sets) {
        EXPECT_TRUE(set.intersects(their_set)) << count << " members: " << owner.value << ", " << other.value;
      }
    }
  }
}

TEST(VotingSets, AreLinesOfAPlaneWhereThereIsOne) {
  for (const std::uint32_t q : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u}) {
    const NodeSet all = members(q * q + q + 1);
    EXPECT_TRUE(VotingSystem(all).is_plane());
    const VotingSets sets = voting_sets(all);
    std::map<NodeId, std::uint32_t> memberships;
    for (const auto& [owner, set] : sets) {
      EXPECT_EQ(set.size(), q + 1);
      for (const NodeId id : set) ++memberships[id];
      for (const auto& [other, their_set] : sets) {
        EXPECT_EQ(common(set, their_set), owner == other ? q + 1 : 1) << "order " << q;
      }
    }
    EXPECT_EQ(memberships.size(), all.size());
    for (const auto& [id, count] : memberships) EXPECT_EQ(count, q + 1) << "order " << q;
  }
}

TEST(VotingSets, AreAGridWhereThereIsNoPlane) {
  // 6 and 10 are no prime powers: no plane of 43 or 111 points can be built.
  for (const std::uint32_t count : {2u, 4u, 43u, 111u}) {
    EXPECT_FALSE(plane_order(count));
    EXPECT_FALSE(VotingSystem(members(count)).is_plane());
  }
}

TEST(VotingSets, OfAGridHaveAtMostTwiceTheRootOfTheMembers) {
  for (std::uint32_t count = 1; count <= 150; ++count) {
    const NodeSet all = members(count);
    const VotingSystem system(all);
    if (system.is_plane()) continue;
    for (const NodeId member : all) EXPECT_LE(system.of(member).size(), 2 * std::sqrt(count)) << count;
  }
}

TEST(VotingSets, DifferencesOfASingerSetHitEveryResidueOnce) {
  for (const std::uint32_t q : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 11u, 13u, 16u}) {
    const auto set = singer_difference_set(q);
    ASSERT_EQ(set.size(), q + 1);
    EXPECT_EQ(set.front(), 0u);
    const std::uint32_t modulus = q * q + q + 1;
    std::vector<std::uint32_t> hits(modulus, 0);
    for (const std::uint32_t a : set) {
      for (const std::uint32_t b : set) ++hits[(a + modulus - b) % modulus];
    }
    EXPECT_EQ(hits[0], q + 1);
    EXPECT_TRUE(std::all_of(hits.begin() + 1, hits.end(), [](std::uint32_t n) { return n == 1; }));
  }
  EXPECT_TRUE(singer_difference_set(1).empty());
  EXPECT_TRUE(singer_difference_set(6).empty());
}

TEST(VotingSets, AreForMembersOnly) { EXPECT_THROW(VotingSystem(members(5)).of({11}), InvariantViolation); }

}  // namespace
}  // namespace conclave::mutex
