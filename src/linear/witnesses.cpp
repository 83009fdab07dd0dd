#include "linear/witnesses.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "linear/search.hpp"

namespace conclave::linear {
namespace {

// Some may be left out without making the rest wrong: whoever saw a value stays together with all who wrote
// it. Then an order that explains the whole explains the part, so what is wrong with the part is wrong with
// the whole.
class Parts {
 public:
  explicit Parts(const History& history) : history_(history) {
    for (std::size_t place = 0; place < history.size(); ++place) {
      if (!is_write(history[place])) continue;
      writers_[written(history[place])].push_back(place);
      all_writers_.push_back(place);
    }
  }

  // The least part that may stand by itself and has these.
  std::vector<std::size_t> completed(std::vector<std::size_t> part) const {
    std::ranges::sort(part);
    std::vector<std::size_t> open = part;
    const auto add = [&](const std::vector<std::size_t>& places) {
      for (const std::size_t place : places) {
        const auto at = std::ranges::lower_bound(part, place);
        if (at != part.end() && *at == place) continue;
        part.insert(at, place);
        open.push_back(place);
      }
    };
    while (!open.empty()) {
      const Operation& operation = history_[open.back()];
      open.pop_back();
      const bool refused = operation.kind == Kind::swap && operation.returned && !operation.swapped;
      const bool erased = operation.kind == Kind::erase && operation.revision;
      if (!operation.found && (refused || erased)) add(all_writers_);
      const Value* const needed = operation.found                ? &*operation.found
                                  : operation.kind == Kind::swap ? &operation.wanted
                                                                 : nullptr;
      if (!needed) continue;
      if (const auto found = writers_.find(*needed); found != writers_.end()) add(found->second);
    }
    return part;
  }

 private:
  static bool is_write(const Operation& operation) {
    if (operation.kind == Kind::get) return false;
    return operation.kind != Kind::swap || !operation.returned || operation.swapped;
  }
  static Value written(const Operation& operation) {
    return operation.kind == Kind::erase ? Value() : Value(operation.value);
  }

  const History& history_;
  std::map<Value, std::vector<std::size_t>> writers_;
  std::vector<std::size_t> all_writers_;
};

// Leaves out what it can. What is searched in all is bounded: this is for reading, and no proof hangs on it.
class Shrinking {
 public:
  Shrinking(History operations, std::size_t misfit) : all_(std::move(operations)), misfit_(misfit) {
    part_.resize(all_.size());
    std::iota(part_.begin(), part_.end(), std::size_t{0});
  }

  History run() {
    forget_what_writers_saw();
    const Parts parts(all_);
    const Time end = all_[misfit_].returned.value_or(all_[misfit_].invoked);
    try_without(parts, [&](std::size_t i) { return all_[part_[i]].invoked > end; });
    try_without(parts,
                [&](std::size_t i) { return !all_[part_[i]].returned || *all_[part_[i]].returned > end; });
    for (std::size_t chunk = part_.size() / 2; chunk > 0; chunk /= 2) {
      for (std::size_t from = 0; from < part_.size();) {
        const bool smaller = try_without(parts, [&](std::size_t i) { return i >= from && i < from + chunk; });
        if (!smaller) from += chunk;
      }
    }
    History shown;
    for (const std::size_t place : part_) shown.push_back(std::move(all_[place]));
    return shown;
  }

 private:
  // Writes that tell what they replaced hang together with all before them.
  void forget_what_writers_saw() {
    History less = all_;
    for (std::size_t place = 0; place < less.size(); ++place) {
      Operation& operation = less[place];
      const bool refused = operation.kind == Kind::swap && !operation.swapped;
      if (operation.kind == Kind::get || refused || place == misfit_) continue;
      operation.found.reset();
      // That it deleted something at all says what was there, too.
      if (operation.kind == Kind::erase) operation.revision.reset();
    }
    if (broken(less, part_)) all_ = std::move(less);
  }
  bool try_without(const Parts& parts, const auto& leave_out) {
    std::vector<std::size_t> less;
    for (std::size_t i = 0; i < part_.size(); ++i)
      if (part_[i] == misfit_ || !leave_out(i)) less.push_back(part_[i]);
    less = parts.completed(std::move(less));
    if (less.size() >= part_.size() || !broken(all_, less)) return false;
    part_ = std::move(less);
    return true;
  }
  bool broken(const History& operations, const std::vector<std::size_t>& part) {
    if (effort_ == 0) return false;
    const Found found = search(operations, part, {.steps = effort_, .memory = 1'000'000});
    effort_ -= std::min(effort_, found.steps + part.size());
    return found.outcome == Outcome::broken;
  }

  History all_;
  std::size_t misfit_;
  std::vector<std::size_t> part_;
  std::uint64_t effort_ = 20'000'000;
};

}  // namespace

History witnesses(const History& history, std::span<const std::size_t> chosen, std::size_t misfit) {
  History operations;
  std::size_t its_place = 0;
  for (const std::size_t place : chosen) {
    if (place == misfit) its_place = operations.size();
    operations.push_back(history[place]);
  }
  return Shrinking(std::move(operations), its_place).run();
}

}  // namespace conclave::linear
