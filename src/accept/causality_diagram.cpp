#include "accept/causality_diagram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace conclave::accept {
namespace {

using causality::Cut;
using causality::Diagram;
using causality::EventId;
using causality::Message;

std::optional<std::uint32_t> to_number(std::string_view text) {
  if (text.starts_with('p')) text.remove_prefix(1);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "i.k", with i as written.
std::optional<EventId> to_event(std::string_view text) {
  const std::size_t dot = text.find_first_of("._");
  if (dot == std::string_view::npos) return std::nullopt;
  const auto process = to_number(text.substr(0, dot));
  const auto number = to_number(text.substr(dot + 1));
  if (!process || !number) return std::nullopt;
  return EventId{*process, *number};
}

EventId need_event(const Json& text) {
  const auto event = text.is_string() ? to_event(text.get<std::string>()) : std::nullopt;
  if (!event) throw CannotPlay(fmt::format("{} is no event; write \"i.k\"", text.dump()));
  return *event;
}

std::uint32_t first_process(const Json& messages) {
  for (const Json& message : messages) {
    if (need_event(message.at(0)).process == 0 || need_event(message.at(1)).process == 0) return 0;
  }
  return 1;
}

Diagram read(const Json& config, std::uint32_t first) {
  const Json drawn = config.value("messages", Json::array());
  std::vector<std::uint32_t> counts(number_or(config, "n", 0));
  if (config.contains("events_per_process")) {
    const Json& given = config["events_per_process"];
    if (given.is_number()) {
      std::ranges::fill(counts, given.get<std::uint32_t>());
    } else {
      counts = given.get<std::vector<std::uint32_t>>();
    }
  }
  std::vector<Message> messages;
  for (const Json& message : drawn) {
    Message read = {need_event(message.at(0)), need_event(message.at(1))};
    for (EventId* end : {&read.sent, &read.received}) {
      if (end->process < first) throw CannotPlay(fmt::format("there is no process {}", end->process));
      end->process -= first;
      if (config.contains("events_per_process")) continue;
      if (end->process >= counts.size()) counts.resize(end->process + 1);
      counts[end->process] = std::max(counts[end->process], end->number);
    }
    messages.push_back(read);
  }
  auto diagram = Diagram::of(std::move(counts), std::move(messages));
  if (!diagram) throw CannotPlay(diagram.error());
  return std::move(*diagram);
}

}  // namespace

std::uint64_t number_or(const Json& object, const char* key, std::uint64_t otherwise) {
  return object.contains(key) ? object[key].get<std::uint64_t>() : otherwise;
}

Json in_the_order_of(const Json& sample, Json list) {
  if (!sample.is_array() || sample.size() != list.size()) return list;
  return std::is_permutation(sample.begin(), sample.end(), list.begin()) ? sample : list;
}

DrawnDiagram::DrawnDiagram(const Json& config)
    : diagram(read(config, first_process(config.value("messages", Json::array())))),
      names_(config.value("names", Json::object())),
      first_(first_process(config.value("messages", Json::array()))) {}

std::string DrawnDiagram::text(EventId event) const {
  return fmt::format("{}.{}", event.process + first_, event.number);
}

std::optional<EventId> DrawnDiagram::find(const std::string& name) const {
  auto event = names_.contains(name) ? to_event(names_[name].get<std::string>()) : to_event(name);
  if (!event || event->process < first_) return std::nullopt;
  event->process -= first_;
  const bool known = event->process < diagram.processes() && event->number > 0 &&
                     event->number <= diagram.events_of_each()[event->process];
  return known ? event : std::nullopt;
}

EventId DrawnDiagram::event(const Json& text) const {
  const auto found = text.is_string() ? find(text.get<std::string>()) : std::nullopt;
  if (!found) throw CannotPlay(fmt::format("{} is no event of the diagram", text.dump()));
  return *found;
}

std::uint32_t DrawnDiagram::process(const std::string& name) const {
  const auto number = to_number(name);
  if (!number || *number < first_ || *number - first_ >= diagram.processes())
    throw CannotPlay(fmt::format("there is no process '{}'", name));
  return *number - first_;
}

Cut DrawnDiagram::cut(const Json& value) const {
  Cut cut(diagram.processes());
  const auto set = [&](std::uint32_t process, std::uint32_t number) {
    if (process >= cut.size() || number > diagram.events_of_each()[process])
      throw CannotPlay(fmt::format("{} reaches beyond the diagram", value.dump()));
    cut[process] = number;
  };
  const auto set_event = [&](const Json& text) {
    const std::string name = text.get<std::string>();
    const EventId event = names_.contains(name) ? need_event(names_[name]) : need_event(text);
    set(event.process - first_, event.number);
  };
  if (!value.is_structured()) throw CannotPlay(fmt::format("{} is no cut", value.dump()));
  std::uint32_t position = 0;
  for (const auto& [name, member] : value.items()) {
    if (member.is_string()) {
      set_event(member);
    } else if (member.is_number_unsigned()) {
      set(value.is_object() ? process(name) : position, member.get<std::uint32_t>());
    } else {
      throw CannotPlay(fmt::format("{} is no cut", value.dump()));
    }
    ++position;
  }
  return cut;
}

Json DrawnDiagram::written_like(const Json& sample, const Cut& cut) const {
  const bool as_events = sample.is_structured() && !sample.empty() && sample.begin()->is_string();
  const auto written = [&](std::uint32_t process) {
    return as_events ? Json(text({process, cut[process]})) : Json(cut[process]);
  };
  if (sample.is_object()) {
    Json object = Json::object();
    for (const auto& [name, member] : sample.items()) object[name] = written(process(name));
    return object;
  }
  Json list = Json::array();
  for (std::uint32_t process = 0; process < cut.size(); ++process) list.push_back(written(process));
  return list;
}

}  // namespace conclave::accept
