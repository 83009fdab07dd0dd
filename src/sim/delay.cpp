#include "sim/delay.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "trace/parse_json.hpp"

namespace conclave::sim {
namespace {

// A day in microseconds: longer delays only overflow sums.
constexpr std::uint64_t greatest_delay = 86'400'000'000;

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > greatest_delay) return std::nullopt;
  return value;
}

bool is_node(const nlohmann::json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= UINT32_MAX;
}

}  // namespace

std::expected<Delay, std::string> Delay::parse(std::string_view text) {
  const auto wrong = [&] {
    return std::unexpected(
        fmt::format("'{}' is no delay; write fixed:10, uniform:5-15 or exponential:10 (ticks, at most {})",
                    text, greatest_delay));
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return wrong();
  const std::string_view shape = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  if (shape == "uniform") {
    const std::size_t dash = rest.find('-');
    if (dash == std::string_view::npos) return wrong();
    const auto least = number(rest.substr(0, dash));
    const auto most = number(rest.substr(dash + 1));
    if (!least || !most || *least > *most) return wrong();
    return Delay{Shape::uniform, *least, *most};
  }
  const auto value = number(rest);
  if (!value) return wrong();
  if (shape == "fixed") return Delay{Shape::fixed, *value, *value};
  if (shape == "exponential" && *value > 0) return Delay{Shape::exponential, *value, *value};
  return wrong();
}

std::string Delay::to_string() const {
  switch (shape) {
    case Shape::fixed: return fmt::format("fixed:{}", least);
    case Shape::uniform: return fmt::format("uniform:{}-{}", least, most);
    case Shape::exponential: return fmt::format("exponential:{}", least);
  }
  return {};
}

std::expected<DelayModel, std::string> DelayModel::parse(std::string_view text) {
  DelayModel model;
  if (!text.starts_with("table:")) {
    const auto delay = Delay::parse(text);
    if (!delay) return std::unexpected(delay.error());
    model.usual = *delay;
    return model;
  }
  const std::string path(text.substr(6));
  std::ifstream file(path);
  if (!file) return std::unexpected(fmt::format("cannot read the delay table '{}'", path));
  const std::string contents(std::istreambuf_iterator<char>(file), {});
  const auto table = trace::parse_json<nlohmann::json>(contents);
  const auto wrong = [&](std::string_view what) {
    return std::unexpected(
        fmt::format("{}: {}; a table is {{\"default\": \"fixed:10\", \"links\": [{{\"from\": 1, \"to\": 2, "
                    "\"delay\": \"fixed:50\"}}]}}",
                    path, what));
  };
  if (!table.is_object() || !table.contains("default") || !table["default"].is_string())
    return wrong("no \"default\" delay");
  const auto usual = Delay::parse(table["default"].get<std::string>());
  if (!usual) return wrong(usual.error());
  model.usual = *usual;
  if (!table.contains("links")) return model;
  if (!table["links"].is_array()) return wrong("\"links\" is no list");
  for (const auto& link : table["links"]) {
    if (!link.is_object() || !link.contains("from") || !link.contains("to") || !link.contains("delay") ||
        !is_node(link["from"]) || !is_node(link["to"]) || !link["delay"].is_string())
      return wrong("a link without \"from\", \"to\" and \"delay\"");
    const auto delay = Delay::parse(link["delay"].get<std::string>());
    if (!delay) return wrong(delay.error());
    model.per_link[{NodeId{link["from"].get<std::uint32_t>()}, NodeId{link["to"].get<std::uint32_t>()}}] =
        *delay;
  }
  return model;
}

}  // namespace conclave::sim
