#include "causality/question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace conclave::causality {
namespace {

// How many letters have to be changed, added or dropped; only short names are compared.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

std::string hint(std::string_view wanted, const Execution& execution) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& name : execution.names) {
    const bool contained = wanted.size() >= 3 && name.find(wanted) != std::string::npos;
    const std::size_t apart = contained ? 0 : distance(wanted.substr(0, 64), name.substr(0, 64));
    if (apart < least) {
      least = apart;
      best = name;
    }
  }
  if (!best.empty()) return fmt::format("did you mean '{}'?", best);
  std::string list;
  for (std::size_t i = 0; i < execution.names.size() && i < 8; ++i)
    list += (i > 0 ? ", " : "") + execution.names[i];
  return fmt::format("there {} {}{}", execution.names.size() == 1 ? "is" : "are", list,
                     execution.names.size() > 8 ? ", …" : "");
}

// host, one of these signs, number.
std::expected<EventId, std::string> parse(std::string_view text, std::string_view signs, bool zero_too,
                                          const Execution& execution) {
  const std::size_t sign = text.find_last_of(signs);
  std::uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = sign == std::string_view::npos
                        ? std::from_chars_result{text.data(), std::errc::invalid_argument}
                        : std::from_chars(text.data() + sign + 1, end, number);
  if (read.ec != std::errc{} || read.ptr != end)
    return std::unexpected(fmt::format("'{}' should be host{}number", text, signs.front()));
  const std::string_view host = text.substr(0, sign);
  const auto found = std::ranges::find(execution.names, host);
  if (found == execution.names.end())
    return std::unexpected(fmt::format("there is no host '{}'; {}", host, hint(host, execution)));
  const auto process = static_cast<std::uint32_t>(found - execution.names.begin());
  const std::uint32_t count = execution.history.events_of(process);
  if ((number == 0 && !zero_too) || number > count)
    return std::unexpected(fmt::format("{} has {} event{}; there is no {}.{}", host, count,
                                       count == 1 ? "" : "s", host, number));
  return EventId{process, number};
}

std::expected<std::vector<EventId>, std::string> parse_list(const std::string& text,
                                                            const Execution& execution) {
  std::vector<EventId> events;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    auto event = parse(std::string_view(text).substr(begin, end - begin), "=", true, execution);
    if (!event) return std::unexpected(event.error());
    events.push_back(*event);
    begin = end + 1;
  }
  return events;
}

}  // namespace

std::expected<EventId, std::string> parse_event(const std::string& text, const Execution& execution) {
  return parse(text, ".:", false, execution);
}

std::expected<Cut, std::string> parse_cut(const std::string& text, const Execution& execution) {
  const auto events = parse_list(text, execution);
  if (!events) return std::unexpected(events.error());
  Cut cut(execution.names.size());
  std::vector<bool> named(cut.size());
  for (const EventId event : *events) {
    if (named[event.process])
      return std::unexpected(fmt::format("'{}' names {} twice", text, execution.names[event.process]));
    named[event.process] = true;
    cut[event.process] = event.number;
  }
  return cut;
}

std::expected<Checkpoints, std::string> parse_checkpoints(const std::string& text,
                                                          const Execution& execution) {
  const auto events = parse_list(text, execution);
  if (!events) return std::unexpected(events.error());
  Checkpoints checkpoints(execution.names.size());
  for (const EventId event : *events) checkpoints[event.process].push_back(event.number);
  return checkpoints;
}

std::string to_text(const Cut& cut, const Execution& execution) {
  std::string out;
  for (std::uint32_t process = 0; process < cut.size(); ++process)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", execution.names[process], cut[process]);
  return out;
}

std::string to_text(const std::vector<Stretch>& path, const Execution& execution, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path.size() > 2 * most && i == most) {
      out += fmt::format(" → … {} more …", path.size() - 2 * most);
      i = path.size() - most;
    }
    const Stretch& stretch = path[i];
    if (!out.empty()) out += " → ";
    out += fmt::format("{}.{}", execution.names[stretch.process], stretch.first);
    if (stretch.last > stretch.first) out += fmt::format("–{}", stretch.last);
  }
  return out;
}

}  // namespace conclave::causality
