#include "sim/direct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/ensure.hpp"
#include "core/names.hpp"
#include "sim/script.hpp"

namespace conclave::sim {
namespace {

using trace::Kind;

template <class T>
std::optional<T> number(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string no_number(const char* what, const std::string& text) {
  return fmt::format("'{}' is no {}", text, what);
}

// "2 writes lost", or nothing.
std::string crash(Stage& stage, const trace::Direction& direction) {
  if (!stage.is_up(direction.node)) return "it is not up";
  if (direction.type.empty()) return stage.crash(direction.node);
  const auto writes = number<std::uint64_t>(direction.type.substr(0, direction.type.find(' ')));
  return writes ? stage.crash_losing(direction.node, *writes) : no_number("number of writes", direction.type);
}

std::string recover(Stage& stage, const trace::Direction& direction) {
  if (direction.type != "durable" && direction.type != "fresh")
    return fmt::format("a node comes back 'durable' or 'fresh', not '{}'", direction.type);
  return stage.recover(direction.node, direction.type == "durable", direction.content);
}

// "3 steps", or nothing: one.
std::string sync(Stage& stage, const trace::Direction& direction) {
  if (direction.type.empty()) return stage.sync(direction.node, 1);
  const auto steps = number<std::uint64_t>(direction.type.substr(0, direction.type.find(' ')));
  return steps ? stage.sync(direction.node, *steps) : no_number("number of steps", direction.type);
}

std::string access(Stage& stage, const trace::Direction& direction) {
  if (direction.content.empty()) return stage.access(direction.node, direction.type, std::nullopt);
  const auto value = number<std::uint64_t>(direction.content);
  if (!value) return no_number("value of a register", direction.content);
  return stage.access(direction.node, direction.type, *value);
}

std::string partition(Stage& stage, const trace::Direction& direction) {
  std::string content = direction.content;
  if (content.empty())
    content = to_json({.what = Action::What::partition,
                       .at = {direction.at},
                       .node = direction.node,
                       .group = direction.group});
  return stage.remark_on_links(Kind::partition, {"partition", std::move(content)});
}

}  // namespace

std::string follow(Stage& stage, const trace::Direction& direction) {
  stage.set_time({direction.at});
  const NodeId node = direction.node;
  const Which arriving = {direction.from, node, direction.type, direction.content, direction.message};
  switch (direction.kind) {
    case Kind::command: return stage.command_exactly(node, direction.type, direction.content);
    case Kind::deliver: return stage.deliver_exactly(arriving);
    case Kind::lose: return stage.lose(arriving, direction.why.empty() ? "on the way" : direction.why);
    case Kind::duplicate: return stage.duplicate(arriving);
    case Kind::bounce: return stage.bounce({node, direction.from, direction.type, direction.content});
    case Kind::tell: return stage.send_word(node, direction.from);
    case Kind::hear:
      return stage.hear_word(
          {.from = direction.from, .to = node, .type = "application", .id = direction.message});
    case Kind::timer: return stage.fire_timer(node, direction.type);
    case Kind::choice: {
      const auto face = number<unsigned>(direction.type);
      return face ? stage.toss(node, *face) : no_number("face of a coin", direction.type);
    }
    case Kind::round: {
      const auto round = number<std::uint32_t>(direction.type);
      return round ? stage.begin_round(node, *round) : no_number("number of a round", direction.type);
    }
    case Kind::synced: return sync(stage, direction);
    case Kind::crash: return crash(stage, direction);
    case Kind::recover: return recover(stage, direction);
    case Kind::access: return access(stage, direction);
    case Kind::partition: return partition(stage, direction);
    case Kind::heal: return stage.remark_on_links(Kind::heal, {"heal", {}});
    case Kind::pause:
    case Kind::resume:
    case Kind::clock:
    case Kind::disk: return stage.remark(direction.kind, node, direction.type);
    case Kind::start:
    case Kind::event: break;
  }
  return fmt::format("nobody can direct a step of kind '{}'", enumerator_name(direction.kind));
}

Followed run_directions(Stage& stage, const trace::Directions& directions,
                        const trace::Repetition* repetition) {
  Followed followed;
  stage.leave_bounces_to_director();
  // In a run whose disks take time, each says when it is done.
  if (std::ranges::any_of(directions, [](const auto& d) { return d.kind == Kind::synced; }))
    stage.leave_disks_to_director();
  const auto departed = [&] { return repetition && !repetition->departure().empty(); };
  for (const trace::Direction& direction : directions) {
    if (departed()) break;
    std::string wrong;
    try {
      wrong = follow(stage, direction);
    } catch (const InvariantViolation& violation) {
      followed.broken = violation.what();
    }
    if (!wrong.empty()) {
      // Every member starts, and every direction after that is one step.
      const std::size_t step = stage.members().size() + followed.directions + 1;
      followed.problem = fmt::format("step {}: cannot {}: {}", step, in_words(direction), wrong);
      return followed;
    }
    ++followed.directions;
    if (!followed.broken.empty()) break;
  }
  if (departed()) followed.problem = repetition->departure();
  return followed;
}

void Tally::see(const trace::Step& step) {
  ++report_.steps;
  switch (step.kind) {
    case Kind::tell: ++report_.application_messages; return;
    case Kind::lose: ++report_.lost; return;
    case Kind::duplicate: ++report_.duplicated; return;
    case Kind::bounce: ++report_.bounced; break;
    case Kind::round:
      report_.rounds = std::max(report_.rounds, number<std::uint32_t>(step.input.type).value_or(0));
      break;
    case Kind::access:
      if (step.input.type == "read" || step.input.type == "write") ++report_.sent[step.input.type];
      return;
    default: break;
  }
  report_.messages += step.sends.size();
  for (const trace::Sent& sent : step.sends) ++report_.sent[sent.what.type];
}

void Tally::end(const trace::End& end) {
  report_.end = end.at;
  report_.quiet = end.quiet;
  report_.broken = end.broken;
}

}  // namespace conclave::sim
