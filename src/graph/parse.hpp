// Graphs as users name them.
#pragma once
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "core/graph.hpp"
#include "graph/generate.hpp"

namespace conclave::graph {

// path:5, ring:9, star:6, complete:4, grid:100x100, geometric:N,DEGREE, scale-free:N,LINKS, random:N,CHANCE,
// with the nodes 1 … N; or file:PATH, a list of edges, one a line, as two ids.
//
// With members, the graph is over them: the size may be left away ("grid", "geometric:,8"), and must be
// theirs if it is given.
std::expected<Graph, std::string> parse_graph(std::string_view text, std::uint64_t seed,
                                              const std::optional<NodeSet>& members = {});

// The same without names for the nodes: everything but a file.
std::expected<Shape, std::string> parse_shape(std::string_view text, std::uint64_t seed,
                                              std::optional<std::uint32_t> nodes = {});

// Lines of two ids, and of one id for a node without edges; what follows a # does not count.
std::expected<Graph, std::string> parse_edges(std::string_view text);

// What is wrong with a graph where everybody has to reach everybody; empty if nothing is.
std::string why_not_connected(const Graph& graph);

}  // namespace conclave::graph
