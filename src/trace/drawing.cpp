#include "trace/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trace/diagram.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::trace {
namespace {

using Json = nlohmann::ordered_json;  // fields stay in the order of their declaration

// Most protocols do nothing when they start; a row for each node would only push the run off the screen.
bool worth_drawing(const Step& step) {
  return step.kind != Kind::start || !step.sends.empty() || !step.events.empty();
}

// JSON without its quotation marks: {counter 1, group [2, 3]}.
std::string compact(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& [key, member] : value.items()) {
    if (!out.empty()) out += ", ";
    if (value.is_object()) out += key + ' ';
    out += compact(member);
  }
  return value.is_object() ? '{' + out + '}' : '[' + out + ']';
}

constexpr std::size_t longest_content = 48;

std::string recipients(NodeId from, const NodeSet& to, const NodeSet& all) {
  return to.size() > 3 && to == all.without(from) ? "all others" : names_of(to);
}

// Request to p2, p3; Reply to p4: one entry per type, in the order in which the types first left.
std::string sends_in_words(const Step& step, const NodeSet& all) {
  std::vector<std::pair<std::string_view, NodeSet>> by_type;
  for (const Sent& sent : step.sends) {
    auto found = std::ranges::find(by_type, sent.what.type, [](const auto& entry) { return entry.first; });
    if (found == by_type.end()) found = by_type.insert(found, {sent.what.type, {}});
    found->second.insert(sent.to);
  }
  std::string out;
  for (const auto& [type, to] : by_type)
    out += fmt::format("{}{} to {}", out.empty() ? "" : "; ", type, recipients(*step.node, to, all));
  return out;
}

NodeSet nodes_listed(const Json& list) {
  NodeSet nodes;
  for (const Json& node : list) {
    if (node.is_number_unsigned()) nodes.insert({node.get<std::uint32_t>()});
  }
  return nodes;
}

std::string cut_in_words(const Item& input) {
  const Json action = Json::parse(input.content, nullptr, false);
  if (!action.is_object() || !action.contains("group")) return "links cut";
  const std::string group = names_of(nodes_listed(action["group"]));
  const std::string cut = action.contains("cut") ? compact(action["cut"]) : "two-way";
  if (cut == "one-way") return fmt::format("links cut from {} to the others", group);
  const std::string text = fmt::format("links cut between {} and the others", group);
  return cut == "bridge" && action.contains("node")
             ? fmt::format("{}; p{} reaches both", text, compact(action["node"]))
             : text;
}

std::string message_in_words(const Step& step, const Cast& cast) {
  const Flight* flight = cast.flight(step);
  if (!flight) return step.message ? fmt::format("message {}", *step.message) : "a message";
  const std::string what = flight->by_application ? "message" : flight->sent->what.type;
  return fmt::format("{} from {} to {}", what, cast.name(flight->from), cast.name(flight->sent->to));
}

std::string command_in_words(const Step& step) {
  if (step.input.type == "Acquire") return "asks to enter";
  if (step.input.type == "Release") return "leaves";
  return "is asked: " + describe(step.input);
}

// reads k = 2, writes b[1] := 0
std::string access_in_words(const Step& step) {
  const Json access = Json::parse(step.input.content, nullptr, false);
  if (!access.is_object() || !access.contains("register") || !access.contains("value")) return "goes on";
  const std::string what = compact(access["register"]);
  const std::string value = compact(access["value"]);
  if (step.input.type == "read") return fmt::format("reads {} = {}", what, value);
  return fmt::format("{} {} := {}", step.input.type == "begin" ? "begins" : "writes", what, value);
}

std::string with_reason(std::string text, const std::string& reason) {
  return reason.empty() ? text : fmt::format("{} ({})", text, reason);
}

// What came in, without the node's name.
std::string input_in_words(const Step& step, const Cast& cast) {
  const std::string from = step.from ? " from " + cast.name(*step.from) : "";
  switch (step.kind) {
    case Kind::start: return "starts";
    case Kind::command: return command_in_words(step);
    case Kind::deliver: return fmt::format("gets {}{}", describe(step.input), from);
    case Kind::tell: return step.sends.empty() ? "tells nobody" : "tells " + cast.name(step.sends.front().to);
    case Kind::hear: return "hears" + from;
    case Kind::bounce: return fmt::format("gets {} back", describe(step.input));
    case Kind::round: return "begins round " + step.input.type;
    case Kind::timer: return fmt::format("is woken by timer {}", step.input.type);
    case Kind::choice: return "tosses " + step.input.type;
    case Kind::crash: return with_reason("crashes", step.input.type);
    case Kind::recover: return with_reason("comes back", step.input.type);
    case Kind::pause: return with_reason("stands still", step.input.type);
    case Kind::resume: return with_reason("goes on", step.input.type);
    case Kind::clock: return "has its clock changed: " + step.input.type;
    case Kind::access: return access_in_words(step);
    case Kind::synced: return "has it on disk";
    case Kind::disk: return "has a disk that " + step.input.type;
    default: return step.input.type;
  }
}

std::string event_in_words(const Item& event) {
  if (event.type != "Granted") return describe(event);
  const auto fence = number_field(event.content, "fence");
  return fence ? fmt::format("ENTERS (fence {})", *fence) : "ENTERS";
}

std::string link_step_in_words(const Step& step, const Cast& cast) {
  switch (step.kind) {
    case Kind::partition: return cut_in_words(step.input);
    case Kind::heal: return "links heal";
    case Kind::lose: return with_reason(message_in_words(step, cast) + " is lost", step.input.type);
    case Kind::duplicate: return message_in_words(step, cast) + " will arrive twice";
    default: return describe(step.input);
  }
}

}  // namespace

std::string describe(const Item& item) {
  if (item.content.size() <= 2) return item.type;  // {} or nothing at all
  if (item.content.size() > 4 * longest_content) return item.type + "{…}";
  const Json content = Json::parse(item.content, nullptr, false);
  const std::string fields = content.is_discarded() ? item.content : compact(content);
  return item.type + (fields.size() > longest_content ? "{…}" : fields);
}

Rows first_rows(const std::vector<Step>& steps, std::size_t most) {
  Rows rows;
  for (const Step& step : steps) {
    if (!worth_drawing(step)) continue;
    if (rows.steps.size() < most) {
      rows.steps.push_back(&step);
    } else {
      ++rows.left_out;
    }
  }
  return rows;
}

// The header may name no nodes, or a damaged trace more than the header; whoever acts gets a lane.
Cast cast_of(const Header& header, const std::vector<const Step*>& rows) {
  Cast cast = {.nodes = header.nodes, .names = header.names};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Step& step = *rows[row];
    if (step.node) cast.nodes.insert(*step.node);
    if (step.from) cast.nodes.insert(*step.from);
    for (const Sent& sent : step.sends) {
      cast.nodes.insert(sent.to);
      if (step.node) cast.flights[sent.id] = {row, *step.node, &sent, step.kind == Kind::tell};
    }
  }
  return cast;
}

bool grants(const Step& step) {
  return std::ranges::any_of(step.events, [](const Item& event) { return event.type == "Granted"; });
}

void Conditions::see(const Step& step) {
  if (!step.node) return;
  Condition& node = nodes_[*step.node];
  switch (step.kind) {
    case Kind::command:
      if (step.input.type == "Acquire") node.waiting = true;
      if (step.input.type == "Release") node.inside = false;
      break;
    case Kind::crash: node = {.down = true}; break;
    case Kind::recover: node = {}; break;
    case Kind::pause: node.paused = true; break;
    case Kind::resume: node.paused = false; break;
    default: break;
  }
  if (!grants(step)) return;
  node.inside = true;
  node.waiting = false;
}

Condition Conditions::of(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? Condition{} : found->second;
}

NodeSet Conditions::intruded_upon_by(const Step& step) const {
  NodeSet others;
  if (!step.node || !grants(step)) return others;
  for (const auto& [node, condition] : nodes_) {
    if (condition.inside && node != *step.node) others.insert(node);
  }
  return others;
}

std::string Cast::name(NodeId node) const {
  const auto found = names.find(node);
  return found == names.end() ? name_of(node) : found->second;
}

std::string name_of(NodeId node) { return fmt::format("p{}", node.value); }

// p1, p2, p3; long runs as p1–p9.
std::string names_of(const NodeSet& nodes) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const NodeSet::Run& run : nodes.runs()) {
    if (run.last - run.first >= 3) {
      add(fmt::format("p{}–p{}", run.first, run.last));
    } else {
      for (std::uint32_t id = run.first; id <= run.last; ++id) add(name_of({id}));
    }
  }
  return out;
}

std::string in_words(const Step& step, const Cast& cast, const NodeSet& intruded_upon) {
  if (!step.node) return link_step_in_words(step, cast);
  if (step.kind == Kind::event) return fmt::format("{}: {}", cast.name(*step.node), step.input.type);
  std::string out = cast.name(*step.node) + ' ' + input_in_words(step, cast);
  for (const Item& event : step.events) out += ", " + event_in_words(event);
  if (!intruded_upon.empty())
    out += fmt::format(" although {} {} inside", names_of(intruded_upon),
                       intruded_upon.size() == 1 ? "is" : "are");
  if (!step.sends.empty() && step.kind != Kind::tell) out += " → " + sends_in_words(step, cast.nodes);
  for (const std::string& note : step.notes) out += " (" + note + ')';
  return out;
}

std::string words(const Step& step) { return in_words(step, {}); }

}  // namespace conclave::trace
