#include "graph/optimum.hpp"

#include <bit>

#include "graph/distance.hpp"

namespace conclave::graph {
namespace {

using Mask = std::uint64_t;  // one bit per node, in their order

// Chooses nodes in ascending order until every one is covered, always the least that may still do.
class Search {
 public:
  Search(const Graph& graph, std::uint32_t reach) : count_(graph.nodes().size()) {
    ensure(count_ <= 64, "small enough to try every set");
    for (NodeId node : graph.nodes()) {
      names_.push_back(node);
      const auto hops = distances(graph, node);
      Mask covered = 0;
      for (std::uint32_t i = 0; i < count_; ++i) {
        if (hops[i] <= reach) covered |= Mask{1} << i;
      }
      covers_.push_back(covered);
    }
    // What those from i on can still cover; whoever is not in it has to be covered already.
    later_.resize(count_ + 1, 0);
    for (std::uint32_t i = count_; i-- > 0;) later_[i] = later_[i + 1] | covers_[i];
  }

  std::optional<std::vector<NodeId>> find(std::uint32_t size) {
    chosen_.clear();
    const Mask all = count_ == 64 ? ~Mask{0} : (Mask{1} << count_) - 1;
    if (size > count_ || !choose(0, size, all)) return std::nullopt;
    std::vector<NodeId> found;
    for (std::uint32_t i : chosen_) found.push_back(names_[i]);
    return found;
  }

 private:
  bool choose(std::uint32_t from, std::uint32_t left, Mask uncovered) {
    if (left == 0) return uncovered == 0;
    for (std::uint32_t i = from; i + left <= count_; ++i) {
      if ((uncovered & ~later_[i]) != 0 || !enough(i, left, uncovered)) return false;
      chosen_.push_back(i);
      if (choose(i + 1, left - 1, uncovered & ~covers_[i])) return true;
      chosen_.pop_back();
    }
    return false;
  }
  // Even if those left were as useful as the most useful one.
  bool enough(std::uint32_t from, std::uint32_t left, Mask uncovered) const {
    int most = 0;
    for (std::uint32_t i = from; i < count_; ++i)
      most = std::max(most, std::popcount(covers_[i] & uncovered));
    return std::popcount(uncovered) <= static_cast<int>(left) * most;
  }

  std::uint32_t count_;
  std::vector<NodeId> names_;
  std::vector<Mask> covers_;
  std::vector<Mask> later_;
  std::vector<std::uint32_t> chosen_;
};

}  // namespace

std::optional<std::vector<NodeId>> first_dominating_set(const Graph& graph, std::uint32_t reach,
                                                        std::uint32_t size) {
  return Search(graph, reach).find(size);
}

std::vector<NodeId> least_dominating_set(const Graph& graph, std::uint32_t reach) {
  Search search(graph, reach);
  for (std::uint32_t size = 0;; ++size) {
    if (auto found = search.find(size)) return *found;
  }
}

std::optional<Centres> best_centres(const Graph& graph, std::uint32_t p) {
  for (std::uint32_t reach = 0; reach < std::max(1u, graph.nodes().size()); ++reach) {
    if (auto found = first_dominating_set(graph, reach, p)) return Centres{std::move(*found), reach};
  }
  return std::nullopt;
}

}  // namespace conclave::graph
