// What follows about operations without an outcome, before anything is searched.
#pragma once
#include <limits>
#include <span>

#include "linear/linear.hpp"

namespace conclave::linear {

inline constexpr Time never = std::numeric_limits<Time>::max();

// An operation of one key, with values as numbers; 0 is no value.
struct Prepared {
  std::size_t place = 0;  // in the history
  Kind kind = Kind::get;
  std::uint32_t wanted = 0;
  std::uint32_t value = 0;  // what it writes
  std::optional<std::uint32_t> found = {};
  Time invoked = 0;
  Time returned = never;
  bool by_testimony = false;    // somebody saw its value by then
  bool may_be_missing = false;  // it need not have happened
  bool refused = false;         // a swap that was told that it did not happen
  std::uint64_t revision = 0;   // 0: it is not known
  std::uint32_t rank = 0;       // among the writes whose revision is known, from 1; 0: none of them

  bool writes() const { return kind != Kind::get && !refused; }
  // It cannot have happened where anything else was.
  std::optional<std::uint32_t> needs() const {
    if (found) return found;
    if (kind == Kind::swap && !refused) return wanted;
    return std::nullopt;
  }
};

// A value that one operation alone writes, and somebody saw, was written before that one was told: the
// writer's outcome is known then. What nobody saw may as well never have been written.
std::vector<Prepared> prepare(const History& history, std::span<const std::size_t> chosen);

}  // namespace conclave::linear
