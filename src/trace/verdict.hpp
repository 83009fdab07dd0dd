// What a monitor found out about one property of one run.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace conclave::trace {

struct Verdict {
  std::string property;
  bool holds = true;
  std::string why = {};                    // of a violation, in one sentence
  std::optional<std::uint64_t> step = {};  // where it showed
};

}  // namespace conclave::trace
