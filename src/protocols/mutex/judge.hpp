// What mutual exclusion promises, for the checker. The same six properties as in the monitor of traces:
//
//   EM1    at most one process is inside at any time
//   EM2    everybody who asked and is up got in, by the end of the run
//   EM3    if one request happened before another, it is granted first
//   ND     the run does not end with processes waiting and nobody inside
//   FCFS   who is through the doorway before another comes to it enters first
//   fence  every grant carries a greater token than all before
//
// `order` is no property: asked for by name, it makes the order of entries part of the outcome.
//
// Of the past it remembers only who must enter before whom, among those who wait: neither vectors nor the
// order of events, which would tell apart states that no property tells apart.
#pragma once
#include <algorithm>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ensure.hpp"
#include "core/judge.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct Judge {
  using Command = Spec::Command;
  using Event = Spec::Event;
  using Client = Spec::Client;

  struct Asked {
    bool em1 = false;
    bool em2 = false;
    bool em3 = false;
    bool nd = false;
    bool fcfs = false;
    bool fence = false;
    bool order = false;
    bool operator==(const Asked&) const = default;
  };

  Asked asked = {};
  NodeSet members = {};
  NodeSet inside = {};
  NodeSet waiting = {};
  std::map<NodeId, std::uint32_t> requests = {};  // EM3: made so far
  std::map<NodeId, NodeSet> earlier = {};         // EM3: of who waits, those waiting who asked before him
  NodeSet queued = {};                            // FCFS: waiting, with the doorway behind them
  std::map<NodeId, NodeSet> ahead = {};           // FCFS: of who waits, those who were queued when he came
  std::uint64_t greatest_fence = 0;
  std::vector<NodeId> entered = {};  // in this order; only if the order is asked for
  std::vector<Wrong> complaints = {};
  bool operator==(const Judge&) const = default;

  static std::vector<std::string> properties() { return {"EM1", "EM2", "EM3", "ND", "FCFS", "fence"}; }
  static bool needs_past(const std::vector<std::string>& properties) { return asks_for(properties, "EM3"); }
  static bool is_request(const Command& command) { return std::holds_alternative<Acquire>(command); }

  static Judge start(const NodeSet& all, const std::vector<std::string>& properties) {
    return {.asked = {.em1 = asks_for(properties, "EM1"),
                      .em2 = asks_for(properties, "EM2"),
                      .em3 = asks_for(properties, "EM3"),
                      .nd = asks_for(properties, "ND"),
                      .fcfs = asks_for(properties, "FCFS"),
                      .fence = asks_for(properties, "fence"),
                      .order = std::ranges::find(properties, "order") != properties.end()},
            .members = all};
  }

  void on_command(NodeId node, const Command& command, const Past& past) {
    if (!is_request(command)) {
      inside.erase(node);
      return;
    }
    if (asked.em3) note_earlier(node, past);
    if (asked.fcfs && !queued.empty()) ahead[node] = queued;
    waiting.insert(node);
  }

  void on_event(NodeId node, const Event& event) {
    if (const auto* granted = std::get_if<Granted>(&event)) enter(node, granted->fence);
    if (asked.fcfs && std::holds_alternative<Queued>(event) && waiting.contains(node)) queued.insert(node);
  }

  // Who is down waits for nothing and is nowhere.
  void on_crash(NodeId node) {
    inside.erase(node);
    stop_waiting(node);
  }
  void on_recover(NodeId) {}

  std::vector<Wrong> wrong() const { return complaints; }

  // Who is inside will leave, so a run that ends with somebody inside has not come to a standstill.
  std::vector<Wrong> at_end(std::span<const Last<Client>>) const {
    std::vector<Wrong> wrongs;
    if (waiting.empty()) return wrongs;
    if (asked.em2) wrongs.push_back({"EM2", in_words(waiting) + " asked and never got in"});
    if (asked.nd && inside.empty())
      wrongs.push_back({"ND", "nothing is under way, and " + in_words(waiting) +
                                  (waiting.size() == 1 ? " is" : " are") + " waiting"});
    return wrongs;
  }

  // Who entered, one after the other.
  std::string outcome() const {
    std::string words;
    for (NodeId node : entered) words += (words.empty() ? "p" : " p") + std::to_string(node.value);
    return words;
  }

  static std::vector<std::string_view> sometimes() { return {"somebody enters", "two wait at once"}; }
  std::uint32_t seen() const {
    const bool somebody_is_in = !inside.empty();
    const bool contended = waiting.size() > 1 || members.size() == 1;  // who is alone has no rivals
    return (somebody_is_in ? 1u : 0u) | (contended ? 2u : 0u);
  }

  void enter(NodeId node, Fence fence) {
    inside.insert(node);
    if (asked.order) entered.push_back(node);
    if (asked.em1 && inside.size() > 1)
      complaints.push_back({"EM1", in_words(inside) + " are inside together"});
    if (asked.em1 && !waiting.contains(node))
      complaints.push_back({"EM1", in_words(node) + " entered unasked"});
    if (const auto found = earlier.find(node); found != earlier.end())
      complaints.push_back({"EM3", in_words(node) + " entered before " + in_words(found->second) +
                                       ", whose request happened before"});
    if (const auto found = ahead.find(node); found != ahead.end())
      complaints.push_back({"FCFS", in_words(node) + " entered before " + in_words(found->second) +
                                        ", who was through the doorway first"});
    if (asked.fence) note_fence(node, fence);
    stop_waiting(node);
  }

  void note_fence(NodeId node, Fence fence) {
    if (fence.value <= greatest_fence)
      complaints.push_back({"fence", in_words(node) + " entered with fence " + std::to_string(fence.value) +
                                         " after fence " + std::to_string(greatest_fence)});
    greatest_fence = std::max(greatest_fence, fence.value);
  }

  // A request is in the past of this one if the past counts that many requests of its owner.
  void note_earlier(NodeId node, const Past& past) {
    ensure(past.size() == members.size(), "a past counts the requests of every member");
    std::size_t place = 0;
    for (NodeId member : members) {
      if (waiting.contains(member) && past[place] >= requests[member]) earlier[node].insert(member);
      ++place;
    }
    ++requests[node];
  }

  void stop_waiting(NodeId node) {
    waiting.erase(node);
    queued.erase(node);
    forget(earlier, node);
    forget(ahead, node);
  }

  // Sets that become empty go, so that there is one way to say that nobody comes first.
  static void forget(std::map<NodeId, NodeSet>& order, NodeId node) {
    order.erase(node);
    for (auto entry = order.begin(); entry != order.end();) {
      entry->second.erase(node);
      entry = entry->second.empty() ? order.erase(entry) : std::next(entry);
    }
  }
};
static_assert(FamilyJudge<Judge>);

}  // namespace conclave::mutex
