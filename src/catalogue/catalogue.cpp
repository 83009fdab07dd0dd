#include <fmt/format.h>

#include <algorithm>

#include "catalogue/entry.hpp"
#include "catalogue/families.hpp"
#include "core/ensure.hpp"

namespace conclave::catalogue {
namespace {

// How many letters have to be changed, added or dropped (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

bool Entry::claims_property(std::string_view property) const {
  return std::ranges::find(properties, property) != properties.end();
}

const Variant* Entry::variant(std::string_view wanted) const {
  const auto found = std::ranges::find(variants, wanted, &Variant::name);
  return found == variants.end() ? nullptr : &*found;
}

std::string Entry::text(const Setting& setting, std::string_view parameter) const {
  const auto set = setting.parameters.find(std::string(parameter));
  if (set != setting.parameters.end()) return set->second;
  const auto known = std::ranges::find(parameters, parameter, &Parameter::name);
  ensure(known != parameters.end(), "an algorithm asks for parameters that it lists");
  return std::string(known->usual);
}

std::int64_t Entry::number(const Setting& setting, std::string_view parameter) const {
  return std::stoll(text(setting, parameter));
}

Figure exactly(double value) { return {fmt::format("{:g}", value), value, value}; }

Figure within(double low, double high) {
  if (low == high) return exactly(low);
  return {fmt::format("{:g} … {:g}", low, high), low, high};
}

Figure at_least(double low, std::string text) { return {std::move(text), low, -1}; }

Figure unclaimed() { return {"-"}; }

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> rows;
    for (const auto& family : {mutex_rows, election_rows, consensus_rows, log_rows, timesync_rows,
                               membership_rows, registers_rows, overlay_rows, causality_rows, limits_rows}) {
      for (Entry& entry : family()) rows.push_back(std::move(entry));
    }
    return rows;
  }();
  return all;
}

const Entry* find(std::string_view name) {
  const auto found = std::ranges::find(entries(), name, &Entry::name);
  return found == entries().end() ? nullptr : &*found;
}

std::vector<std::string> similar(std::string_view name) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const Entry& entry : entries()) {
    const bool contained = name.size() >= 3 && entry.name.find(name) != std::string_view::npos;
    const std::size_t steps = contained ? 0 : distance(name, entry.name);
    if (steps <= std::max<std::size_t>(2, entry.name.size() / 3)) near.emplace_back(steps, entry.name);
  }
  std::ranges::sort(near);
  std::vector<std::string> names;
  for (auto& [steps, found] : near) names.push_back(std::move(found));
  return names;
}

}  // namespace conclave::catalogue
