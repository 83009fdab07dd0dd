#include "trace/json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/describe.hpp"
#include "trace/parse_json.hpp"

namespace conclave::trace {
namespace {

using Json = nlohmann::ordered_json;  // contents keep the order of their fields

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

// What is wrong with a line, in words.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const Json& need(const Json& object, const char* key) {
  if (!object.is_object()) throw Wrong(fmt::format("{} is no object", object.dump()));
  const auto found = object.find(key);
  if (found == object.end()) throw Wrong(fmt::format("\"{}\" is missing", key));
  return *found;
}

std::string need_text(const Json& object, const char* key) {
  const Json& value = need(object, key);
  if (!value.is_string()) throw Wrong(fmt::format("\"{}\" is no text", key));
  return value.get<std::string>();
}

std::uint64_t number(const Json& value, const char* what) {
  if (!value.is_number_unsigned())
    throw Wrong(fmt::format("{} {} is no number of 0 or more", what, value.dump()));
  return value.get<std::uint64_t>();
}

std::uint64_t need_number(const Json& object, const char* key) { return number(need(object, key), key); }

NodeId read_node(const Json& value) {
  const std::uint64_t id = number(value, "node");
  if (id > UINT32_MAX) throw Wrong(fmt::format("node {} is too large", id));
  return {static_cast<std::uint32_t>(id)};
}

NodeId read_node(const std::string& text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Wrong(fmt::format("\"vector\" names no node with \"{}\"", text));
  return {id};
}

Item read_item(const Json& object) {
  Item item = {need_text(object, "type"), {}};
  if (const auto content = object.find("content"); content != object.end()) item.content = content->dump();
  return item;
}

const Json& need_list(const Json& object, const char* key) {
  const Json& list = need(object, key);
  if (!list.is_array()) throw Wrong(fmt::format("\"{}\" is no list", key));
  return list;
}

Header read_header(const Json& line) {
  Header header = {.protocol = need_text(line, "protocol"),
                   .variant = need_text(line, "variant"),
                   .world = need_text(line, "world"),
                   .nodes = {},
                   .seed = need_number(line, "seed")};
  for (const Json& node : need_list(line, "nodes")) header.nodes.insert(read_node(node));
  if (line.contains("node")) header.node = read_node(line["node"]);
  if (line.contains("run")) header.run = need_text(line, "run");
  return header;
}

End read_end(const Json& line) {
  if (!need(line, "quiet").is_boolean()) throw Wrong("\"quiet\" is neither true nor false");
  return {.at = {need_number(line, "t")},
          .quiet = line["quiet"].get<bool>(),
          .broken = line.contains("broken") ? need_text(line, "broken") : std::string()};
}

void check_version(const Json& line) {
  const auto version = line.find("conclave-trace");
  if (version == line.end()) throw Wrong("no \"conclave-trace\" header: this is not a conclave trace");
  if (*version != format_version)
    throw Wrong(
        fmt::format("format version {}; this program reads version {}", version->dump(), format_version));
}

constexpr const char* no_object = "not a JSON object; the file may be cut off or no trace at all";

Step read_step(const Json& line) {
  Step step = {.number = need_number(line, "step"), .at = {need_number(line, "t")}};
  const auto kind = enumerator_named<Kind>(need_text(line, "kind"));
  if (!kind) throw Wrong(fmt::format("unknown kind \"{}\"", need_text(line, "kind")));
  step.kind = *kind;
  if (line.contains("node")) step.node = read_node(line["node"]);
  if (line.contains("lamport")) step.lamport = need_number(line, "lamport");
  if (line.contains("vector")) {
    if (!line["vector"].is_object()) throw Wrong("\"vector\" is no object");
    for (const auto& [node, count] : line["vector"].items())
      step.vector.counts[read_node(node)] = number(count, "vector");
  }
  if (line.contains("cause")) step.cause = need_number(line, "cause");
  if (line.contains("input")) {
    const Json& input = line["input"];
    step.input = read_item(input);
    if (input.contains("from")) step.from = read_node(input["from"]);
    if (input.contains("message")) step.message = need_number(input, "message");
  }
  if (line.contains("sends")) {
    for (const Json& sent : need_list(line, "sends"))
      step.sends.push_back({read_node(need(sent, "to")), need_number(sent, "message"), read_item(sent)});
  }
  if (line.contains("events")) {
    for (const Json& event : need_list(line, "events")) step.events.push_back(read_item(event));
  }
  if (line.contains("notes")) {
    for (const Json& note : need_list(line, "notes")) {
      if (!note.is_string()) throw Wrong("a note is no text");
      step.notes.push_back(note.get<std::string>());
    }
  }
  if (line.contains("state")) step.changed = line["state"].dump();
  // Only what happens to links is nobody's step.
  const bool linkwise =
      *kind == Kind::partition || *kind == Kind::heal || *kind == Kind::lose || *kind == Kind::duplicate;
  if (!step.node && !linkwise) throw Wrong("\"node\" is missing");
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
  if (header.node) append_number_field(out, "node", header.node->value);
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

// In one piece: other runs write to the same file, and a process may die at any time.
void JsonWriter::write(std::string line) {
  if (!run_.empty()) line.replace(0, 1, run_);
  line += '\n';
  out_.write(line.data(), static_cast<std::streamsize>(line.size()));
}

void JsonWriter::begin(const Header& header) {
  run_.clear();
  steps_ = 0;
  if (!header.run.empty()) {
    run_ = "{\"run\":";
    append_json_text(run_, header.run);
    run_ += ',';
  }
  write(to_json(header));
}

void JsonWriter::see(const Step& step) {
  ++steps_;
  write(to_json(step));
}

void JsonWriter::end(const End& end) { write(to_json(end, steps_)); }

bool begins_trace(std::string_view head) {
  return head.starts_with('{') &&
         head.substr(0, head.find('\n')).find("\"conclave-trace\"") != std::string_view::npos;
}

std::expected<Line, std::string> parse_line(std::string_view text) {
  const Json line = parse_json<Json>(text);
  if (!line.is_object()) return std::unexpected(no_object);
  try {
    Line parsed;
    if (line.contains("run")) parsed.run = need_text(line, "run");
    if (line.contains("conclave-trace")) {
      check_version(line);
      parsed.what = read_header(line);
    } else if (line.contains("end")) {
      parsed.what = Line::Ending{read_end(line), need_number(line, "end")};
    } else {
      parsed.what = read_step(line);
    }
    return parsed;
  } catch (const std::exception& problem) {
    return std::unexpected(problem.what());
  }
}

std::expected<Run, std::string> read(std::istream& in) {
  Run run;
  std::string text;
  bool begun = false;
  bool ended = false;
  for (std::uint64_t line_number = 1; std::getline(in, text); ++line_number) {
    const auto wrong = [&](std::string_view what) {
      return std::unexpected(fmt::format("line {}: {}", line_number, what));
    };
    if (ended) return wrong("the trace goes on after its end line");
    const Json line = parse_json<Json>(text);
    if (!line.is_object()) return wrong(no_object);
    try {
      if (line_number == 1) {
        check_version(line);
        run.header = read_header(line);
        begun = true;
        if (run.header.node)
          return wrong(
              fmt::format("this is what p{} wrote of a run; conclave trace merge joins it with what "
                          "the others wrote",
                          run.header.node->value));
      } else if (line.contains("end")) {
        if (line["end"] != run.steps.size())
          return wrong(fmt::format("the end line counts {} steps, the file has {}", line["end"].dump(),
                                   run.steps.size()));
        run.end = read_end(line);
        ended = true;
      } else {
        run.steps.push_back(read_step(line));
      }
    } catch (const std::exception& problem) {
      return wrong(problem.what());
    }
  }
  if (!begun) return std::unexpected("the file is empty");
  if (!ended) return std::unexpected(fmt::format("truncated: {} steps and no end line", run.steps.size()));
  return run;
}

}  // namespace conclave::trace
