#include "graph/parse.hpp"

#include <gtest/gtest.h>

namespace conclave::graph {
namespace {

std::string error(std::string_view text, const std::optional<NodeSet>& members = {}) {
  const auto graph = parse_graph(text, 1, members);
  return graph ? "none" : graph.error();
}

TEST(ParseGraph, EveryKindByItsName) {
  EXPECT_EQ(parse_graph("grid:3x4", 1)->edges(), 17u);
  EXPECT_EQ(parse_graph("ring:9", 1)->edges(), 9u);
  EXPECT_EQ(parse_graph("path:5", 1)->edges(), 4u);
  EXPECT_EQ(parse_graph("star:5", 1)->edges(), 4u);
  EXPECT_EQ(parse_graph("complete:4", 1)->edges(), 6u);
  EXPECT_EQ(parse_graph("scale-free:10,3", 1)->edges(), 6u + 6u * 3);
  EXPECT_EQ(parse_graph("random:10,1", 1)->edges(), 45u);
  EXPECT_EQ(parse_graph("geometric:10,8", 1)->nodes(), NodeSet::range({1}, 10));
}

TEST(ParseGraph, MembersGiveTheSizeAndTheNames) {
  const NodeSet members = {{2}, {4}, {9}, {11}};
  for (const char* text : {"ring", "path", "star", "complete", "grid", "geometric", "geometric:,6",
                           "scale-free", "scale-free:,1", "random:,1", "grid:2x2"})
    EXPECT_EQ(parse_graph(text, 1, members)->nodes(), members) << text;
  EXPECT_EQ(error("ring:5", members), "graph 'ring:5': 5 nodes, but there are 4");
}

TEST(ParseGraph, WhatIsWrongIsSaid) {
  EXPECT_EQ(error("ring:x"), "graph 'ring:x': 'x' is no number of nodes");
  EXPECT_EQ(error("ring:0"), "graph 'ring:0': 0 nodes: must be between 1 and 1000000");
  EXPECT_EQ(error("ring:2000000"), "graph 'ring:2000000': 2000000 nodes: must be between 1 and 1000000");
  EXPECT_EQ(error("ring:3,4"), "graph 'ring:3,4': one number is enough");
  EXPECT_EQ(error("grid:3"), "graph 'grid:3': a grid has rows and columns, as in grid:3x4");
  EXPECT_EQ(error("grid:0x5"), "graph 'grid:0x5': 0 nodes: must be between 1 and 1000000");
  EXPECT_EQ(error("grid:99999x99999"),
            "graph 'grid:99999x99999': 9999800001 nodes: must be between 1 and 1000000");
  EXPECT_EQ(error("complete:100000"), "graph 'complete:100000': more than 8000000 edges");
  EXPECT_EQ(error("random:1000000,0.5"), "graph 'random:1000000,0.5': more than 8000000 edges");
  EXPECT_EQ(error("random:10,2"), "graph 'random:10,2': the chance of an edge lies between 0 and 1");
  EXPECT_EQ(error("random:10,nan"), "graph 'random:10,nan': 'nan' is no such number");
  EXPECT_EQ(error("geometric:10,0"),
            "graph 'geometric:10,0': the mean degree must be above 0 and at most 1.6e+06");
  EXPECT_TRUE(error("torus:3").starts_with("graph 'torus:3': there is path:N, ring:N")) << error("torus:3");
  EXPECT_TRUE(error("").starts_with("graph '': how many nodes?")) << error("");
  EXPECT_EQ(error("file:/no/such/file"), "cannot read '/no/such/file'");
}

TEST(ParseGraph, EdgesByLines) {
  const auto graph = parse_edges("1 2\n# nothing\n2 3  # and on\n\n7\n3 1\n1 2\n");
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->nodes(), (NodeSet{{1}, {2}, {3}, {7}}));
  EXPECT_EQ(graph->edges(), 3u);
  EXPECT_EQ(parse_edges("1 2\n1 2 3").error(), "line 2: an edge has two ends");
  EXPECT_EQ(parse_edges("1 -2").error(), "line 1: '-2' is no node's number");
  EXPECT_EQ(parse_edges("# empty").error(), "no nodes");
}

TEST(ParseGraph, PartsAreCounted) {
  EXPECT_EQ(why_not_connected(*parse_edges("1 2\n3 4\n4 5\n9")),
            "the graph falls into 3 parts, the greatest with 3 of its 6 nodes");
  EXPECT_EQ(why_not_connected(*parse_graph("ring:5", 1)), "");
}

}  // namespace
}  // namespace conclave::graph
