// Looks for a schedule on which one process starves: a way from the start to a state, and a cycle from there
// back to it, in which everybody takes steps, somebody enters, and the victim never does. Repeating the cycle
// for ever starves the victim although the scheduler neglects nobody.
//
// Clients want in and out for ever. Explores the states that are reachable without the victim entering, so it
// is for programs with finitely many; it gives up at a limit.
#pragma once
#include <algorithm>
#include <deque>
#include <map>

#include "core/fingerprint.hpp"
#include "sim/register_machine.hpp"

namespace conclave::sim {

struct Lasso {
  std::vector<NodeId> prefix;  // who takes a step, from the start to the cycle
  std::vector<NodeId> cycle;
};

// What one turn of a cycle does: whether it comes back, and how often each process enters and takes steps.
struct Turn {
  bool returns = false;
  std::map<NodeId, std::uint64_t> entries = {};
  std::map<NodeId, std::uint64_t> steps = {};
  std::size_t most_inside = 0;
};

template <Program P>
std::size_t count_inside(const RegisterMachine<P>& machine) {
  return static_cast<std::size_t>(
      std::ranges::count_if(machine.programs, [](const P& p) { return p.inside(); }));
}

template <Program P>
Turn walk_turn(RegisterMachine<P> machine, const Lasso& lasso) {
  Turn turn;
  const auto step = [&](NodeId who) {
    machine.step_eagerly(who.value - 1);
    turn.most_inside = std::max(turn.most_inside, count_inside(machine));
  };
  for (NodeId who : lasso.prefix) step(who);
  for (const P& program : machine.programs) turn.entries[program.self] = turn.steps[program.self] = 0;
  const RegisterMachine<P> before = machine;
  for (NodeId who : lasso.cycle) {
    step(who);
    ++turn.steps[who];
    if (machine.of(who).inside()) ++turn.entries[who];
  }
  turn.returns = machine == before && !lasso.cycle.empty();
  return turn;
}

// Searches with sets of states: a state of the product is (machine, who has taken a step since, whether
// anybody has entered since). A lasso is a machine from which such a walk leads back to it with all taken.
template <Program P>
class StarvationSearch {
 public:
  StarvationSearch(RegisterMachine<P> start, NodeId victim, std::size_t limit)
      : victim_(victim.value - 1), limit_(limit) {
    explore(std::move(start));
  }

  bool complete() const { return complete_; }
  std::size_t states() const { return states_.size(); }

  std::optional<Lasso> find() const {
    for (std::size_t state = 0; state < states_.size(); ++state) {
      if (states_[state].idle(victim_)) continue;  // it must be waiting to starve
      if (auto cycle = cycle_from(state)) return Lasso{way_to(state), std::move(*cycle)};
    }
    return std::nullopt;
  }

 private:
  struct Edge {
    std::size_t to = 0;
    bool enters = false;
  };
  static constexpr std::size_t nowhere = SIZE_MAX;

  std::size_t add(RegisterMachine<P> machine, std::size_t parent, std::size_t who) {
    const auto [known, fresh] = index_.try_emplace(fingerprint(machine), states_.size());
    if (!fresh) return known->second;
    states_.push_back(std::move(machine));
    edges_.emplace_back();
    parents_.push_back({parent, who});
    return states_.size() - 1;
  }

  void explore(RegisterMachine<P> start) {
    add(std::move(start), nowhere, 0);
    for (std::size_t state = 0; state < states_.size(); ++state) {
      if (states_.size() > limit_) {
        complete_ = false;
        return;
      }
      for (std::size_t who = 0; who < states_[state].programs.size(); ++who) {
        RegisterMachine<P> next = states_[state];
        next.step_eagerly(who);
        const bool enters = next.programs[who].inside();
        const std::size_t to = who == victim_ && enters ? nowhere : add(std::move(next), state, who);
        edges_[state].push_back({to, enters});
      }
    }
  }

  std::vector<NodeId> way_to(std::size_t state) const {
    std::vector<NodeId> way;
    for (; parents_[state].first != nowhere; state = parents_[state].first)
      way.push_back({static_cast<std::uint32_t>(parents_[state].second + 1)});
    std::ranges::reverse(way);
    return way;
  }

  // The shortest way from `home` back to it on which everybody takes a step and somebody enters.
  std::optional<std::vector<NodeId>> cycle_from(std::size_t home) const {
    const std::size_t count = states_[home].programs.size();
    const std::uint64_t all = (std::uint64_t{1} << (count + 1)) - 1;  // the last bit: somebody entered
    using Place = std::pair<std::size_t, std::uint64_t>;
    std::map<Place, std::pair<Place, std::size_t>> came_from;
    std::deque<Place> queue = {{home, 0}};
    while (!queue.empty()) {
      const Place here = queue.front();
      queue.pop_front();
      for (std::size_t who = 0; who < edges_[here.first].size(); ++who) {
        const Edge& edge = edges_[here.first][who];
        if (edge.to == nowhere) continue;
        Place there = {edge.to, here.second | std::uint64_t{1} << who};
        if (edge.enters) there.second |= std::uint64_t{1} << count;
        if (!came_from.try_emplace(there, here, who).second) continue;
        if (there == Place{home, all}) return steps_to(came_from, there, home);
        queue.push_back(there);
      }
    }
    return std::nullopt;
  }

  template <class Map, class Place>
  static std::vector<NodeId> steps_to(const Map& came_from, Place place, std::size_t home) {
    std::vector<NodeId> steps;
    while (place != Place{home, 0}) {
      const auto& [previous, who] = came_from.at(place);
      steps.push_back({static_cast<std::uint32_t>(who + 1)});
      place = previous;
    }
    std::ranges::reverse(steps);
    return steps;
  }

  std::size_t victim_;
  std::size_t limit_;
  bool complete_ = true;
  std::vector<RegisterMachine<P>> states_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::pair<std::size_t, std::size_t>> parents_;  // from where, by whose step
  std::map<Fingerprint, std::size_t> index_;
};

}  // namespace conclave::sim
