#include "trace/json.hpp"

#include <fmt/format.h>

#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/describe.hpp"

namespace conclave::trace {
namespace {

using Json = nlohmann::json;

void append_key(std::string& out, std::string_view key) {
  if (out.back() != '{') out += ',';
  append_json_text(out, key);
  out += ':';
}

void append_number_field(std::string& out, std::string_view key, std::uint64_t value) {
  append_key(out, key);
  append_number(out, value);
}

// {"type": "Request", "counter": 3}: contents are JSON objects already, so their fields are spliced in.
void append_item(std::string& out, const Item& item) {
  append_key(out, "type");
  append_json_text(out, item.type);
  if (item.content.size() <= 2) return;
  append_key(out, "content");
  out += item.content;
}

std::string need_text(const Json& object, const char* key) { return object.at(key).get<std::string>(); }

Item read_item(const Json& object) {
  Item item = {need_text(object, "type"), {}};
  if (const auto content = object.find("content"); content != object.end()) item.content = content->dump();
  return item;
}

NodeId read_node(const Json& value) { return {value.get<std::uint32_t>()}; }

std::optional<Kind> kind_named(std::string_view name) {
  for (std::size_t i = 0; i < max_enumerators; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (!enumerator_name(kind).empty() && enumerator_name(kind) == name) return kind;
  }
  return std::nullopt;
}

Header read_header(const Json& line) {
  Header header = {.protocol = need_text(line, "protocol"),
                   .variant = need_text(line, "variant"),
                   .world = need_text(line, "world"),
                   .nodes = {},
                   .seed = line.at("seed").get<std::uint64_t>()};
  for (const Json& node : line.at("nodes")) header.nodes.insert(read_node(node));
  return header;
}

Step read_step(const Json& line) {
  Step step = {.number = line.at("step").get<std::uint64_t>(), .at = {line.at("t").get<std::uint64_t>()}};
  const auto kind = kind_named(need_text(line, "kind"));
  if (!kind) throw std::runtime_error("unknown kind \"" + need_text(line, "kind") + '"');
  step.kind = *kind;
  if (line.contains("node")) step.node = read_node(line["node"]);
  step.lamport = line.value("lamport", std::uint64_t{0});
  if (line.contains("vector")) {
    for (const auto& [node, count] : line["vector"].items())
      step.vector.counts[NodeId{static_cast<std::uint32_t>(std::stoul(node))}] = count.get<std::uint64_t>();
  }
  if (line.contains("cause")) step.cause = line["cause"].get<std::uint64_t>();
  if (line.contains("input")) {
    const Json& input = line["input"];
    step.input = read_item(input);
    if (input.contains("from")) step.from = read_node(input["from"]);
    if (input.contains("message")) step.message = input["message"].get<std::uint64_t>();
  }
  if (line.contains("sends")) {
    for (const Json& sent : line["sends"])
      step.sends.push_back(
          {read_node(sent.at("to")), sent.at("message").get<std::uint64_t>(), read_item(sent)});
  }
  if (line.contains("events")) {
    for (const Json& event : line["events"]) step.events.push_back(read_item(event));
  }
  if (line.contains("notes")) {
    for (const Json& note : line["notes"]) step.notes.push_back(note.get<std::string>());
  }
  if (line.contains("state")) step.changed = line["state"].dump();
  return step;
}

}  // namespace

std::string to_json(const Header& header) {
  std::string out = "{";
  append_number_field(out, "conclave-trace", format_version);
  append_key(out, "protocol");
  append_json_text(out, header.protocol);
  append_key(out, "variant");
  append_json_text(out, header.variant);
  append_key(out, "world");
  append_json_text(out, header.world);
  append_key(out, "nodes");
  out += describe_json(header.nodes);
  append_number_field(out, "seed", header.seed);
  return out + "}";
}

std::string to_json(const Step& step) {
  std::string out = "{";
  append_number_field(out, "step", step.number);
  append_number_field(out, "t", step.at.count);
  if (step.node) append_number_field(out, "node", step.node->value);
  append_key(out, "kind");
  append_json_text(out, enumerator_name(step.kind));
  if (step.node) {
    append_number_field(out, "lamport", step.lamport);
    append_key(out, "vector");
    out += describe_json(step.vector);
  }
  if (step.cause) append_number_field(out, "cause", *step.cause);
  if (!step.input.type.empty()) {
    append_key(out, "input");
    out += '{';
    append_item(out, step.input);
    if (step.from) append_number_field(out, "from", step.from->value);
    if (step.message) append_number_field(out, "message", *step.message);
    out += '}';
  }
  if (!step.sends.empty()) {
    append_key(out, "sends");
    out += '[';
    for (const Sent& sent : step.sends) {
      if (out.back() != '[') out += ',';
      out += '{';
      append_number_field(out, "to", sent.to.value);
      append_item(out, sent.what);
      append_number_field(out, "message", sent.id);
      out += '}';
    }
    out += ']';
  }
  if (!step.events.empty()) {
    append_key(out, "events");
    out += '[';
    for (const Item& event : step.events) {
      if (out.back() != '[') out += ',';
      out += '{';
      append_item(out, event);
      out += '}';
    }
    out += ']';
  }
  if (!step.notes.empty()) {
    append_key(out, "notes");
    out += describe_json(step.notes);
  }
  if (step.changed.size() > 2) {
    append_key(out, "state");
    out += step.changed;
  }
  return out + "}";
}

std::string to_json(const End& end, std::uint64_t steps) {
  std::string out = "{";
  append_number_field(out, "end", steps);
  append_number_field(out, "t", end.at.count);
  append_key(out, "quiet");
  out += end.quiet ? "true" : "false";
  if (!end.broken.empty()) {
    append_key(out, "broken");
    append_json_text(out, end.broken);
  }
  return out + "}";
}

void JsonWriter::begin(const Header& header) { out_ << to_json(header) << '\n'; }

void JsonWriter::see(const Step& step) {
  ++steps_;
  out_ << to_json(step) << '\n';
}

void JsonWriter::end(const End& end) { out_ << to_json(end, steps_) << '\n'; }

std::expected<Run, std::string> read(std::istream& in) {
  Run run;
  std::string text;
  bool ended = false;
  for (std::uint64_t number = 1; std::getline(in, text); ++number) {
    const auto wrong = [&](std::string_view what) {
      return std::unexpected(fmt::format("line {}: {}", number, what));
    };
    if (ended) return wrong("the trace goes on after its end line");
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) return wrong("not a JSON object; the file may be cut off or no trace at all");
    try {
      if (number == 1) {
        const auto version = line.find("conclave-trace");
        if (version == line.end()) return wrong("no \"conclave-trace\" header: this is not a conclave trace");
        if (*version != format_version)
          return wrong(fmt::format("format version {}; this program reads version {}", version->dump(),
                                   format_version));
        run.header = read_header(line);
      } else if (line.contains("end")) {
        if (line["end"] != run.steps.size())
          return wrong(fmt::format("the end line counts {} steps, the file has {}", line["end"].dump(),
                                   run.steps.size()));
        run.end = {.at = {line.at("t").get<std::uint64_t>()},
                   .quiet = line.at("quiet").get<bool>(),
                   .broken = line.value("broken", std::string{})};
        ended = true;
      } else {
        run.steps.push_back(read_step(line));
      }
    } catch (const std::exception& problem) {
      return wrong(problem.what());
    }
  }
  if (run.header.world.empty()) return std::unexpected("the file is empty");
  if (!ended) return std::unexpected(fmt::format("truncated: {} steps and no end line", run.steps.size()));
  return run;
}

}  // namespace conclave::trace
