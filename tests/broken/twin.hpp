// A broken twin: an algorithm of the catalogue with one line corrupted. The checker must catch it, or the
// simulator where the algorithm is not for the checker.
#pragma once
#include <string>
#include <vector>

#include "catalogue/entry.hpp"

namespace conclave::broken {

struct Twin {
  std::string name;
  std::string what;        // it does wrong
  std::string needs;       // the configuration that shows it (ladder.hpp); empty: any small one
  catalogue::Entry entry;  // of the original, running the twin in one world

  bool is_checked() const { return entry.check != nullptr; }
};

// The original's row, without its functions that run it.
inline Twin unbound_twin(const char* original, const char* name, const char* what, const char* needs) {
  Twin twin = {name, what, needs, *catalogue::find(original)};
  twin.entry.simulate = nullptr;
  twin.entry.stage = nullptr;
  twin.entry.check = nullptr;
  return twin;
}

template <class Setup>
Setup default_setup(const catalogue::Setting&) {
  return {};
}

std::vector<Twin> all_twins();

}  // namespace conclave::broken
