// Watches a run that should be the same as another, step by step.
#pragma once
#include <string>
#include <vector>

#include "trace/step.hpp"

namespace conclave::trace {

class Repetition : public Observer {
 public:
  explicit Repetition(const std::vector<Step>& shown) : shown_(shown) {}
  void see(const Step& step) override;
  bool wants_contents() const override { return true; }

  // Where the run first departed from the other, in one sentence; empty as long as it did not.
  const std::string& departure() const { return departure_; }

 private:
  const std::vector<Step>& shown_;
  std::size_t seen_ = 0;
  std::string departure_;
};

// In which way a step is another than the one that was shown; empty if both do the same to the node. Times
// and the numbers of messages are left aside, and so is why nothing happened.
std::string difference(const Step& shown, const Step& repeated);

}  // namespace conclave::trace
