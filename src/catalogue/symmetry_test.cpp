// Renaming nodes commutes with the handlers of the algorithms that say so: shown for every reachable step of
// a small configuration, by a search of its own over the protocol headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/directed.hpp"
#include "catalogue/explore.hpp"
#include "check/rename.hpp"
#include "core/fingerprint.hpp"
#include "protocols/mutex/central_server.hpp"
#include "protocols/mutex/maekawa.hpp"

namespace conclave::catalogue {
namespace {

template <class P>
struct Letter {
  NodeId from = {};
  NodeId to = {};
  typename P::Message message = {};
  bool operator==(const Letter&) const = default;
};

template <class P>
struct World {
  std::map<NodeId, P> nodes = {};
  std::map<NodeId, mutex::Spec::Client> clients = {};
  std::vector<Letter<P>> under_way = {};  // by fingerprint: links keep no order
  bool operator==(const World&) const = default;
};

template <class P>
Fingerprint tidy(World<P>& world) {
  std::ranges::sort(world.under_way, {}, [](const Letter<P>& letter) { return fingerprint(letter); });
  return fingerprint(world);
}

template <class P>
World<P> beginning(const NodeSet& all, const NodeSet& clients, const typename P::Setup& setup,
                   std::uint32_t entries) {
  World<P> world;
  Effects<P> out;
  for (NodeId node : all) world.nodes[node] = P::start(node, all, setup, out);
  for (NodeId node : clients) world.clients[node].wishes = entries;
  return world;
}

template <class P>
void settle(World<P>& world, NodeId node, const Effects<P>& out) {
  for (const auto& event : out.events) world.clients.at(node).see(event);
  for (const auto& send : out.sends) world.under_way.push_back({node, send.to, send.message});
}

template <class P>
std::vector<World<P>> successors(const World<P>& world) {
  std::vector<World<P>> all;
  for (const auto& [node, client] : world.clients) {
    const auto command = client.next();
    if (!command) continue;
    World<P> next = world;
    Effects<P> out;
    next.clients.at(node).issue(*command);
    std::visit([&, who = node](const auto& which) { next.nodes.at(who).on_command(out, which); }, *command);
    settle(next, node, out);
    all.push_back(std::move(next));
  }
  for (std::size_t i = 0; i < world.under_way.size(); ++i) {
    World<P> next = world;
    Effects<P> out;
    const Letter<P> letter = world.under_way[i];
    next.under_way.erase(next.under_way.begin() + static_cast<std::ptrdiff_t>(i));
    std::visit([&](const auto& which) { next.nodes.at(letter.to).on_message(out, letter.from, which); },
               letter.message);
    settle(next, letter.to, out);
    all.push_back(std::move(next));
  }
  return all;
}

template <class P>
std::set<Fingerprint> prints(std::vector<World<P>> worlds, const check::Renaming& names) {
  std::set<Fingerprint> all;
  for (World<P>& world : worlds) {
    check::rename(world, names);
    all.insert(tidy(world));
  }
  return all;
}

struct Found {
  std::size_t states = 0;
  std::size_t orbits = 0;
};

// Every reachable state, and how many are left if those that differ in names only are one.
template <class P>
Found search(const NodeSet& all, const NodeSet& clients, const typename P::Setup& setup,
             std::uint32_t entries) {
  std::vector<check::Renaming> renamings;
  for (const auto& names : P::symmetries(all, setup)) {
    check::Renaming renaming;
    std::size_t i = 0;
    for (NodeId node : all) renaming[node] = names[i++];
    renamings.push_back(std::move(renaming));
  }
  World<P> first = beginning<P>(all, clients, setup, entries);
  std::set<Fingerprint> met = {tidy(first)};
  std::set<Fingerprint> orbits;
  std::vector<World<P>> queue = {first};
  while (!queue.empty()) {
    const World<P> here = std::move(queue.back());
    queue.pop_back();
    std::vector<World<P>> next = successors(here);
    Fingerprint least = fingerprint(here);
    for (const check::Renaming& names : renamings) {
      World<P> renamed = here;
      check::rename(renamed, names);
      least = std::min(least, tidy(renamed));
      EXPECT_EQ(prints(successors(renamed), {}), prints(next, names));
    }
    orbits.insert(least);
    for (World<P>& world : next) {
      if (met.insert(tidy(world)).second) queue.push_back(std::move(world));
    }
  }
  return {met.size(), orbits.size()};
}

check::Report explored(const char* name, std::uint32_t entries, bool symmetry) {
  CheckPlan plan = usual_check(*find(name), 3);
  plan.options.entries = entries;
  plan.options.properties = {"EM1"};
  plan.options.partial_order = false;
  plan.options.symmetry = symmetry;
  return explore(*find(name), plan);
}

TEST(Symmetry, ClientsOfACentralServerAreAlike) {
  const NodeSet all = NodeSet::range({0}, 4);
  EXPECT_EQ(mutex::CentralServer::symmetries(all, {}).size(), 5u);  // 3! and not itself
  const Found found = search<mutex::CentralServer>(all, all.without({0}), {}, 2);
  EXPECT_EQ(found.states, explored("central-server", 2, false).states);
  EXPECT_EQ(found.orbits, explored("central-server", 2, true).states);
  EXPECT_LT(found.orbits, found.states / 4);
}

TEST(Symmetry, MembersOfMaekawasRingOfVotingSetsAreAlike) {
  const NodeSet all = NodeSet::range({1}, 3);
  EXPECT_EQ(mutex::Maekawa::symmetries(all, {}).size(), 2u);
  const Found found = search<mutex::Maekawa>(all, all, {}, 1);
  EXPECT_EQ(found.states, explored("maekawa", 1, false).states);
  EXPECT_EQ(found.orbits, explored("maekawa", 1, true).states);
  EXPECT_LT(found.orbits, found.states / 2);
}

TEST(Symmetry, OnlyRotationsThatCarryVotingSetsToVotingSetsCount) {
  EXPECT_EQ(mutex::Maekawa::symmetries(NodeSet::range({1}, 7), {}).size(), 6u);
  // The sets of p1 and p2 are alike, that of p3 is not.
  const mutex::VotingSets crooked = {{NodeId{1}, {{1}, {3}}}, {NodeId{2}, {{2}, {3}}}, {NodeId{3}, {{3}}}};
  EXPECT_TRUE(mutex::Maekawa::symmetries(NodeSet::range({1}, 3), {.sets = crooked}).empty());
}

TEST(Symmetry, ChangesNoVerdict) {
  for (const char* name : {"central-server", "maekawa"}) {
    for (const char* property : {"EM1", "EM2", "EM3", "ND", "fence"}) {
      CheckPlan plan = usual_check(*find(name));
      plan.options.entries = 1;
      plan.options.budget.tells = 1;
      plan.options.properties = {property};
      const check::Report with = explore(*find(name), plan);
      plan.options.symmetry = false;
      const check::Report without = explore(*find(name), plan);
      EXPECT_EQ(with.holds(), without.holds()) << name << " " << property;
      EXPECT_EQ(with.depth, without.depth) << name << " " << property;
      ASSERT_EQ(with.findings.size(), without.findings.size()) << name << " " << property;
      if (with.findings.empty()) continue;
      EXPECT_EQ(with.findings[0].steps, without.findings[0].steps) << name << " " << property;
      EXPECT_EQ(
          direct(*find(name), {.nodes = plan.options.nodes}, plan.setting, with.findings[0].way).problem, "")
          << name;
    }
  }
}

}  // namespace
}  // namespace conclave::catalogue
