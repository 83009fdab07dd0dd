#include "protocols/membership/registry.hpp"

#include <gtest/gtest.h>

#include "sim/world.hpp"

namespace conclave::membership {
namespace {

static_assert(Protocol<Registry>);

// Two processes have the same number on different machines.
const std::map<NodeId, Identity> identities = {{{1}, {700, 10}}, {{2}, {42, 20}}, {{3}, {700, 30}}};

sim::Options options(std::uint64_t seed) {
  return {.nodes = 3, .entries = 1, .seed = seed, .step_limit = 10'000};
}

TEST(Registry, ComparesIdentitiesByProcessNumberAndThenByAddress) {
  EXPECT_LT((Identity{42, 20}), (Identity{700, 10}));
  EXPECT_LT((Identity{700, 10}), (Identity{700, 30}));
}

TEST(Registry, EverybodyFindsEverybodyAndTheSameCoordinator) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    sim::World<Registry> world(options(seed), {.identities = identities}, nullptr);
    const sim::Report report = world.run();
    EXPECT_TRUE(report.content);
    EXPECT_EQ(report.sent.at("Register"), 3u);
    EXPECT_EQ(report.sent.at("List"), report.sent.at("Members"));
    for (std::uint32_t i = 1; i <= 3; ++i) {
      EXPECT_EQ(world.cluster().node(i).members.size(), 3u);
      EXPECT_EQ(world.cluster().client(i).coordinator->node, NodeId{3});
    }
  }
}

TEST(Registry, WhenTheCoordinatorCrashesTheNextGreatestTakesItsPlace) {
  sim::Options killed = options(1);
  killed.script = sim::Script{};
  for (std::uint32_t i = 1; i <= 3; ++i)
    killed.script->push_back({.what = sim::Action::What::wish, .node = {i}});
  killed.script->push_back({.what = sim::Action::What::crash, .at = {1000}, .node = {3}, .forever = true});
  sim::World<Registry> world(killed, {.identities = identities}, nullptr);
  EXPECT_TRUE(world.run().content);
  EXPECT_EQ(world.cluster().client(1).coordinator->node, NodeId{1});
  EXPECT_EQ(world.cluster().client(2).coordinator->node, NodeId{1});
}

TEST(Registry, AsksAgainUntilAllAreThere) {
  sim::Options late = options(1);
  late.script = sim::Script{{.what = sim::Action::What::wish, .node = {1}},
                            {.what = sim::Action::What::wish, .node = {2}},
                            {.what = sim::Action::What::wish, .at = {500}, .node = {3}}};
  sim::World<Registry> world(late, {.identities = identities}, nullptr);
  const sim::Report report = world.run();
  EXPECT_TRUE(report.content);
  EXPECT_GT(report.sent.at("List"), 10u);
}

TEST(Registry, DoesNotListWhoIsDownUntilItRegistersAgain) {
  Effects<Registry> out;
  Registry registry = Registry::start({0}, NodeSet::range({0}, 4), {}, out);
  const Member one = {{700, 10}, {1}};
  const auto listed = [&] {
    out.clear();
    registry.on_message(out, {2}, Registry::List{});
    return std::get<Registry::Members>(out.sends.front().message).members.size();
  };
  registry.on_message(out, {1}, Registry::Register{"instance 1", one});
  EXPECT_EQ(listed(), 1u);
  registry.on_command(out, Lost{{1}});
  EXPECT_EQ(listed(), 0u);
  registry.on_message(out, {1}, Registry::Register{"instance 1", one});
  EXPECT_EQ(listed(), 1u);
}

TEST(Registry, HandsOutTheListSorted) {
  Effects<Registry> out;
  Registry node =
      Registry::start({1}, NodeSet::range({0}, 4), {.identities = identities, .expected = 2}, out);
  node.on_message(out, {0}, Registry::Members{{{{9, 1}, {1}}, {{4, 7}, {2}}}});
  ASSERT_EQ(out.events.size(), 2u);
  EXPECT_EQ(std::get<Found>(out.events[0]).members.front().identity, (Identity{4, 7}));
  EXPECT_EQ(std::get<Coordinator>(out.events[1]).member.identity, (Identity{9, 1}));
}

}  // namespace
}  // namespace conclave::membership
