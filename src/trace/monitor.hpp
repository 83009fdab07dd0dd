// An observer that judges: which properties of its family held in the run, and what else there is to say.
#pragma once
#include <string>
#include <vector>

#include "trace/step.hpp"
#include "trace/verdict.hpp"

namespace conclave::trace {

// Something a report says beside the costs that every run has.
struct Fact {
  std::string name;  // "leader"
  std::string text;  // for people
  std::string json;  // the value for programs
};

class Monitor : public Observer {
 public:
  virtual std::vector<Verdict> verdicts() const = 0;
  virtual std::vector<Fact> facts() const { return {}; }
};

}  // namespace conclave::trace
