#include "protocols/consensus/byzantine_signed.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"
#include "trace/consensus_monitor.hpp"

namespace conclave::consensus {
namespace {

enum Property { termination, agreement, integrity };
using Out = ByzantineSigned::Out;

const NodeSet five = NodeSet::range({1}, 5);
const Keys keys = {};

ByzantineSigned lieutenant(NodeId self, std::uint32_t rounds = 3) {
  Out out;
  return ByzantineSigned::start(self, five, {.source = {1}, .default_value = 9, .rounds = rounds}, out);
}

TEST(ByzantineSigned, TheSourceSignsItsValueAndSendsItToAll) {
  Out out;
  ByzantineSigned source = lieutenant({1});
  source.on_command(out, Propose{4});
  source.on_round(out, 1);
  ASSERT_EQ(out.sends.size(), 4u);
  const Order order = std::get<Order>(out.sends[0].message);
  EXPECT_EQ(order.value, 4);
  EXPECT_TRUE(order.authentic(keys));
}

TEST(ByzantineSigned, ALieutenantSignsANewOrderAndPassesItOnToWhoHasNotSigned) {
  Out out;
  ByzantineSigned node = lieutenant({2});
  node.on_round(out, 1);
  node.on_message(out, {1}, Order{4}.endorsed(keys, {1}));
  EXPECT_TRUE(out.sends.empty());
  node.on_round(out, 2);
  ASSERT_EQ(out.sends.size(), 3u);
  EXPECT_EQ(out.sends[0].to, NodeId{3});
  EXPECT_TRUE(std::get<Order>(out.sends[0].message).signed_by({2}));
  EXPECT_TRUE(std::get<Order>(out.sends[0].message).authentic(keys));
}

TEST(ByzantineSigned, AnOrderThatNeedsMoreSignaturesIsRefused) {
  Out out;
  ByzantineSigned node = lieutenant({2});
  node.on_round(out, 1);
  node.on_round(out, 2);
  node.on_message(out, {1}, Order{4}.endorsed(keys, {1}));
  EXPECT_TRUE(node.seen.empty());
  EXPECT_EQ(out.notes.size(), 1u);
  node.on_message(out, {3}, Order{4}.endorsed(keys, {1}).endorsed(keys, {3}));
  EXPECT_EQ(node.seen, (std::vector<Value>{4}));
}

TEST(ByzantineSigned, AForgedOrderIsRefused) {
  Out out;
  ByzantineSigned node = lieutenant({2});
  node.on_round(out, 1);
  Order forged = {4};
  forged.chain.push_back({{1}, sign(keys, {3}, forged.text(0))});
  node.on_message(out, {3}, forged);
  EXPECT_TRUE(node.seen.empty());
}

TEST(ByzantineSigned, TwoOrdersAreProofAndAThirdIsNotPassedOn) {
  Out out;
  ByzantineSigned node = lieutenant({2}, 2);
  node.on_round(out, 1);
  for (const Value value : {4, 5, 6}) node.on_message(out, {1}, Order{value}.endorsed(keys, {1}));
  node.on_round(out, 2);
  EXPECT_EQ(out.sends.size(), 6u);
  node.on_round(out, 3);
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Decided>(out.events[0]).value, 9);
}

TEST(ByzantineSigned, WhoHeardNothingDecidesTheDefault) {
  Out out;
  ByzantineSigned node = lieutenant({2}, 1);
  node.on_round(out, 1);
  node.on_round(out, 2);
  ASSERT_EQ(out.events.size(), 1u);
  EXPECT_EQ(std::get<Decided>(out.events[0]).value, 9);
}

struct Outcome {
  sim::Report report = {};
  trace::ConsensusMonitor monitor;
  bool holds(Property property) const { return monitor.verdicts()[property].holds; }
};

Outcome run(std::uint32_t nodes, std::uint32_t f, const NodeSet& traitors, Strategy strategy,
            std::uint64_t seed, bool in_writing = true, NodeId source = {1}) {
  ByzantineSigned::Setup setup = {.source = source,
                                  .value = 4,
                                  .default_value = 9,
                                  .rounds = f + 1,
                                  .in_writing = in_writing,
                                  .treason = {.strategy = strategy,
                                              .traitors = traitors,
                                              .source = source,
                                              .members = NodeSet::range({1}, nodes),
                                              .rounds = f + 1,
                                              .one = 4,
                                              .other = 5,
                                              .in_writing = in_writing,
                                              .whims = seed * 0x9e3779b97f4a7c15u}};
  Outcome outcome = {.monitor = trace::ConsensusMonitor(traitors)};
  sim::World<ByzantineSigned> world({.nodes = nodes, .entries = 1, .seed = seed}, setup, &outcome.monitor);
  world.set_header({.world = "sim"});
  outcome.report = world.run();
  EXPECT_EQ(outcome.report.broken, "");
  return outcome;
}

constexpr Strategy all_strategies[] = {Strategy::silent, Strategy::equivocate, Strategy::forge,
                                       Strategy::late, Strategy::erratic};

TEST(ByzantineSigned, AgreesWhateverAnyTraitorsDoAndWhoeverIsTheSource) {
  constexpr std::uint32_t n = 4;
  for (std::uint32_t who = 0; who < 15; ++who) {  // every set of traitors but that of all
    NodeSet traitors;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (who >> i & 1) traitors.insert({i + 1});
    }
    for (const Strategy strategy : all_strategies) {
      for (std::uint64_t seed = 1; seed <= (strategy == Strategy::erratic ? 20u : 1u); ++seed) {
        const Outcome outcome = run(n, traitors.size(), traitors, strategy, seed);
        for (const Property property : {termination, agreement, integrity})
          ASSERT_TRUE(outcome.holds(property)) << who << " " << outcome.monitor.verdicts()[property].why;
      }
    }
  }
}

TEST(ByzantineSigned, OneRoundTooFewIsOneTooFew) {
  EXPECT_TRUE(run(5, 2, {{1}, {3}}, Strategy::late, 1).holds(agreement));
  Outcome outcome = run(5, 1, {{1}, {3}}, Strategy::late, 1);  // two traitors where one was expected
  EXPECT_FALSE(outcome.holds(agreement));
}

TEST(ByzantineSigned, WithoutSignaturesOneTraitorAmongThreeBreaksIt) {
  // A lieutenant says that the general said something else; nobody can tell who lies.
  const Outcome outcome = run(3, 1, {{3}}, Strategy::forge, 1, false);
  EXPECT_FALSE(outcome.holds(agreement));
  EXPECT_FALSE(outcome.holds(integrity));
  const Outcome in_writing = run(3, 1, {{3}}, Strategy::forge, 1, true);
  EXPECT_TRUE(in_writing.holds(agreement));
  EXPECT_TRUE(in_writing.holds(integrity));
}

TEST(ByzantineSigned, WithoutSignaturesThisExchangeIsLostAmongManyToo) {
  // That oral messages can do with more than three times as many processes as traitors takes another
  // algorithm: here one liar is enough among any number.
  EXPECT_FALSE(run(10, 1, {{7}}, Strategy::forge, 1, false).holds(agreement));
}

TEST(ByzantineSigned, WithoutTraitorsEverybodyHearsFromTheSourceAndFromEachOtherOnce) {
  for (const std::uint32_t n : {2u, 3u, 5u, 8u}) {
    EXPECT_EQ(run(n, 1, {}, Strategy::silent, 1).report.messages, (n - 1) * (n - 1));
    EXPECT_EQ(run(n, 0, {}, Strategy::silent, 1).report.messages, n - 1);
    EXPECT_EQ(run(n, 3, {}, Strategy::silent, 1).report.rounds, 5u);  // the fifth begins with the decision
  }
}

TEST(ByzantineSigned, AnEquivocatingSourceMakesTheLoyalPassOnTwoOrdersAndNoMore) {
  for (const std::uint32_t n : {3u, 5u, 8u}) {
    const Outcome outcome = run(n, 2, {{1}}, Strategy::equivocate, 1);
    EXPECT_LE(outcome.report.messages, (n - 1) + 2 * (n - 1) * (n - 2)) << n;
  }
}

}  // namespace
}  // namespace conclave::consensus
