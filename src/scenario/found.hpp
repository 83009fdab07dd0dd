// What the checker finds against a property, as a run that one can watch.
#pragma once
#include <optional>
#include <string>

#include "check/report.hpp"
#include "scenario/run.hpp"

namespace conclave::scenario {

struct Found {
  check::Report report = {};
  std::optional<Run> run = {};  // the shortest that violates the property; none if none does
};

// Explores every interleaving of the row in this setting.
Found explored(std::string title, check::Options options, const catalogue::Setting& setting,
               const std::string& property);

}  // namespace conclave::scenario
