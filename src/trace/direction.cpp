#include "trace/direction.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/names.hpp"
#include "trace/drawing.hpp"
#include "trace/parse_json.hpp"

namespace conclave::trace {
namespace {

using Json = nlohmann::ordered_json;

// The messages that have been sent so far, by their numbers.
class Post {
 public:
  struct Letter {
    NodeId from = {};
    const Sent* sent = nullptr;
  };

  void see(const Step& step) {
    if (!step.node) return;
    for (const Sent& sent : step.sends) letters_[sent.id] = {*step.node, &sent};
  }
  const Letter* find(const Step& step) const {
    const auto found = step.message ? letters_.find(*step.message) : letters_.end();
    return found == letters_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::uint64_t, Letter> letters_;
};

NodeSet group_of(const Item& partition) {
  NodeSet group;
  const Json action = parse_json<Json>(partition.content);
  if (!action.is_object() || !action.contains("group") || !action["group"].is_array()) return group;
  for (const Json& node : action["group"]) {
    if (node.is_number_unsigned() && node.get<std::uint64_t>() <= UINT32_MAX)
      group.insert({node.get<std::uint32_t>()});
  }
  return group;
}

// Of an access: what was read or written, as a number; empty if it touched no register.
std::string value_of(const Item& access) {
  const Json content = parse_json<Json>(access.content);
  if (!content.is_object() || !content.contains("value")) return {};
  return content["value"].dump();
}

// What is wrong with the step, if it cannot be repeated; else `direction` says how.
std::string direct(const Step& step, const Post& post, Direction& direction) {
  direction = {.kind = step.kind,
               .node = step.node.value_or(NodeId{}),
               .from = step.from.value_or(NodeId{}),
               .type = step.input.type,
               .at = step.at.count,
               .message = step.message.value_or(0)};
  switch (step.kind) {
    case Kind::command: direction.content = step.input.content; return {};
    case Kind::recover: direction.content = step.changed; return {};
    case Kind::deliver:
    case Kind::bounce: direction.content = step.input.content; [[fallthrough]];
    case Kind::hear: return step.from ? "" : "does not say whose message it is";
    case Kind::tell:
      if (step.sends.size() != 1) return "does not say whom the application told";
      direction.from = step.sends.front().to;
      direction.type = step.sends.front().what.type;
      return {};
    case Kind::lose:
    case Kind::duplicate: {
      const Post::Letter* letter = post.find(step);
      if (!letter) return "names a message that no earlier step sent";
      direction.node = letter->sent->to;
      direction.from = letter->from;
      direction.type = letter->sent->what.type;
      direction.content = letter->sent->what.content;
      if (step.kind == Kind::lose) direction.why = step.input.type;
      return {};
    }
    case Kind::partition:
      direction.group = group_of(step.input);
      direction.content = step.input.content;
      return {};
    case Kind::access: direction.content = value_of(step.input); return {};
    case Kind::event: return "comes from the log of another program";
    default: return {};
  }
}

}  // namespace

std::expected<Directions, std::string> directions_of(const std::vector<Step>& steps) {
  Directions directions;
  Post post;
  for (const Step& step : steps) {
    if (is_directed(step)) {
      const std::string wrong = direct(step, post, directions.emplace_back());
      if (!wrong.empty()) return std::unexpected(fmt::format("step {} {}", step.number, wrong));
    }
    post.see(step);
  }
  return directions;
}

std::string in_words(const Direction& direction) {
  const std::string node = name_of(direction.node);
  const std::string from = name_of(direction.from);
  const auto message = [&](const char* verb) {
    return fmt::format("{} {} from {} to {}", verb, direction.type, from, node);
  };
  switch (direction.kind) {
    case Kind::command: return fmt::format("let the client of {} say {}", node, direction.type);
    case Kind::deliver: return message("deliver");
    case Kind::lose: return message("lose");
    case Kind::duplicate: return message("duplicate");
    case Kind::tell: return fmt::format("let {} tell {} something", node, from);
    case Kind::hear: return fmt::format("let {} hear what {} told it", node, from);
    case Kind::timer: return fmt::format("fire timer {} of {}", direction.type, node);
    case Kind::choice: return fmt::format("let the coin of {} show {}", node, direction.type);
    case Kind::bounce: return fmt::format("send {} to {} back to {}", direction.type, from, node);
    case Kind::round: return fmt::format("begin round {} at {}", direction.type, node);
    case Kind::access: return fmt::format("let {} take a step", node);
    case Kind::synced: return fmt::format("let the disk of {} finish", node);
    case Kind::partition: return "cut links";
    case Kind::heal: return "heal links";
    default: return fmt::format("{} {}", enumerator_name(direction.kind), node);
  }
}

}  // namespace conclave::trace
