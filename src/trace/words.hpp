// A run in words, one sentence per step: "p3 gets Reply from p1, ENTERS (fence 7) although p1 is inside".
#pragma once
#include <string>
#include <vector>

#include "trace/step.hpp"

namespace conclave::trace {

struct Sentence {
  std::uint64_t step = 0;  // its number
  std::string text = {};
};

// As the diagrams say it beside their lanes, and with the same steps left out: those in which a node starts
// and does nothing else. Whose message was lost is known here, as it is not from the step alone (`words`).
std::vector<Sentence> in_words(const Header& header, const std::vector<Step>& steps);

// The same as lines, each with the number of its step.
std::string as_lines(const std::vector<Sentence>& sentences);

}  // namespace conclave::trace
