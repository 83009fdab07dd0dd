// One trace of what several processes wrote of one run, each for itself: docs/trace.md says what a part is.
//
// Steps are put in causal order. Their vector clocks say what that is, and are checked against the messages;
// among steps that are concurrent the times decide that each process noted, then the ids.
#pragma once
#include <expected>
#include <iosfwd>
#include <string>
#include <vector>

#include "trace/json.hpp"

namespace conclave::trace {

struct Part {
  std::string file = {};
  Header header = {};
  std::vector<Step> steps = {};
  std::vector<std::uint64_t> lines = {};  // of the steps, in the file
  std::optional<End> end = {};            // none if the process was killed, or goes on
  std::uint64_t torn = 0;                 // the line that was cut off in the middle
};

// The parts that a file holds, of one run or of many; or what is wrong with it, as "file:line: …".
std::expected<std::vector<Part>, std::string> read_parts(std::istream& in, const std::string& file);

struct Merged {
  Run run = {};
  std::vector<std::string> remarks = {};  // what is missing, in sentences
};

// `crashed` are known to have been killed after their last step. Fails where parts contradict each other.
std::expected<Merged, std::string> merge(const std::vector<Part>& parts, const NodeSet& crashed = {});

}  // namespace conclave::trace
