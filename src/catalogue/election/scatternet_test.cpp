// Scatternets over drawn radio networks: the limits hold, and the messages are as many as claimed.
#include "catalogue/election/scatternet.hpp"

#include <gtest/gtest.h>

#include "catalogue/judge.hpp"
#include "trace/scatternet_monitor.hpp"

namespace conclave::catalogue {
namespace {

TEST(ScatternetRow, EveryRadioNetworkBecomesAConnectedScatternet) {
  const Entry& entry = *find("scatternet");
  for (const std::uint32_t nodes : {1u, 2u, 3u, 10u, 60u}) {
    for (const char* degree : {"6", "12", "40"}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Setting setting = {.protocol = "scatternet",
                                 .members = NodeSet::range({1}, nodes),
                                 .parameters = {{"degree", degree}},
                                 .seed = seed};
        sim::Options options = {.nodes = nodes, .seed = seed};
        entry.usual(options);
        const Radio radio = radio_of(setting);
        trace::ScatternetMonitor monitor(radio.graph);
        const Judged judged = judge(entry, options, setting, &monitor);
        ASSERT_FALSE(judged.failure) << *judged.failure << ", seed " << seed;
        EXPECT_TRUE(judged.report.content);
        const auto sent = [&](const char* type) {
          const auto found = judged.report.sent.find(type);
          return found == judged.report.sent.end() ? 0u : found->second;
        };
        const std::uint32_t slaves = nodes - monitor.summary().leaders;
        EXPECT_EQ(sent("Hello"), 2 * radio.graph->edges());
        EXPECT_EQ(sent("Report"), slaves);
        EXPECT_EQ(sent("Assign"), slaves);
        EXPECT_LE(monitor.summary().most_slaves, 6u);
        EXPECT_GE(monitor.summary().links + 1, nodes);
        if (nodes >= 3) {
          EXPECT_LE(sent("Role"), 2 * (3 * nodes - 6));
        }
      }
    }
  }
}

TEST(ScatternetRow, DelaysDoNotMatter) {
  const Entry& entry = *find("scatternet");
  const Setting setting = {.protocol = "scatternet", .members = NodeSet::range({1}, 40), .seed = 3};
  std::map<NodeId, NodeId> leaders;
  for (const std::uint64_t most : {1u, 100u, 1000u}) {
    sim::Options options = {.nodes = 40, .seed = 3};
    entry.usual(options);
    options.delay.usual = {sim::Delay::Shape::uniform, 1, most};
    trace::ScatternetMonitor monitor(radio_of(setting).graph);
    entry.simulate(options, setting, &monitor);
    std::map<NodeId, NodeId> found;
    for (const auto& [node, told] : monitor.nodes()) found[node] = told.leader;
    if (!leaders.empty()) {
      EXPECT_EQ(found, leaders);
    }
    leaders = found;
  }
}

TEST(ScatternetRow, WhatCannotConnectIsRefused) {
  const Entry& entry = *find("scatternet");
  const Setting setting = {
      .protocol = "scatternet", .members = NodeSet::range({1}, 300), .parameters = {{"degree", "1"}}};
  EXPECT_EQ(entry.refuse({.nodes = 300}, setting).value_or(""),
            "300 nodes with 1 neighbours on average do not connect");
}

}  // namespace
}  // namespace conclave::catalogue
