#include "linear/search.hpp"

#include <algorithm>
#include <tuple>

#include "core/random.hpp"
#include "linear/prepare.hpp"

namespace conclave::linear {
namespace {

// What is in the key while operations are placed one after the other.
struct State {
  std::uint32_t value = 0;
  std::uint32_t rank = 0;      // of the last write whose revision is known
  std::uint64_t revision = 0;  // no less than this; exactly, unless an unknown one was placed since
  bool exact = true;
  bool operator==(const State&) const = default;
};

// What is there after the operation, if it can happen here.
std::optional<State> after(const State& state, const Prepared& operation) {
  if (const auto needed = operation.needs(); needed && *needed != state.value) return std::nullopt;
  if (operation.kind == Kind::swap && operation.refused == (state.value == operation.wanted))
    return std::nullopt;
  State next = state;
  if (!operation.writes()) {
    if (operation.revision == 0 || state.value == 0) return next;
    if (state.exact ? operation.revision != state.revision : operation.revision <= state.revision)
      return std::nullopt;
    next.revision = operation.revision;
    next.exact = true;
    return next;
  }
  if (operation.kind == Kind::erase && state.value == 0)
    return operation.revision == 0 ? std::optional(next) : std::nullopt;
  next.value = operation.value;
  next.exact = operation.revision != 0;
  if (operation.revision == 0) return next;
  // Writes come in the order of their revisions: any other order would be found out later.
  if (operation.rank != state.rank + 1 || operation.revision <= state.revision) return std::nullopt;
  next.rank = operation.rank;
  next.revision = operation.revision;
  return next;
}

struct Fingerprint {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Fingerprint&) const = default;
  void toggle(std::uint64_t what) {
    low ^= scramble(2 * what + 1);
    high ^= scramble(~(2 * what + 1));
  }
};

Fingerprint together(Fingerprint placed, const State& state) {
  const std::uint64_t kept = scramble(state.revision * 2 + (state.exact ? 1 : 0)) + state.value;
  placed.low ^= scramble(kept);
  placed.high ^= scramble(kept + 0x5851f42d4c957f2du);
  if (placed == Fingerprint{}) placed.low = 1;  // zero marks a free place
  return placed;
}

// Situations from which nothing was found: fingerprints in a table that is never more than two thirds full.
class Seen {
 public:
  bool insert(const Fingerprint& print) {
    if (3 * (size_ + 1) > 2 * table_.size()) grow();
    Fingerprint& place = look_up(print);
    if (place == print) return false;
    place = print;
    ++size_;
    return true;
  }
  std::size_t size() const { return size_; }

 private:
  Fingerprint& look_up(const Fingerprint& print) {
    std::size_t at = print.low & (table_.size() - 1);
    while (table_[at] != Fingerprint{} && table_[at] != print) at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }
  void grow() {
    std::vector<Fingerprint> old(2 * table_.size());
    old.swap(table_);
    for (const Fingerprint& print : old)
      if (print != Fingerprint{}) look_up(print) = print;
  }

  std::vector<Fingerprint> table_ = std::vector<Fingerprint>(1024);
  std::size_t size_ = 0;
};

// Invocations and returns in the order of time, as a list from which placed operations are taken out and put
// back. Entry 0 is before the first, the last one after all.
class Events {
 public:
  explicit Events(const std::vector<Prepared>& operations) : operations_(operations) {
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      entries_.push_back({operations[i].invoked, i, true});
      if (!operations[i].may_be_missing) entries_.push_back({operations[i].returned, i, false});
    }
    // What happens at the same time is concurrent. A return that follows from what another one was told comes
    // after that one.
    std::ranges::stable_sort(entries_, {}, [&](const Entry& entry) {
      return std::tuple(entry.time, !entry.begins,
                        !entry.begins && operations_[entry.operation].by_testimony);
    });
    entries_.insert(entries_.begin(), Entry{});
    entries_.push_back({});
    partner_.resize(operations.size());
    for (std::uint32_t at = 0; at < entries_.size(); ++at) {
      entries_[at].previous = at - 1;
      entries_[at].next = at + 1;
      if (at == 0 || at + 1 == entries_.size()) continue;
      auto& [begin, end] = partner_[entries_[at].operation];
      (entries_[at].begins ? begin : end) = at;
    }
  }

  std::uint32_t first() const { return entries_.front().next; }
  std::uint32_t after(std::uint32_t at) const { return entries_[at].next; }
  bool over(std::uint32_t at) const { return at + 1 == entries_.size(); }
  bool begins(std::uint32_t at) const { return entries_[at].begins; }
  std::uint32_t operation(std::uint32_t at) const { return entries_[at].operation; }

  void take_out(std::uint32_t operation) {
    const auto [begin, end] = partner_[operation];
    unlink(begin);
    if (end != 0) unlink(end);
  }
  // In the reverse order of taking out. Returns where it begins.
  std::uint32_t put_back(std::uint32_t operation) {
    const auto [begin, end] = partner_[operation];
    if (end != 0) relink(end);
    relink(begin);
    return begin;
  }

 private:
  struct Entry {
    Time time = 0;
    std::uint32_t operation = 0;
    bool begins = false;
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
  };
  void unlink(std::uint32_t at) {
    entries_[entries_[at].previous].next = entries_[at].next;
    entries_[entries_[at].next].previous = entries_[at].previous;
  }
  void relink(std::uint32_t at) {
    entries_[entries_[at].previous].next = at;
    entries_[entries_[at].next].previous = at;
  }

  const std::vector<Prepared>& operations_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> partner_;
};

// Longer explanations nobody reads; to copy one again and again would take longer than the search.
constexpr std::size_t most_to_read = 4096;

class Search {
 public:
  Search(const std::vector<Prepared>& operations, const Bounds& bounds)
      : operations_(operations), bounds_(bounds), events_(operations) {
    for (const Prepared& operation : operations) missing_ += operation.may_be_missing ? 0 : 1;
  }

  Found run() {
    at_ = events_.first();
    while (missing_ > 0) {
      if (++steps_ > bounds_.steps || seen_.size() > bounds_.memory) return finish(Outcome::gave_up);
      if (!events_.over(at_) && events_.begins(at_)) {
        if (!place()) at_ = events_.after(at_);
      } else {
        remember_how_far();
        if (!take_back()) return finish(Outcome::broken);
      }
    }
    return finish(Outcome::fine);
  }

 private:
  struct Placed {
    std::uint32_t operation;
    State before;
    bool is_choice;
  };

  bool place() {
    const std::uint32_t which = events_.operation(at_);
    const auto next = after(state_, operations_[which]);
    if (!next) return false;
    if (operations_[which].may_be_missing && *next == state_) return false;
    // What writes nothing may as well happen at once. A write that changes nothing here may be needed later.
    const bool is_choice = operations_[which].writes() || *next != state_;
    Fingerprint placed = placed_;
    placed.toggle(which);
    if (is_choice && !seen_.insert(together(placed, *next))) return false;
    stack_.push_back({which, state_, is_choice});
    placed_ = placed;
    state_ = *next;
    if (!operations_[which].may_be_missing) --missing_;
    events_.take_out(which);
    at_ = events_.first();
    return true;
  }

  // Back to the last choice, and on to the next possibility there.
  bool take_back() {
    while (!stack_.empty()) {
      const Placed last = stack_.back();
      stack_.pop_back();
      at_ = events_.put_back(last.operation);
      placed_.toggle(last.operation);
      state_ = last.before;
      if (!operations_[last.operation].may_be_missing) ++missing_;
      if (!last.is_choice) continue;
      at_ = events_.after(at_);
      return true;
    }
    return false;
  }

  // At a return that is in the way. The furthest one is what no order explains: everything before it has been
  // explained, and if anything explained it as well, the search would have come further.
  void remember_how_far() {
    if (furthest_ && at_ <= *furthest_) return;
    furthest_ = at_;
    if (stack_.size() > most_to_read) return;
    longest_.clear();
    for (const Placed& placed : stack_) longest_.push_back(placed.operation);
  }

  Found finish(Outcome outcome) {
    Found found = {.outcome = outcome, .steps = steps_};
    if (outcome == Outcome::fine) {
      for (const Placed& placed : stack_) found.order.push_back(operations_[placed.operation].place);
    } else {
      for (const std::uint32_t operation : longest_) found.order.push_back(operations_[operation].place);
      if (furthest_ && !events_.over(*furthest_))
        found.misfit = operations_[events_.operation(*furthest_)].place;
    }
    return found;
  }

  const std::vector<Prepared>& operations_;
  const Bounds& bounds_;
  Events events_;
  Seen seen_;
  std::uint32_t at_ = 0;
  State state_ = {};
  Fingerprint placed_ = {};
  std::vector<Placed> stack_ = {};
  std::size_t missing_ = 0;  // operations that must be placed, and are not
  std::uint64_t steps_ = 0;
  std::optional<std::uint32_t> furthest_ = {};
  std::vector<std::uint32_t> longest_ = {};
};

}  // namespace

Found search(const History& history, std::span<const std::size_t> chosen, const Bounds& bounds) {
  const std::vector<Prepared> operations = prepare(history, chosen);
  return Search(operations, bounds).run();
}

}  // namespace conclave::linear
