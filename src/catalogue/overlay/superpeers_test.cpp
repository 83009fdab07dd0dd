// The superpeer algorithms on whole graphs, against the exact optimum and the message counts they claim.
#include <gtest/gtest.h>

#include "catalogue/families.hpp"
#include "catalogue/judge.hpp"
#include "catalogue/overlay/rows.hpp"
#include "graph/distance.hpp"
#include "graph/optimum.hpp"
#include "graph/parse.hpp"

namespace conclave::catalogue {
namespace {

struct Selection {
  std::shared_ptr<const Graph> graph;
  sim::Report report;
  trace::OverlayMonitor::Summary summary;
  std::optional<std::string> failure;
};

Selection select(std::string_view name, std::string_view graph_name, Setting setting = {},
                 std::uint64_t seed = 1) {
  const Entry& entry = *find(name);
  auto graph = graph::parse_graph(graph_name, seed);
  EXPECT_TRUE(graph) << graph.error();
  setting.protocol = name;
  setting.graph = std::make_shared<const Graph>(std::move(*graph));
  setting.members = setting.graph->nodes();
  sim::Options options = {.nodes = setting.members.size(), .seed = seed};
  entry.usual(options);
  Selection result = {.graph = setting.graph};
  trace::OverlayMonitor monitor(setting.graph, {});
  const Judged judged = judge(entry, options, setting, &monitor);
  result.report = judged.report;
  result.summary = monitor.summary();
  result.failure = judged.failure;
  return result;
}

std::vector<std::uint32_t> ids(const NodeSet& nodes) {
  std::vector<std::uint32_t> values;
  for (NodeId node : nodes) values.push_back(node.value);
  return values;
}

constexpr std::string_view small_graphs[] = {"ring:13",         "path:11",  "star:9",
                                             "complete:6",      "grid:4x5", "geometric:20,5",
                                             "scale-free:18,2", "path:1",   "path:2"};

TEST(Superpeers, EveryAlgorithmKeepsItsClaimsOnEveryShape) {
  for (const Entry& entry : overlay_rows()) {
    for (const std::string_view graph : small_graphs) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Selection done = select(entry.name, graph, {}, seed);
        EXPECT_FALSE(done.failure) << entry.name << " on " << graph << ": " << *done.failure;
        EXPECT_TRUE(done.report.content) << entry.name << " on " << graph;
      }
    }
  }
}

TEST(Superpeers, OnAPathWithoutTheVotesSomeHaveNoSuperpeer) {
  const Selection voted = select("superpeer-distance-domination", "path:5", {.parameters = {{"k", "1"}}});
  EXPECT_EQ(ids(voted.summary.superpeers), (std::vector<std::uint32_t>{2, 3, 4, 5}));
  EXPECT_FALSE(voted.failure);
  const Selection maxima = select("superpeer-distance-domination", "path:5",
                                  {.variant = "local-maxima", .parameters = {{"k", "1"}}});
  EXPECT_EQ(ids(maxima.summary.superpeers), (std::vector<std::uint32_t>{5}));
  ASSERT_TRUE(maxima.failure);
  EXPECT_EQ(*maxima.failure, "attached is violated: p1 was not told where it belongs");
}

TEST(Superpeers, DistanceDominationTakesThreeRoundsAHopAndOneMore) {
  for (const std::uint32_t k : {1u, 2u, 3u, 5u}) {
    const Selection done =
        select("superpeer-distance-domination", "ring:40", {.parameters = {{"k", std::to_string(k)}}});
    EXPECT_LE(done.report.rounds, 3 * k + 1);
    EXPECT_LE(done.summary.worst_hops, k);
    EXPECT_LE(done.report.messages, (2 * k + 2) * 40 + k * 40);
  }
}

TEST(Superpeers, DistanceDominationOnACompleteGraphCostsWhatItClaims) {
  const Selection done = select("superpeer-distance-domination", "complete:7", {.parameters = {{"k", "1"}}});
  EXPECT_EQ(ids(done.summary.superpeers), (std::vector<std::uint32_t>{7}));
  // Everybody tells everybody; all but the greatest vote; it tells all.
  EXPECT_EQ(done.report.sent.at("Best"), 42u);
  EXPECT_EQ(done.report.sent.at("Vote"), 6u);
  EXPECT_EQ(done.report.sent.at("Superpeer"), 6u);
}

TEST(Superpeers, HashedIdsNeedFarFewerSuperpeersOnANumberedRing) {
  const Selection plain = select("superpeer-distance-domination", "ring:200");
  const Selection hashed = select("superpeer-distance-domination", "ring:200", {.variant = "hashed"});
  EXPECT_GT(plain.summary.superpeers.size(), 190u);
  EXPECT_LT(hashed.summary.superpeers.size(), 100u);
  EXPECT_FALSE(hashed.failure);
}

TEST(Superpeers, TheGreedyDominatingSetStaysWithinItsBound) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Selection done = select("superpeer-dominating-set", "geometric:18,4", {}, seed);
    const auto fewest = graph::least_dominating_set(*done.graph, 1).size();
    EXPECT_GE(done.summary.superpeers.size(), fewest);
    EXPECT_LE(done.summary.superpeers.size(), greedy_bound(*done.graph, static_cast<std::uint32_t>(fewest)));
    EXPECT_LE(graph::radius(*done.graph, done.summary.superpeers), 1u);
  }
}

TEST(Superpeers, TiesByIdsGoRoundANumberedRingOneByOne) {
  const Selection canonical = select("superpeer-dominating-set", "ring:300");
  const Selection by_id = select("superpeer-dominating-set", "ring:300", {.variant = "ties-by-id"});
  EXPECT_FALSE(by_id.failure);
  EXPECT_GT(by_id.report.rounds, 300u);
  EXPECT_LT(canonical.report.rounds, 60u);
}

TEST(Superpeers, ALimitedDominatingSetKeepsTheLimit) {
  for (const char* limit : {"1", "2", "4"}) {
    for (const std::string_view graph : small_graphs) {
      const Selection done = select("superpeer-dominating-set", graph, {.parameters = {{"limit", limit}}});
      EXPECT_FALSE(done.failure) << graph << " limit " << limit << ": " << *done.failure;
      EXPECT_LE(done.summary.most_peers, static_cast<std::uint32_t>(std::stoul(limit)));
    }
  }
}

TEST(Superpeers, CentresAreAtMostTwiceAsFarAsTheBestOnes) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    for (const std::uint32_t p : {1u, 2u, 3u, 5u}) {
      const Selection done =
          select("superpeer-p-center", "geometric:18,4", {.parameters = {{"p", std::to_string(p)}}}, seed);
      const auto best = graph::best_centres(*done.graph, p);
      ASSERT_TRUE(best);
      EXPECT_EQ(done.summary.superpeers.size(), p);
      EXPECT_LE(done.summary.worst_hops, 2 * best->radius);
      EXPECT_EQ(done.summary.worst_hops, graph::radius(*done.graph, done.summary.superpeers));
    }
  }
}

TEST(Superpeers, CentresCostWhatTheyClaim) {
  const Selection done = select("superpeer-p-center", "grid:5x5", {.parameters = {{"p", "4"}}});
  EXPECT_EQ(done.report.sent.at("Probe") + done.report.sent.at("Echo"), 2 * done.graph->edges());
  EXPECT_EQ(done.report.sent.at("Echo"), 24u);
  EXPECT_EQ(done.report.sent.at("Collect"), 3u * 24);
  EXPECT_EQ(done.report.sent.at("Report"), 3u * 24);
  EXPECT_EQ(done.report.sent.at("Finish"), 24u);
  EXPECT_EQ(done.report.sent.at("Nearer"), done.report.sent.at("Answer"));
  EXPECT_LE(done.report.sent.at("Appoint"), 3u * 24);
}

TEST(Superpeers, MoreCentresThanNodesMakeEverybodyOne) {
  const Selection done = select("superpeer-p-center", "ring:5", {.parameters = {{"p", "9"}}});
  EXPECT_EQ(done.summary.superpeers.size(), 5u);
  EXPECT_FALSE(done.failure);
}

TEST(Superpeers, WhatCannotRunIsRefused) {
  const Entry& centres = *find("superpeer-p-center");
  Setting setting = {.protocol = "superpeer-p-center", .members = NodeSet::range({1}, 6)};
  const sim::Options options = {.nodes = 6};
  EXPECT_FALSE(centres.refuse(options, setting));
  setting.parameters["graph"] = "random:,0";
  EXPECT_EQ(
      centres.refuse(options, setting).value_or(""),
      "the graph falls into 6 parts, the greatest with 1 of its 6 nodes; superpeer-p-center needs one part");
  setting.parameters["graph"] = "grid:3x3";
  EXPECT_EQ(centres.refuse(options, setting).value_or(""), "graph 'grid:3x3': 9 nodes, but there are 6");
}

TEST(Superpeers, NoFigureDiffersFromItsClaim) {
  for (const Entry& entry : overlay_rows()) {
    for (const std::uint32_t nodes : {2u, 5u, 30u}) {
      for (const Measurement& figure : entry.measure(nodes, 1)) {
        const double slack = 1e-9;
        EXPECT_TRUE(figure.claimed.low < 0 || figure.measured >= figure.claimed.low - slack)
            << entry.name << ": " << figure.what << " " << figure.measured;
        EXPECT_TRUE(figure.claimed.high < 0 || figure.measured <= figure.claimed.high + slack)
            << entry.name << ": " << figure.what << " " << figure.measured;
      }
    }
  }
}

}  // namespace
}  // namespace conclave::catalogue
