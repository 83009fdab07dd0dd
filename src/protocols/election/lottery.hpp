// Election by lottery as its users see it: every height of the chain has a leader, who is confirmed when
// enough blocks stand on its own, and may be reversed all the same.
#pragma once
#include <cmath>
#include <optional>
#include <variant>

#include "core/node_id.hpp"

namespace conclave::election {

// The leader of a height stands under enough blocks; or it did, and does no longer.
struct Confirmed {
  std::uint32_t height = 0;
  NodeId leader = {};
  bool operator==(const Confirmed&) const = default;
};
struct Reversed {
  std::uint32_t height = 0;
  NodeId leader = {};  // that it was
  bool operator==(const Reversed&) const = default;
};
struct Attacked {  // the attacker's race is over
  bool succeeded = false;
  bool operator==(const Attacked&) const = default;
};
struct Mine {
  bool operator==(const Mine&) const = default;
};

struct LotterySpec {
  using Command = std::variant<Mine>;
  using Event = std::variant<Confirmed, Reversed, Attacked>;

  // Wants to see so many confirmed leaders, or, as an attacker, how its race ends.
  struct Client {
    bool attacks = false;
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;
    std::uint32_t confirmed = 0;
    std::uint32_t wanted = 0;
    bool race_over = false;
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return attacks ? race_over : wishes == 0 && confirmed >= wanted; }
    std::optional<Command> next() const {
      if (requests == 0 && wishes > 0) return Mine{};
      return std::nullopt;
    }
    bool may(const Command&) const { return requests == 0; }
    void wish() { ++wishes; }
    void issue(const Command&) {
      ++requests;
      wanted = wishes;
      wishes = 0;
    }
    void crash() {}
    void see(const Event& event) {
      if (std::holds_alternative<Confirmed>(event)) ++confirmed;
      if (std::holds_alternative<Attacked>(event)) race_over = true;
    }
  };
};

// The chance that an attacker with share q of the lots reverses a leader with z confirmations: as published,
// with the number of his blocks taken for Poisson …
inline double nakamoto(double q, std::uint32_t z) {
  const double p = 1 - q;
  if (q >= p) return 1;
  const double mean = z * q / p;
  double poisson = std::exp(-mean);
  double sum = 1;
  for (std::uint32_t k = 0; k <= z; ++k) {
    if (k > 0) poisson *= mean / k;
    sum -= poisson * (1 - std::pow(q / p, z - k));
  }
  return sum;
}

// … and as it is, negative binomial.
inline double rosenfeld(double q, std::uint32_t z) {
  const double p = 1 - q;
  if (q >= p) return 1;
  double ways = 1;  // C(m + z - 1, m)
  double sum = 1;
  for (std::uint32_t m = 0; m <= z; ++m) {
    if (m > 0) ways *= static_cast<double>(m + z - 1) / m;
    sum -= ways * (std::pow(p, z) * std::pow(q, m) - std::pow(p, m) * std::pow(q, z));
  }
  return sum;
}

}  // namespace conclave::election
