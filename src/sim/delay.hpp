// How long a message takes, per link.
#pragma once
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/node_id.hpp"
#include "core/ticks.hpp"
#include "sim/random.hpp"

namespace conclave::sim {

struct Delay {
  enum class Shape { fixed, uniform, exponential };
  Shape shape = Shape::fixed;
  std::uint64_t least = 1;  // fixed: the delay; exponential: the mean
  std::uint64_t most = 1;   // uniform: the upper end

  std::uint64_t mean() const { return shape == Shape::uniform ? (least + most) / 2 : least; }
  std::uint64_t sample(const Draw& draw) const {
    switch (shape) {
      case Shape::fixed: return least;
      case Shape::uniform: return draw.between(least, most);
      case Shape::exponential:
        return 1 + static_cast<std::uint64_t>(-std::log(draw.unit()) * static_cast<double>(least));
    }
    return least;
  }
  // fixed:10, uniform:5-15, exponential:10
  static std::expected<Delay, std::string> parse(std::string_view text);
  std::string to_string() const;
};

struct DelayModel {
  Delay usual = {Delay::Shape::uniform, 5, 15};
  std::map<std::pair<NodeId, NodeId>, Delay> per_link = {};                                // from, to
  std::map<std::tuple<std::string, NodeId, NodeId>, Delay, std::less<>> per_message = {};  // type, from, to

  bool is_fixed() const {
    return usual.shape == Delay::Shape::fixed && per_link.empty() && per_message.empty();
  }
  const Delay& on(NodeId from, NodeId to) const {
    if (per_link.empty()) return usual;
    const auto found = per_link.find({from, to});
    return found == per_link.end() ? usual : found->second;
  }
  // As Delay::parse, or table:FILE with {"default": "fixed:10", "links": [{"from": 1, "to": 2, "delay":
  // "fixed:50"}]}.
  static std::expected<DelayModel, std::string> parse(std::string_view text);
};

}  // namespace conclave::sim
