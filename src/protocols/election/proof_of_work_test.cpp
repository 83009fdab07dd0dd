#include "protocols/election/proof_of_work.hpp"

#include <gtest/gtest.h>

namespace conclave::election {
namespace {

using Out = ProofOfWork::Out;
using Block = ProofOfWork::Block;

ProofOfWork node(std::uint32_t id, Out& out, std::uint32_t confirmations = 2, std::uint32_t share = 0) {
  const NodeSet members = NodeSet::range({1}, 3);
  return ProofOfWork::start(
      {id}, members, {.members = members, .confirmations = confirmations, .attacker_share = share}, out);
}

Block block(std::uint32_t miner, std::uint32_t serial, const Block& parent) {
  return {.id = {{miner}, serial}, .parent = parent.id, .height = parent.height + 1};
}

TEST(ProofOfWork, TheWinnerOfALotProposesOnTopOfTheLongestChainItKnows) {
  Out out;
  ProofOfWork first = node(1, out);
  EXPECT_EQ(out.choices.size(), 1u);
  const Block theirs = block(2, 1, {});
  first.on_message(out, {2}, theirs);
  out.clear();
  first.on_timer(out, ProofOfWork::Timer::found);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(std::get<Block>(out.sends[0].message).parent, theirs.id);
}

TEST(ProofOfWork, OfTwoBranchesTheOneThatGrowsFirstWins) {
  Out out;
  ProofOfWork first = node(1, out, 10);
  const Block a = block(2, 1, {});
  const Block b = block(3, 1, {});
  const Block c = block(3, 2, b);
  first.on_message(out, {2}, a);
  first.on_message(out, {3}, b);
  EXPECT_EQ(first.head, a);
  first.on_message(out, {3}, c);
  EXPECT_EQ(first.head, c);
}

TEST(ProofOfWork, ABlockThatComesBeforeItsParentWaitsForIt) {
  Out out;
  ProofOfWork first = node(1, out, 10);
  const Block a = block(2, 1, {});
  const Block b = block(2, 2, a);
  first.on_message(out, {2}, b);
  EXPECT_EQ(first.head.height, 0u);
  first.on_message(out, {2}, a);
  EXPECT_EQ(first.head, b);
  EXPECT_TRUE(first.orphans.empty());
}

TEST(ProofOfWork, ALeaderIsConfirmedUnderEnoughBlocksAndReversedByALongerBranch) {
  Out out;
  ProofOfWork first = node(1, out, 2);
  const Block a = block(2, 1, {});
  const Block b = block(2, 2, a);
  first.on_message(out, {2}, a);
  out.clear();
  first.on_message(out, {2}, b);
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Confirmed>(out.events[0]), (Confirmed{1, {2}}));
  const Block x = block(3, 1, {});
  const Block y = block(3, 2, x);
  const Block z = block(3, 3, y);
  first.on_message(out, {3}, x);
  first.on_message(out, {3}, y);
  out.clear();
  first.on_message(out, {3}, z);
  ASSERT_EQ(out.events.size(), 3u);
  EXPECT_EQ(std::get<Reversed>(out.events[0]), (Reversed{1, {2}}));
}

TEST(ProofOfWork, TheAttackerShowsItsBranchWhenItIsLongerAndTheLeaderIsConfirmed) {
  Out out;
  ProofOfWork attacker = node(3, out, 1, 300);
  EXPECT_EQ(attacker.secret.size(), 1u);
  attacker.on_message(out, {1}, block(1, 1, {}));
  out.clear();
  attacker.on_timer(out, ProofOfWork::Timer::found);
  EXPECT_EQ(out.sends.size(), 4u);
  EXPECT_EQ(attacker.head.id.miner, NodeId{3});
}

}  // namespace
}  // namespace conclave::election
