// A run that follows directions: a trace or a counterexample becomes a run again, step by step.
#pragma once
#include <string>

#include "sim/options.hpp"
#include "sim/stage.hpp"
#include "trace/direction.hpp"
#include "trace/repetition.hpp"

namespace conclave::sim {

// What is wrong if the direction cannot be followed, and an empty string if it was. Every direction is one
// step.
std::string follow(Stage& stage, const trace::Direction& direction);

struct Followed {
  std::size_t directions = 0;  // that were followed
  std::string problem = {};    // with the first that was not, or whose step departed from what was shown
  std::string broken = {};     // the belief that failed, if the protocol broke its own rules on the way
};

// Follows them one after the other, from the start of the stage. `repetition`, if given, observes the stage
// and says how far the run is the one that was shown. Who calls ends the stage.
Followed run_directions(Stage& stage, const trace::Directions& directions,
                        const trace::Repetition* repetition = nullptr);

// Counts what a run came to, from its steps.
class Tally : public trace::Observer {
 public:
  void see(const trace::Step& step) override;
  void end(const trace::End& end) override;
  bool wants_vectors() const override { return false; }
  const Report& report() const { return report_; }

 private:
  Report report_;
};

}  // namespace conclave::sim
