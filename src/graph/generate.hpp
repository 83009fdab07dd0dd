// Graphs of known shapes, and random ones that depend on nothing but their seed.
#pragma once
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "core/graph.hpp"
#include "core/place.hpp"

namespace conclave::graph {

// Beyond these a graph would fill the memory before anybody ran on it.
inline constexpr std::uint64_t most_nodes = 1'000'000;
inline constexpr std::uint64_t most_edges = 8'000'000;

// A graph before its nodes have names: they are 0 … nodes-1.
struct Shape {
  std::uint32_t nodes = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = {};
  std::vector<Place> places = {};  // of shapes that lie on a plane
};

Shape path(std::uint32_t nodes);
Shape ring(std::uint32_t nodes);
Shape star(std::uint32_t nodes);  // 0 is its centre
Shape complete(std::uint32_t nodes);
// Row by row; the last row ends where the nodes do.
Shape grid(std::uint32_t nodes, std::uint32_t columns);
// Every pair is an edge with that chance (Gilbert 1959). It need not be connected.
Shape random(std::uint32_t nodes, double chance, std::uint64_t seed);
// Newcomers link to `links` nodes that are there, the likelier the more links those have already
// (Barabási, Albert, Science 286, 1999).
Shape scale_free(std::uint32_t nodes, std::uint32_t links, std::uint64_t seed);
// A unit disc graph: places drawn from a square, an edge between any two that are in each other's range. The
// range is such that a node far from the border has `degree` neighbours on average. Whoever is not connected
// with the most is drawn again, until all are; an error where that leads nowhere, because the range is too
// short for so few nodes. No two nodes share a place.
std::expected<Shape, std::string> geometric(std::uint32_t nodes, double degree, std::uint64_t seed);

// The members in ascending order take the places of 0, 1, 2 …
Graph over(const NodeSet& members, const Shape& shape);

}  // namespace conclave::graph
