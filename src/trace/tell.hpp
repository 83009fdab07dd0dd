// How a world tells what a step did: the logical time of a process, what came in, the effects of the handler,
// and what changed. Worlds differ in how they number messages, and in nothing else that a trace shows.
#pragma once
#include <algorithm>
#include <string>

#include "core/alternative.hpp"
#include "core/effects.hpp"
#include "trace/step.hpp"

namespace conclave::trace {

// Lamport's clock and a vector clock of one process.
struct LogicalClock {
  std::uint64_t lamport = 0;
  VectorClock vector = {};

  // A message arrives that was sent at this time.
  void hear(std::uint64_t sent_lamport, const VectorClock& sent_vector) {
    lamport = std::max(lamport, sent_lamport);
    vector.merge(sent_vector);
  }
  // The next step of the process, which the clock stamps.
  void tick(Step& step, bool with_vector) {
    ++lamport;
    if (with_vector) vector.tick(*step.node);
    step.lamport = lamport;
    step.vector = vector;
  }
};

inline void add_send(Step& step, NodeId to, std::uint64_t id, std::string_view type, std::string content) {
  step.sends.push_back({to, id, {std::string(type), std::move(content)}});
}

template <class Variant>
Item item_of(const Variant& value, bool with_content = true) {
  return {std::string(alternative_name(value)), with_content ? alternative_content(value) : std::string()};
}

// `number()` gives the id of the next message that leaves.
template <class P, class Number>
void tell_effects(Step& step, const Effects<P>& out, bool with_contents, Number&& number) {
  for (const auto* sends : {&out.early, &out.sends}) {
    for (const auto& send : *sends)
      add_send(step, send.to, number(), alternative_name(send.message),
               with_contents ? alternative_content(send.message) : std::string());
  }
  for (const auto& event : out.events) step.events.push_back(item_of(event));
  step.notes.assign(out.notes.begin(), out.notes.end());
}

// The input of a step `synced`: the disk has what so many steps wrote; of one nothing is said.
inline std::string steps_on_disk(std::uint64_t steps) {
  return steps == 1 ? std::string() : std::to_string(steps) + " steps";
}

// The fields that changed; of a process that begins, all of them.
template <class P>
std::string told_change(const Step& step, const P& before, const P& after) {
  const bool anew = step.kind == Kind::start || step.kind == Kind::recover;
  return anew ? describe_json(after) : describe_change(before, after);
}

}  // namespace conclave::trace
