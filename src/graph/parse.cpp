#include "graph/parse.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "graph/distance.hpp"

namespace conclave::graph {
namespace {

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::pair<std::string_view, std::string_view> split(std::string_view text, char at) {
  const std::size_t place = text.find(at);
  if (place == std::string_view::npos) return {text, {}};
  return {text.substr(0, place), text.substr(place + 1)};
}

constexpr std::streamsize most_bytes = 100'000'000;  // of a file: some ten for every edge we take

constexpr std::string_view kinds =
    "path:N, ring:N, star:N, complete:N, grid:RxC, geometric:N,DEGREE, scale-free:N,LINKS, random:N,CHANCE "
    "or "
    "file:PATH";

// What stands after the colon: a size and one more number, either of which may be missing.
struct Size {
  std::uint32_t nodes = 0;
  std::optional<double> second = {};
  std::optional<std::uint32_t> columns = {};  // of a grid
};

std::expected<Size, std::string> parse_size(std::string_view kind, std::string_view text,
                                            std::optional<std::uint32_t> nodes) {
  Size size;
  const auto [first, second] = split(text, kind == "grid" ? 'x' : ',');
  if (first.empty() && !nodes) return std::unexpected(fmt::format("how many nodes? There is {}", kinds));
  std::uint64_t count = nodes.value_or(0);
  if (!first.empty()) {
    const auto given = number<std::uint32_t>(first);
    if (!given) return std::unexpected(fmt::format("'{}' is no number of nodes", first));
    count = *given;
    if (kind == "grid") {
      size.columns = number<std::uint32_t>(second);
      if (!size.columns) return std::unexpected("a grid has rows and columns, as in grid:3x4");
      count *= *size.columns;
    }
    if (nodes && count != *nodes)
      return std::unexpected(fmt::format("{} nodes, but there are {}", count, *nodes));
  }
  if (count < 1 || count > most_nodes)
    return std::unexpected(fmt::format("{} nodes: must be between 1 and {}", count, most_nodes));
  size.nodes = static_cast<std::uint32_t>(count);
  if (kind != "grid" && !second.empty()) {
    size.second = number<double>(second);
    if (!size.second || !std::isfinite(*size.second) || *size.second < 0)
      return std::unexpected(fmt::format("'{}' is no such number", second));
  }
  return size;
}

}  // namespace

std::expected<Shape, std::string> parse_shape(std::string_view text, std::uint64_t seed,
                                              std::optional<std::uint32_t> nodes) {
  const auto [kind, rest] = split(text, ':');
  const auto wrong = [text](std::string_view why) {
    return std::unexpected(fmt::format("graph '{}': {}", text, why));
  };
  const auto size = parse_size(kind, rest, nodes);
  if (!size) return wrong(size.error());
  const std::uint32_t n = size->nodes;
  const double most_degree = 2.0 * static_cast<double>(most_edges) / n;
  if (kind == "grid") {
    const auto square = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(n)));
    return grid(n, size->columns.value_or(square));
  }
  if (kind == "geometric") {
    const double degree = size->second.value_or(10);
    if (degree <= 0 || degree > most_degree)
      return wrong(fmt::format("the mean degree must be above 0 and at most {:g}", most_degree));
    auto shape = geometric(n, degree, seed);
    if (!shape) return wrong(shape.error());
    return shape;
  }
  if (kind == "scale-free") {
    const double links = size->second.value_or(2);
    if (links < 1 || links != std::floor(links) || links * n > static_cast<double>(most_edges))
      return wrong(
          fmt::format("newcomers link to 1 or more others, with at most {} edges in all", most_edges));
    return scale_free(n, static_cast<std::uint32_t>(links), seed);
  }
  if (kind == "random") {
    const double chance = size->second.value_or(std::min(1.0, 10.0 / n));
    if (chance > 1) return wrong("the chance of an edge lies between 0 and 1");
    if (chance * n / 2 * n > static_cast<double>(most_edges))
      return wrong(fmt::format("more than {} edges", most_edges));
    return random(n, chance, seed);
  }
  if (size->second) return wrong("one number is enough");
  if (kind == "path") return path(n);
  if (kind == "ring") return ring(n);
  if (kind == "star") return star(n);
  if (kind == "complete") {
    if (std::uint64_t{n} * (n - 1) / 2 > most_edges)
      return wrong(fmt::format("more than {} edges", most_edges));
    return complete(n);
  }
  return wrong(fmt::format("there is {}", kinds));
}

std::expected<Graph, std::string> parse_edges(std::string_view text) {
  std::vector<NodeId> nodes;
  std::vector<Graph::Edge> edges;
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const auto [line, rest] = split(text, '\n');
    text = rest;
    std::istringstream words{std::string(split(line, '#').first)};
    std::vector<NodeId> ends;
    for (std::string word; words >> word;) {
      const auto id = number<std::uint32_t>(word);
      if (!id) return std::unexpected(fmt::format("line {}: '{}' is no node's number", line_number, word));
      ends.push_back({*id});
    }
    if (ends.size() > 2) return std::unexpected(fmt::format("line {}: an edge has two ends", line_number));
    nodes.insert(nodes.end(), ends.begin(), ends.end());
    if (ends.size() == 2) edges.emplace_back(ends[0], ends[1]);
    if (edges.size() > most_edges) return std::unexpected(fmt::format("more than {} edges", most_edges));
  }
  std::ranges::sort(nodes);
  NodeSet all;
  for (NodeId node : nodes) all.insert(node);
  if (all.empty()) return std::unexpected("no nodes");
  if (all.size() > most_nodes) return std::unexpected(fmt::format("more than {} nodes", most_nodes));
  return Graph(std::move(all), edges);
}

std::expected<Graph, std::string> parse_graph(std::string_view text, std::uint64_t seed,
                                              const std::optional<NodeSet>& members) {
  const auto [kind, path_name] = split(text, ':');
  if (kind == "file") {
    std::ifstream file{std::string(path_name)};
    if (!file) return std::unexpected(fmt::format("cannot read '{}'", path_name));
    std::string content(most_bytes, '\0');
    file.read(content.data(), most_bytes);
    if (file.gcount() == most_bytes) return std::unexpected(fmt::format("'{}' is too long", path_name));
    content.resize(static_cast<std::size_t>(file.gcount()));
    auto graph = parse_edges(content);
    if (!graph) return std::unexpected(fmt::format("{}: {}", path_name, graph.error()));
    if (members && graph->nodes() != *members)
      return std::unexpected(fmt::format("{} has other nodes than the run: {} of them, {} to {}", path_name,
                                         graph->nodes().size(), graph->nodes().min().value,
                                         graph->nodes().max().value));
    return graph;
  }
  const auto shape = parse_shape(text, seed, members ? std::optional(members->size()) : std::nullopt);
  if (!shape) return std::unexpected(shape.error());
  return over(members ? *members : NodeSet::range({1}, shape->nodes), *shape);
}

std::string why_not_connected(const Graph& graph) {
  const Components parts = components(graph);
  if (parts.count() <= 1) return {};
  return fmt::format("the graph falls into {} parts, the greatest with {} of its {} nodes", parts.count(),
                     *std::ranges::max_element(parts.sizes), graph.nodes().size());
}

}  // namespace conclave::graph
