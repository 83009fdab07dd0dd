#include "check/starvation.hpp"

#include <algorithm>
#include <deque>

namespace conclave::check {
namespace {

constexpr std::uint32_t none = UINT32_MAX;

// The whole graph of states. Fairness counts by labels: whatever must not be put off for ever has one.
class Graph final : public Successors {
 public:
  struct Edge {
    std::uint32_t to = 0;
    std::uint16_t ordinal = 0;
    std::uint8_t label = Move::no_label;  // no_label: nobody has to take it
  };

  Graph(Space& space, std::uint64_t limit) : space_(space), limit_(limit) {
    space_.set_workers(1);
    const std::vector<Id> first = space_.initial();
    meet(first.data(), WordSum::of(first.data(), space_.width()), none, 0);
    for (std::uint32_t i = 0; i < size() && complete_; ++i) {
      from_ = i;
      ordinal_ = 0;
      first_edge_.push_back(edges_.size());
      state_.assign(state(i), state(i) + space_.width());
      space_.expand(state_.data(), {}, 0, *this);
    }
    first_edge_.push_back(edges_.size());
  }

  void add(const Id* next, const WordSum& sum, const Move& move, std::uint64_t) override {
    const std::uint32_t to = meet(next, sum, from_, ordinal_);
    std::uint8_t label = move.optional ? Move::no_label : move.label;
    // News and the passing of time cannot be put off either; they share the label of the node's timers.
    if (!move.optional && move.label == Move::no_label)
      label = static_cast<std::uint8_t>(move.node * (space_.nodes() + 1) + space_.nodes());
    edges_.push_back({to, static_cast<std::uint16_t>(ordinal_++), label});
  }
  void skip(std::uint32_t moves) override { ordinal_ += moves; }
  void complain(const Move&, std::string) override { ++ordinal_; }

  bool complete() const { return complete_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(parents_.size()); }
  const Id* state(std::uint32_t i) const { return words_.data() + std::size_t{i} * space_.width(); }
  std::span<const Edge> edges(std::uint32_t i) const {
    return {edges_.data() + first_edge_[i], edges_.data() + first_edge_[i + 1]};
  }

  // The steps that lead there from the start; no shorter ones do.
  std::vector<std::pair<std::uint32_t, std::uint16_t>> way_to(std::uint32_t i) const {
    std::vector<std::pair<std::uint32_t, std::uint16_t>> way;
    for (; parents_[i].first != none; i = parents_[i].first) way.push_back(parents_[i]);
    std::ranges::reverse(way);
    return way;
  }

 private:
  std::uint32_t meet(const Id* next, const WordSum& sum, std::uint32_t parent, std::uint32_t ordinal) {
    const auto [known, fresh] = index_.try_emplace(sum, size());
    if (fresh) {
      words_.insert(words_.end(), next, next + space_.width());
      parents_.emplace_back(parent, static_cast<std::uint16_t>(ordinal));
      if (size() > limit_) complete_ = false;
    }
    return known->second;
  }

  Space& space_;
  std::uint64_t limit_;
  bool complete_ = true;
  std::vector<Id> words_;
  std::vector<Id> state_;  // a copy of the one being expanded, for the words may move
  std::vector<std::pair<std::uint32_t, std::uint16_t>> parents_;
  std::vector<std::size_t> first_edge_;
  std::vector<Edge> edges_;
  struct Hash {
    std::size_t operator()(const WordSum& sum) const { return sum.first; }
  };
  boost::unordered_flat_map<WordSum, std::uint32_t, Hash> index_;
  std::uint32_t from_ = 0;
  std::uint32_t ordinal_ = 0;
};

// Strongly connected components of the states that satisfy a predicate (Tarjan 1972, without recursion).
template <class Keep>
std::vector<std::vector<std::uint32_t>> components(const Graph& graph, Keep&& keep) {
  std::vector<std::vector<std::uint32_t>> found;
  std::vector<std::uint32_t> number(graph.size(), 0), low(graph.size(), 0), stack;
  std::vector<std::uint8_t> on_stack(graph.size(), 0);
  struct Frame {
    std::uint32_t state;
    std::size_t next;
  };
  std::vector<Frame> frames;
  std::uint32_t count = 0;
  for (std::uint32_t root = 0; root < graph.size(); ++root) {
    if (number[root] != 0 || !keep(root)) continue;
    frames.push_back({root, 0});
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const std::uint32_t here = frame.state;
      if (frame.next == 0) {
        number[here] = low[here] = ++count;
        stack.push_back(here);
        on_stack[here] = 1;
      }
      const auto edges = graph.edges(here);
      bool deeper = false;
      while (frame.next < edges.size()) {
        const std::uint32_t to = edges[frame.next++].to;
        if (!keep(to)) continue;
        if (number[to] == 0) {
          frames.push_back({to, 0});
          deeper = true;
          break;
        }
        if (on_stack[to]) low[here] = std::min(low[here], number[to]);
      }
      if (deeper) continue;
      if (frame.next == 0) frame.next = 1;  // a state without edges has been looked at all the same
      if (low[here] == number[here]) {
        std::vector<std::uint32_t> component;
        for (;;) {
          const std::uint32_t member = stack.back();
          stack.pop_back();
          on_stack[member] = 0;
          component.push_back(member);
          if (member == here) break;
        }
        found.push_back(std::move(component));
      }
      frames.pop_back();
      if (!frames.empty()) low[frames.back().state] = std::min(low[frames.back().state], low[here]);
    }
  }
  return found;
}

class Liveness {
 public:
  Liveness(Space& space, const Graph& graph) : space_(space), graph_(graph) {
    enabled_.resize(graph.size());
    for (std::uint32_t i = 0; i < graph.size(); ++i) {
      for (const auto& edge : graph.edges(i)) enabled_[i] |= bit(edge.label);
    }
  }

  // A state from which no service is possible any more, the nearest one.
  std::optional<Finding> trap() const {
    std::vector<std::vector<std::uint32_t>> before(graph_.size());
    std::vector<std::uint32_t> queue;
    std::vector<std::uint8_t> good(graph_.size(), 0);
    for (std::uint32_t i = 0; i < graph_.size(); ++i) {
      for (const auto& edge : graph_.edges(i)) before[edge.to].push_back(i);
      if (space_.waiting(graph_.state(i)) == 0 || space_.holding(graph_.state(i)) != 0) {
        good[i] = 1;
        queue.push_back(i);
      }
    }
    while (!queue.empty()) {
      const std::uint32_t here = queue.back();
      queue.pop_back();
      for (const std::uint32_t earlier : before[here]) {
        if (good[earlier]) continue;
        good[earlier] = 1;
        queue.push_back(earlier);
      }
    }
    const auto bad = std::ranges::find(good, 0);
    if (bad == good.end()) return std::nullopt;
    const auto state = static_cast<std::uint32_t>(bad - good.begin());
    Finding finding = {.property = "ND", .why = "from here nobody who waits can be served any more"};
    finding.way = space_.prologue();
    tell(finding.way, graph_.way_to(state));
    finding.steps = static_cast<std::uint32_t>(graph_.way_to(state).size());
    return finding;
  }

  // A fair cycle in which that one waits all the time.
  std::optional<Finding> cycle_without(std::uint32_t victim) const {
    const auto waits = [&](std::uint32_t i) { return (space_.waiting(graph_.state(i)) >> victim & 1) != 0; };
    std::vector<std::vector<std::uint32_t>> fair;
    for (auto& component : components(graph_, waits)) {
      std::ranges::sort(component);
      if (is_fair(component)) fair.push_back(std::move(component));
    }
    if (fair.empty()) return std::nullopt;
    const auto& nearest = *std::ranges::min_element(fair, {}, [](const auto& c) { return c.front(); });
    Finding finding = {.property = "starvation",
                       .why = "p" + std::to_string(space_.name(victim).value) +
                              " waits for ever although everybody who can goes on"};
    const auto way = graph_.way_to(nearest.front());
    finding.steps = static_cast<std::uint32_t>(way.size());
    finding.way = space_.prologue();
    tell(finding.way, way);
    tell(finding.cycle, round_trip(nearest));
    return finding;
  }

 private:
  using Way = std::vector<std::pair<std::uint32_t, std::uint16_t>>;

  static std::uint64_t bit(std::uint8_t label) {
    return label == Move::no_label || label >= 64 ? 0 : std::uint64_t{1} << label;
  }
  static bool contains(const std::vector<std::uint32_t>& component, std::uint32_t state) {
    return std::ranges::binary_search(component, state);
  }

  // Nothing that could go on all the time is left out of it.
  bool is_fair(const std::vector<std::uint32_t>& component) const {
    std::uint64_t always = ~std::uint64_t{0};
    std::uint64_t taken = 0;
    bool any = false;
    for (const std::uint32_t state : component) {
      always &= enabled_[state];
      for (const auto& edge : graph_.edges(state)) {
        if (!contains(component, edge.to)) continue;
        any = true;
        taken |= bit(edge.label);
      }
    }
    return any && (always & ~taken) == 0;
  }

  // From the first state of the component through it and back, giving everybody a turn or a moment in which
  // there was none to take.
  Way round_trip(const std::vector<std::uint32_t>& component) const {
    Way trip;
    std::uint32_t here = component.front();
    std::uint64_t owed = ~std::uint64_t{0};
    const auto visit = [&](std::uint32_t state) { owed &= enabled_[state]; };
    visit(here);
    while (owed != 0) {
      const auto leg = shortest(component, here, [&](std::uint32_t state, const Graph::Edge& edge) {
        return (bit(edge.label) & owed) != 0 || (owed & ~enabled_[edge.to]) != 0 ||
               (owed & ~enabled_[state]) != 0;
      });
      if (leg.empty()) break;
      for (const auto& [state, ordinal] : leg) {
        visit(state);
        owed &= ~bit(edge_of(state, ordinal).label);
      }
      here = edge_of(leg.back().first, leg.back().second).to;
      visit(here);
      trip.insert(trip.end(), leg.begin(), leg.end());
    }
    if (here != component.front() || trip.empty()) {
      const auto leg = shortest(component, here, [&](std::uint32_t, const Graph::Edge& edge) {
        return edge.to == component.front();
      });
      trip.insert(trip.end(), leg.begin(), leg.end());
    }
    return trip;
  }

  const Graph::Edge& edge_of(std::uint32_t state, std::uint16_t ordinal) const {
    return *std::ranges::find(graph_.edges(state), ordinal, &Graph::Edge::ordinal);
  }

  // The shortest walk inside the component whose last edge is wanted.
  template <class Wanted>
  Way shortest(const std::vector<std::uint32_t>& component, std::uint32_t from, Wanted&& wanted) const {
    boost::unordered_flat_map<std::uint32_t, std::pair<std::uint32_t, std::uint16_t>> came;
    std::deque<std::uint32_t> queue = {from};
    came.emplace(from, std::pair(none, std::uint16_t{0}));
    while (!queue.empty()) {
      const std::uint32_t here = queue.front();
      queue.pop_front();
      for (const auto& edge : graph_.edges(here)) {
        if (!contains(component, edge.to)) continue;
        if (wanted(here, edge)) {
          Way way = {{here, edge.ordinal}};
          for (std::uint32_t at = here; came.at(at).first != none; at = came.at(at).first)
            way.push_back(came.at(at));
          std::ranges::reverse(way);
          return way;
        }
        if (came.emplace(edge.to, std::pair(here, edge.ordinal)).second) queue.push_back(edge.to);
      }
    }
    return {};
  }

  class Picker final : public Successors {
   public:
    explicit Picker(std::uint32_t wanted) : wanted_(wanted) {}
    void add(const Id*, const WordSum&, const Move& its_move, std::uint64_t) override {
      if (seen_++ == wanted_) move = its_move;
    }
    void skip(std::uint32_t moves) override { seen_ += moves; }
    void complain(const Move&, std::string) override { ++seen_; }
    Move move;

   private:
    std::uint32_t wanted_;
    std::uint32_t seen_ = 0;
  };

  void tell(trace::Directions& directions, const Way& way) const {
    for (const auto& [state, ordinal] : way) {
      Picker picker(ordinal);
      space_.expand(graph_.state(state), {}, 0, picker);
      std::ranges::copy(space_.directions(graph_.state(state), picker.move), std::back_inserter(directions));
    }
    std::uint64_t at = 0;
    for (auto& direction : directions) direction.at = ++at;
  }

  Space& space_;
  const Graph& graph_;
  std::vector<std::uint64_t> enabled_;  // labels, by state
};

}  // namespace

void add_starvation(Space& space, const Options& options, Report& report) {
  const Graph graph(space, options.max_states > 0 ? options.max_states : 10'000'000);
  if (!graph.complete()) {
    report.complete = false;
    report.stopped_by = "the graph of states does not fit: starvation was not looked for";
    return;
  }
  const Liveness liveness(space, graph);
  if (auto finding = liveness.trap()) report.findings.push_back(std::move(*finding));
  for (std::uint32_t victim = 0; victim < space.nodes(); ++victim) {
    auto finding = liveness.cycle_without(victim);
    if (!finding) continue;
    report.findings.push_back(std::move(*finding));
    return;
  }
}

}  // namespace conclave::check
