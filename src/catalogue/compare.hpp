// Every mutual exclusion algorithm side by side, measured under light and heavy load, next to what the
// literature says.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "catalogue/judge.hpp"

namespace conclave::catalogue {

struct Measured {
  double value = 0;
  bool differs = false;  // from the claim
};

struct ComparedLoad {
  std::optional<Measured> messages = {};  // per entry
  std::optional<Measured> delay = {};  // light: client delay; heavy: synchronisation delay; in message delays
  double throughput = 0;               // entries per 100 message delays
  Claims claims = {};
  Judged judged = {};
};

struct ComparedRow {
  const Entry* entry = nullptr;
  std::uint32_t nodes = 0;
  std::optional<ComparedLoad> light = {};
  std::optional<ComparedLoad> heavy = {};
  std::vector<std::string> remarks = {};  // why something differs, or what went wrong
};

// Light: one request at a time, the processes in random order. Heavy: everybody asks again within two
// message delays after leaving. Every message takes the same time, and every entry lasts as long as one
// message.
ComparedRow compare(const Entry& entry, std::uint32_t nodes, bool light, bool heavy, std::uint64_t seed);

}  // namespace conclave::catalogue
