// A simulated run, told to a person or to a program.
#pragma once
#include <string>
#include <vector>

#include "catalogue/judge.hpp"

namespace conclave::cli {

struct RunFacts {
  const catalogue::Entry& entry;
  const sim::Options& options;
  const catalogue::Judged& judged;
  const std::vector<std::string>& beyond;  // faults that the algorithm rules out
};

std::string report_text(const RunFacts& facts, const std::string& variant, const std::string& conditions);
std::string report_json(const RunFacts& facts, const std::string& variant, const std::string& replay);

// holds, violated, not claimed, not watched
std::string status(const catalogue::Entry& entry, const catalogue::Judged& judged,
                   const trace::Verdict& verdict);

// The faults in a script that the assumptions rule out.
std::vector<std::string> scripted_beyond(const sim::Script& script, const Assumptions& assumes);

}  // namespace conclave::cli
