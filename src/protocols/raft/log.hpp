// The replicated log of one server: entries with their terms, and what decides whether two logs agree.
// Everything that Raft proves about logs rests on three rules kept here: entries are taken only where the one
// before them matches, only a conflict removes entries, and the later log is the one with the later last
// term.
//
// Paper     D. Ongaro, J. Ousterhout. In search of an understandable consensus algorithm. USENIX ATC, 2014.
#pragma once
#include <algorithm>
#include <boost/container/deque.hpp>
#include <compare>
#include <concepts>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "core/ensure.hpp"

namespace conclave::raft {

struct Term {
  using Transparent = void;
  std::uint64_t value = 0;
  auto operator<=>(const Term&) const = default;
};

// From 1; 0 stands before the first entry.
struct Index {
  using Transparent = void;
  std::uint64_t value = 0;
  auto operator<=>(const Index&) const = default;
  friend Index operator+(Index a, std::uint64_t b) { return {a.value + b}; }
  friend Index operator-(Index a, std::uint64_t b) { return {a.value - b}; }
};

// An entry's place. Compared as the election restriction compares the ends of two logs: the later term wins,
// and within a term the longer log.
struct Position {
  Term term = {};
  Index index = {};
  auto operator<=>(const Position&) const = default;
};

template <class E>
concept HasTerm = std::equality_comparable<E> && requires(const E& entry) {
  { entry.term } -> std::convertible_to<Term>;
};

// A log grows at one end and is given up at the other; neither may move what is in between.
template <class E>
using Entries = boost::container::deque<E>;

template <HasTerm E>
struct Log {
  Position base = {};       // of the last entry that a snapshot has replaced
  Entries<E> entries = {};  // those after it
  bool operator==(const Log&) const = default;

  Index last_index() const { return base.index + entries.size(); }
  Position last() const { return entries.empty() ? base : Position{entries.back().term, last_index()}; }

  // None before the base, where nobody knows any more, and after the end, where nobody knows yet.
  std::optional<Term> term_at(Index index) const {
    if (index == base.index) return base.term;
    if (index < base.index || index > last_index()) return std::nullopt;
    return entries[offset(index)].term;
  }
  const E& at(Index index) const {
    ensure(index > base.index && index <= last_index(), "the log still has the entry");
    return entries[offset(index)];
  }
  auto after(Index index, std::size_t most = SIZE_MAX) const {
    ensure(index >= base.index && index <= last_index(), "the log still has what follows");
    const std::size_t first = offset(index + 1);
    const std::size_t count = std::min(most, entries.size() - first);
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
    return std::ranges::subrange(begin, begin + static_cast<std::ptrdiff_t>(count));
  }

  // The consistency check. Whatever a snapshot holds is committed, so it matches every leader's log.
  bool matches(Position previous) const {
    return previous.index < base.index || term_at(previous.index) == previous.term;
  }

  // Only the leader appends to its own log, and it removes nothing.
  Index append(E entry) {
    ensure(entry.term >= last().term, "terms never fall along the log");
    entries.push_back(std::move(entry));
    return last_index();
  }

  // The first of the entries following `previous` whose place here belongs to another term; none if they all
  // match or are new.
  std::optional<Index> conflict(Position previous, std::span<const E> received) const {
    Index index = previous.index;
    for (const E& entry : received) {
      index = index + 1;
      if (index <= base.index) continue;
      const auto ours = term_at(index);
      if (!ours) return std::nullopt;
      if (*ours != entry.term) return index;
    }
    return std::nullopt;
  }

  // Takes a leader's entries, and returns the index up to which the logs now agree for certain; none if the
  // entry before them does not match. Entries that match already stay, with all that follow them: a message
  // that was long under way may be shorter than what came since.
  std::optional<Index> merge(Position previous, std::span<const E> received) {
    if (!matches(previous)) return std::nullopt;
    if (const auto place = conflict(previous, received))
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(offset(*place)), entries.end());
    const Index verified = previous.index + received.size();
    if (last_index() < verified) {
      const std::uint64_t known = last_index().value - previous.index.value;
      entries.insert(entries.end(), received.begin() + static_cast<std::ptrdiff_t>(known), received.end());
    }
    return verified;
  }

  // The last place not after `limit` whose term is not later than that of `limit`. A follower answers a
  // refused message with it, and the leader looks from there in its own log: each answer skips a whole term
  // of one of the two logs, where the paper's simple form takes one step back per entry.
  Position latest_within(Position limit) const {
    Index index = std::min(limit.index, last_index());
    while (index > base.index && *term_at(index) > limit.term) index = index - 1;
    // The other log differs even where ours begins.
    if (index == base.index && base.term > limit.term) return {{}, base.index - 1};
    return {term_at(index).value_or(Term{}), index};
  }

  // Everything up to `index` is in a snapshot.
  void compact(Index index) {
    if (index <= base.index) return;
    const auto term = term_at(index);
    ensure(term.has_value(), "a snapshot holds only what was applied");
    entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(offset(index)) + 1);
    base = {*term, index};
  }
  // A snapshot ends there. What follows stays if it follows the same entry, and then so do the entries after
  // `new_base`, for those who are a little behind.
  void install(Position snapshot, Position new_base) {
    // A disk that has only the later part of a log learns here what that part follows.
    for (const Position& known : {snapshot, new_base})
      if (known.index == base.index) base.term = known.term;
    if (snapshot.index <= base.index) return;
    if (term_at(snapshot.index) == snapshot.term) return compact(new_base.index);
    entries.clear();
    base = new_base;
  }
  // What a trace shows of a longer log: up to `after` it is as it was.
  struct Change {
    Position base = {};
    Index after = {};
    std::vector<E> entries = {};
  };
  Change change_since(const Log& before) const {
    Index same = base.index;
    const bool known = before.base.index <= same;
    while (known && same < last_index() && same < before.last_index() && at(same + 1) == before.at(same + 1))
      same = same + 1;
    const auto rest = after(same);
    return {base, same, {rest.begin(), rest.end()}};
  }
  void cut_after(Index index) {
    ensure(index >= base.index && index <= last_index(), "the log is cut where it is known");
    entries.resize(index.value - base.index.value);
  }

 private:
  std::size_t offset(Index index) const { return index.value - base.index.value - 1; }
};

}  // namespace conclave::raft
