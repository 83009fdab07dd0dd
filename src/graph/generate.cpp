#include "graph/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "core/random.hpp"
#include "graph/distance.hpp"

namespace conclave::graph {
namespace {

enum class Purpose : std::uint64_t { edge = 1, link, place };

ScrambledBits draw(std::uint64_t seed, Purpose purpose, std::uint64_t who, std::uint64_t nth) {
  const std::uint64_t what_for = scramble(seed ^ static_cast<std::uint64_t>(purpose) << 48);
  return ScrambledBits(scramble(what_for ^ scramble(who << 24 ^ nth)));
}

constexpr std::int32_t side = 1 << 28;  // of the square from which places are drawn

// The edges of a unit disc graph. Nodes are sorted into square cells as wide as the range, so that each has
// to be compared with those of nine cells only.
std::vector<std::pair<std::uint32_t, std::uint32_t>> in_range(const std::vector<Place>& places,
                                                              std::int64_t range) {
  const std::int64_t per_side = std::max<std::int64_t>(1, side / std::max<std::int64_t>(1, range));
  const std::int64_t width = side / per_side + 1;
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_cell;
  by_cell.reserve(places.size());
  for (std::uint32_t i = 0; i < places.size(); ++i)
    by_cell.emplace_back(places[i].y / width * per_side + places[i].x / width, i);
  std::ranges::sort(by_cell);
  const auto square = static_cast<std::uint64_t>(range * range);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    const std::int64_t column = places[i].x / width;
    const std::int64_t row = places[i].y / width;
    for (std::int64_t y = std::max<std::int64_t>(0, row - 1); y <= std::min(per_side - 1, row + 1); ++y) {
      const std::int64_t first = y * per_side + std::max<std::int64_t>(0, column - 1);
      const std::int64_t last = y * per_side + std::min(per_side - 1, column + 1);
      for (auto at = std::ranges::lower_bound(by_cell, std::pair(first, 0u));
           at != by_cell.end() && at->first <= last; ++at) {
        if (i < at->second && square_between(places[i], places[at->second]) <= square)
          edges.emplace_back(i, at->second);
      }
    }
    if (edges.size() > most_edges) break;
  }
  return edges;
}

// Everybody outside the greatest component, or all but one of those who share a place.
std::vector<std::uint32_t> outcasts(const Shape& shape) {
  std::vector<std::uint32_t> found;
  std::set<Place> taken;
  for (std::uint32_t i = 0; i < shape.nodes; ++i) {
    if (!taken.insert(shape.places[i]).second) found.push_back(i);
  }
  if (!found.empty()) return found;
  const Components parts = components(over(NodeSet::range({0}, shape.nodes), shape));
  const auto greatest = std::ranges::max_element(parts.sizes) - parts.sizes.begin();
  for (std::uint32_t i = 0; i < shape.nodes; ++i) {
    if (parts.of[i] != greatest) found.push_back(i);
  }
  return found;
}

}  // namespace

Shape path(std::uint32_t nodes) {
  Shape shape = {.nodes = nodes};
  for (std::uint32_t i = 1; i < nodes; ++i) shape.edges.emplace_back(i - 1, i);
  return shape;
}

Shape ring(std::uint32_t nodes) {
  Shape shape = path(nodes);
  if (nodes > 2) shape.edges.emplace_back(0, nodes - 1);
  return shape;
}

Shape star(std::uint32_t nodes) {
  Shape shape = {.nodes = nodes};
  for (std::uint32_t i = 1; i < nodes; ++i) shape.edges.emplace_back(0, i);
  return shape;
}

Shape complete(std::uint32_t nodes) {
  Shape shape = {.nodes = nodes};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) shape.edges.emplace_back(j, i);
  }
  return shape;
}

Shape grid(std::uint32_t nodes, std::uint32_t columns) {
  ensure(columns > 0, "a grid has columns");
  Shape shape = {.nodes = nodes};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (i % columns != 0) shape.edges.emplace_back(i - 1, i);
    if (i >= columns) shape.edges.emplace_back(i - columns, i);
  }
  return shape;
}

Shape random(std::uint32_t nodes, double chance, std::uint64_t seed) {
  if (chance >= 1) return complete(nodes);
  Shape shape = {.nodes = nodes};
  if (chance <= 0) return shape;
  // Jumps from edge to edge, so that absent ones cost nothing (Batagelj, Brandes, Phys. Rev. E 71, 2005).
  const double log_absent = std::log1p(-chance);
  std::uint64_t low = 0;
  for (std::uint64_t high = 1, nth = 0; high < nodes; ++nth) {
    const double jump = std::floor(std::log(draw(seed, Purpose::edge, 0, nth).unit()) / log_absent);
    low += jump < 1e18 ? static_cast<std::uint64_t>(jump) : UINT64_MAX / 2;
    while (high < nodes && low >= high) low -= high++;
    if (high < nodes)
      shape.edges.emplace_back(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high));
    ++low;
    if (shape.edges.size() > most_edges) break;
  }
  return shape;
}

Shape scale_free(std::uint32_t nodes, std::uint32_t links, std::uint64_t seed) {
  ensure(links > 0, "newcomers link to somebody");
  Shape shape = complete(std::min(nodes, links + 1));
  shape.nodes = nodes;
  // Every end of every edge once: a uniform draw from here is a draw by degree.
  std::vector<std::uint32_t> ends;
  for (const auto& [a, b] : shape.edges) ends.insert(ends.end(), {a, b});
  for (std::uint32_t newcomer = links + 1; newcomer < nodes; ++newcomer) {
    std::vector<std::uint32_t> chosen;
    for (std::uint64_t nth = 0; chosen.size() < links; ++nth) {
      const std::uint32_t one = ends[draw(seed, Purpose::link, newcomer, nth).below(ends.size())];
      if (std::ranges::find(chosen, one) == chosen.end()) chosen.push_back(one);
    }
    for (std::uint32_t one : chosen) {
      shape.edges.emplace_back(one, newcomer);
      ends.insert(ends.end(), {one, newcomer});
    }
  }
  return shape;
}

std::expected<Shape, std::string> geometric(std::uint32_t nodes, double degree, std::uint64_t seed) {
  Shape shape = {.nodes = nodes};
  const double share = degree / (std::numbers::pi * std::max(1.0, static_cast<double>(nodes)));
  const auto range = static_cast<std::int64_t>(std::min(std::sqrt(share), 2.0) * side);
  std::vector<std::uint64_t> draws(nodes, 0);
  const auto place = [&](std::uint32_t i) {
    const auto along = [&](std::uint64_t nth) {
      return static_cast<std::int32_t>(draw(seed, Purpose::place, i, nth).below(side));
    };
    const std::uint64_t nth = draws[i]++;
    return Place{along(2 * nth), along(2 * nth + 1)};
  };
  for (std::uint32_t i = 0; i < nodes; ++i) shape.places.push_back(place(i));
  constexpr int most_attempts = 30;  // more would grow a clump where the range is too short
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    shape.edges = in_range(shape.places, range);
    if (shape.edges.size() > most_edges)
      return std::unexpected(fmt::format("more than {} edges", most_edges));
    const auto again = outcasts(shape);
    if (again.empty()) return shape;
    for (std::uint32_t i : again) shape.places[i] = place(i);
  }
  return std::unexpected(
      fmt::format("{} nodes with {:g} neighbours on average do not connect", nodes, degree));
}

Graph over(const NodeSet& members, const Shape& shape) {
  ensure(members.size() == shape.nodes, "there is a member for every place");
  const std::vector<NodeId> name(members.begin(), members.end());
  std::vector<Graph::Edge> edges;
  edges.reserve(shape.edges.size());
  for (const auto& [a, b] : shape.edges) edges.emplace_back(name[a], name[b]);
  return Graph(members, edges);
}

}  // namespace conclave::graph
