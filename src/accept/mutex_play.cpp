#include "accept/mutex_play.hpp"

#include <fmt/format.h>

#include <cctype>

namespace conclave::accept {
namespace {

constexpr std::size_t most_steps = 1'000'000;

}  // namespace

std::string vector_name(std::string_view type) {
  std::string out;
  for (const char c : type) {
    if (std::isupper(static_cast<unsigned char>(c)) && !out.empty()) out += '_';
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return out;
}

std::string type_of(std::string_view vector_name) {
  std::string out;
  bool begins = true;
  for (const char c : vector_name) {
    if (c == '_') {
      begins = true;
      continue;
    }
    out += begins ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    begins = false;
  }
  return out;
}

Play::Play(const catalogue::Entry& entry, const catalogue::Setting& setting, bool in_order)
    : in_order_(in_order),
      keeper_(most_steps),
      tee_({&monitor_, &keeper_}),
      stage_(entry.stage(setting, &tee_)) {}

void Play::follow(const std::string& problem, const std::string& direction) {
  if (!problem.empty()) throw CannotPlay(fmt::format("'{}' cannot be done: {}", direction, problem));
}

void Play::want(NodeId node) { follow(stage_->command(node, "Acquire"), fmt::format("want {}", node.value)); }

void Play::leave(NodeId node) {
  follow(stage_->command(node, "Release"), fmt::format("leave {}", node.value));
}

void Play::deliver(NodeId from, NodeId to, const std::string& type) {
  const std::string direction = fmt::format("deliver {} {} {}", from.value, to.value, type);
  std::string problem = stage_->deliver(from, to, type_of(type), in_order_);
  // What the sender does by itself at the start, such as passing on the first token, is not in the script.
  if (!problem.empty() && stage_->fire(from).empty())
    problem = stage_->deliver(from, to, type_of(type), in_order_);
  follow(problem, direction);
  ++delivered_;
}

void Play::tell(NodeId from, NodeId to) {
  follow(stage_->tell(from, to), fmt::format("app {} {}", from.value, to.value));
}

void Play::crash(NodeId node) { follow(stage_->crash(node), fmt::format("crash {}", node.value)); }

void Play::fire(NodeId node) { follow(stage_->fire(node), fmt::format("timer of {}", node.value)); }

void Play::inject(NodeId from, NodeId to, const std::string& type) {
  follow(stage_->inject(from, to, type_of(type)),
         fmt::format("{} in flight from {} to {}", type, from.value, to.value));
}

bool Play::advance() {
  if (stage_->deliver_oldest()) {
    ++delivered_;
    return true;
  }
  return stage_->fire_oldest();
}

void Play::drain() {
  for (std::size_t i = 0; advance(); ++i) {
    if (i == most_steps) throw CannotPlay("'drain' does not end: messages circulate for ever");
  }
}

void Play::run_until_entry() {
  const std::size_t before = entries();
  for (std::size_t i = 0; entries() == before && advance(); ++i) {
    if (i == most_steps) throw CannotPlay("nobody enters");
  }
}

void Play::let_everybody_leave() {
  for (bool moved = true; moved;) {
    moved = false;
    for (NodeId node : members()) {
      if (!stage_->may(node, "Release")) continue;
      leave(node);
      moved = true;
    }
    drain();
  }
}

std::string Play::phase(NodeId node) const {
  if (monitor_.inside(node)) return "HELD";
  return monitor_.waiting(node) ? "WANTED" : "RELEASED";
}

Json Play::sent() const {
  Json sent = Json::object();
  for (const auto& [type, count] : monitor_.summary().sent) sent[vector_name(type)] = count;
  return sent;
}

}  // namespace conclave::accept
