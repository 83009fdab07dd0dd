// How a server numbers its commands, and which of those in the log are its own: only what this very process
// proposed. The numbers of two processes that began with one directory have nothing in common, and owe
// nothing to any clock. So a command under our name that we did not give shows that the directory was put
// back.
//
//   cluster::Numbers numbers(start);
//   const std::uint64_t serial = numbers.give(value, bytes);
//   if (numbers.whose(entry) == Whose::ours) …   // asked once for each command of this server in the log
#pragma once
#include <cstdint>
#include <deque>

#include "core/payload.hpp"
#include "protocols/log/spec.hpp"

namespace conclave::cluster {

// A start of a process has so many bits of numbers to give: more than commands of a year.
inline constexpr unsigned number_bits = 40;
// Earlier versions numbered their commands by a clock, in microseconds since 1970; until the year 2255 those
// are below the numbers of this start. The first one of a directory that they used is this.
inline constexpr std::uint64_t first_start_after_clocks = 1 << 13;

// The first start whose numbers are all above this one.
constexpr std::uint64_t start_above(std::uint64_t serial) { return (serial >> number_bits) + 1; }

class Numbers {
 public:
  enum class Whose {
    earlier,  // of a process before this one: nobody is left who waits for it
    ours,     // an open one of ours, which is not open any more
    nobodys,  // nobody can have given it if our directory is what it was
  };

  Numbers() = default;
  explicit Numbers(std::uint64_t start, unsigned bits = number_bits)
      : bits_(bits), first_(start << bits), last_(first_) {}

  std::uint64_t first() const { return first_; }
  std::uint64_t last() const { return last_; }
  // The next number belongs to the next start: to be begun before it is given.
  bool spent() const { return (last_ + 1) >> bits_ != last_ >> bits_; }
  std::uint64_t give(std::uint64_t value, Payload bytes);
  Whose whose(const log::Entry& entry);
  // What was given up to this one is in the log, or never will be.
  void close(std::uint64_t serial);
  bool given(std::uint64_t serial) const { return serial <= last_; }

 private:
  struct Open {
    std::uint64_t serial;
    std::uint64_t value;
    Payload bytes;
  };
  unsigned bits_ = number_bits;
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::deque<Open> open_ = {};
};

}  // namespace conclave::cluster
