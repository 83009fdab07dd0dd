// A set of node ids, kept as the sorted list of its maximal runs of consecutive ids.
//
// The list is a function of the set's value alone, so equal sets compare, hash and print alike. A
// contiguous membership is one run whatever its size: a million nodes can each know all the others in
// the same few bytes. Four runs are stored in place, so no set over eight consecutive ids ever allocates.
#pragma once
#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <initializer_list>
#include <iterator>

#include "core/ensure.hpp"
#include "core/node_id.hpp"

namespace conclave {

class NodeSet {
 public:
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t last = 0;  // inclusive
    bool operator==(const Run&) const = default;
  };

  class Iterator {
   public:
    using value_type = NodeId;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Run* run, const Run* end) : run_(run), end_(end), id_(run == end ? 0 : run->first) {}
    NodeId operator*() const { return {id_}; }
    Iterator& operator++() {
      if (id_ != run_->last) {
        ++id_;
      } else {
        ++run_;
        id_ = run_ == end_ ? 0 : run_->first;
      }
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return run_ == other.run_ && id_ == other.id_; }

   private:
    const Run* run_ = nullptr;
    const Run* end_ = nullptr;
    std::uint32_t id_ = 0;
  };

  NodeSet() = default;
  NodeSet(std::initializer_list<NodeId> ids) {
    for (NodeId id : ids) insert(id);
  }

  // The `count` consecutive ids that begin with `first`.
  static NodeSet range(NodeId first, std::uint32_t count) {
    NodeSet set;
    if (count > 0) set.runs_.push_back({first.value, first.value + count - 1});
    set.size_ = count;
    return set;
  }

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  Iterator begin() const { return {runs_.data(), runs_.data() + runs_.size()}; }
  Iterator end() const { return {runs_.data() + runs_.size(), runs_.data() + runs_.size()}; }
  bool operator==(const NodeSet& other) const {
    return size_ == other.size_ && std::ranges::equal(runs_, other.runs_);
  }

  NodeId min() const {
    ensure(!empty(), "an empty set has no least id");
    return {runs_.front().first};
  }
  NodeId max() const {
    ensure(!empty(), "an empty set has no greatest id");
    return {runs_.back().last};
  }

  bool contains(NodeId id) const {
    const std::size_t at = run_at_or_after(id.value);
    return at < runs_.size() && runs_[at].first <= id.value;
  }

  void insert(NodeId id) {
    const std::uint32_t v = id.value;
    const std::size_t at = run_at_or_after(v);
    if (at < runs_.size() && runs_[at].first <= v) return;
    const bool joins_left = at > 0 && runs_[at - 1].last + 1 == v;
    const bool joins_right = at < runs_.size() && runs_[at].first == v + 1;
    if (joins_left && joins_right) {
      runs_[at - 1].last = runs_[at].last;
      runs_.erase(runs_.begin() + at);
    } else if (joins_left) {
      runs_[at - 1].last = v;
    } else if (joins_right) {
      runs_[at].first = v;
    } else {
      runs_.insert(runs_.begin() + at, Run{v, v});
    }
    ++size_;
  }

  // True if it was a member.
  bool erase(NodeId id) {
    const std::uint32_t v = id.value;
    const std::size_t at = run_at_or_after(v);
    if (at == runs_.size() || runs_[at].first > v) return false;
    Run& run = runs_[at];
    if (run.first == run.last) {
      runs_.erase(runs_.begin() + at);
    } else if (run.first == v) {
      ++run.first;
    } else if (run.last == v) {
      --run.last;
    } else {
      const Run right = {v + 1, run.last};
      run.last = v - 1;
      runs_.insert(runs_.begin() + at + 1, right);
    }
    --size_;
    return true;
  }

  void clear() {
    runs_.clear();
    size_ = 0;
  }

  NodeSet with(NodeId id) const {
    NodeSet copy = *this;
    copy.insert(id);
    return copy;
  }
  NodeSet without(NodeId id) const {
    NodeSet copy = *this;
    copy.erase(id);
    return copy;
  }

  // The next member in cyclic order: the successor on a ring.
  NodeId after(NodeId id) const {
    ensure(!empty(), "an empty ring has no successor");
    const std::size_t at = id.value == UINT32_MAX ? runs_.size() : run_at_or_after(id.value + 1);
    if (at == runs_.size()) return min();
    return {std::max(runs_[at].first, id.value + 1)};
  }

  bool intersects(const NodeSet& other) const {
    auto a = runs_.begin();
    auto b = other.runs_.begin();
    while (a != runs_.end() && b != other.runs_.end()) {
      if (a->last < b->first) {
        ++a;
      } else if (b->last < a->first) {
        ++b;
      } else {
        return true;
      }
    }
    return false;
  }

  const auto& runs() const { return runs_; }

  // Appends a run that lies strictly beyond the last one with a gap; false if it does not. This is how a
  // decoder rebuilds a set, and why no set has two encodings.
  bool append(Run run) {
    if (run.last < run.first) return false;
    if (!runs_.empty() && (runs_.back().last == UINT32_MAX || run.first <= runs_.back().last + 1))
      return false;
    const std::uint64_t count = std::uint64_t{run.last} - run.first + 1;
    if (size_ + count > UINT32_MAX) return false;
    size_ += static_cast<std::uint32_t>(count);
    runs_.push_back(run);
    return true;
  }

 private:
  // Index of the first run that does not lie wholly before v. Most sets have one or two runs.
  std::size_t run_at_or_after(std::uint32_t v) const {
    const Run* const runs = runs_.data();
    const std::size_t count = runs_.size();
    if (count <= 4) {
      std::size_t at = 0;
      while (at < count && runs[at].last < v) ++at;
      return at;
    }
    // Halving without branches: which way to go is a coin toss that no processor predicts.
    const Run* base = runs;
    for (std::size_t left = count; left > 1;) {
      const std::size_t half = left / 2;
      base += base[half - 1].last < v ? half : 0;
      left -= half;
    }
    return static_cast<std::size_t>(base - runs) + (base->last < v ? 1 : 0);
  }

  boost::container::small_vector<Run, 4> runs_;
  std::uint32_t size_ = 0;
};

}  // namespace conclave
