// A space drawn by hand, for tests of the search: states are numbered, and each says where one can go.
#pragma once
#include "check/space.hpp"

namespace conclave::check {

class Drawn final : public Space {
 public:
  struct Edge {
    std::uint32_t to = 0;
    std::uint8_t node = 0;
    bool optional = false;
    const char* complaint = nullptr;  // the step breaks this rule and leads nowhere
  };
  struct State {
    std::vector<Edge> edges = {};
    const char* wrong = nullptr;         // this property
    const char* wrong_at_end = nullptr;  // this one if the run ends here
    bool bounded = false;
    bool content = true;
    std::uint32_t waiting = 0;  // sets of nodes
    std::uint32_t holding = 0;
  };

  explicit Drawn(std::vector<State> states, std::uint32_t nodes = 2)
      : states_(std::move(states)), nodes_(nodes) {}

  std::uint32_t width() const override { return 1; }
  std::vector<Id> initial() override { return {0}; }
  void set_workers(unsigned) override {}
  Look expand(const Id* state, Sleep, unsigned, Successors& out) override {
    const State& here = states_[*state];
    for (const Edge& edge : here.edges) {
      const Move move = {.node = edge.node, .label = edge.node, .optional = edge.optional, .what = edge.to};
      if (edge.complaint) {
        out.complain(move, edge.complaint);
      } else {
        out.add(&edge.to, WordSum::of(&edge.to, 1), move, 0);
      }
    }
    return {.final = here.edges.empty(), .bounded = here.bounded, .content = here.content};
  }
  bool is_wrong(const Id* state) const override { return states_[*state].wrong != nullptr; }
  std::vector<Wrong> wrongs(const Id* state) const override { return {{states_[*state].wrong, "drawn so"}}; }
  std::vector<Wrong> wrongs_at_end(const Id* state) const override {
    if (!states_[*state].wrong_at_end) return {};
    return {{states_[*state].wrong_at_end, "drawn so"}};
  }
  std::string outcome_of(const Id* state) const override { return "ends in " + std::to_string(*state); }
  std::uint64_t sent(const Id* state) const override { return *state; }
  std::uint32_t waiting(const Id* state) const override { return states_[*state].waiting; }
  std::uint32_t holding(const Id* state) const override { return states_[*state].holding; }
  // Where each step leads stands in the content.
  trace::Directions directions(const Id*, const Move& move) const override {
    return {{.node = name(move.node), .content = std::to_string(move.what)}};
  }
  std::uint32_t nodes() const override { return nodes_; }
  NodeId name(std::uint32_t node) const override { return {node + 1}; }
  std::map<std::string, bool> sometimes() const override { return {}; }
  std::map<std::string, std::uint64_t> figures() const override { return {}; }
  std::uint64_t bytes() const override { return 0; }

 private:
  std::vector<State> states_;
  std::uint32_t nodes_;
};

// The states that a way goes through.
inline std::string through(const trace::Directions& way) {
  std::string states;
  for (const trace::Direction& direction : way) states += (states.empty() ? "" : " ") + direction.content;
  return states;
}

}  // namespace conclave::check
