// Runs an entry of the catalogue and says whether it kept what it claims.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catalogue/entry.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::catalogue {

struct Judged {
  sim::Report report = {};
  trace::MutexMonitor::Summary summary = {};  // of a mutual exclusion algorithm
  std::vector<trace::Verdict> verdicts = {};
  std::vector<trace::Fact> facts = {};
  std::optional<trace::Chart> chart = {};
  bool order_watched = true;                // false: too many nodes for vector clocks, EM3 is not judged
  std::optional<std::string> failure = {};  // the first claim that was broken, in one sentence
  std::string failed = {};                  // its name
  double seconds = 0;                       // of real time
};

// `also`, if given, observes too.
Judged judge(const Entry& entry, const sim::Options& options, const Setting& setting,
             trace::Observer* also = nullptr);

// The same for a run that somebody else brings about: `run` shows it to the observer that it is given.
Judged judge_run(const Entry& entry, const sim::Options& options, const Setting& setting,
                 trace::Observer* also, const std::function<sim::Report(trace::Observer*)>& run);

// Looks for the first claim among the verdicts that was broken, and puts it down as the failure.
void find_failure(const Entry& entry, const sim::Options& options, Judged& judged);

// The smallest script that still breaks the same claim in the run of these options, with the same seed for
// its delays; none if the run as a whole does not fail again when it is replayed from its script, because two
// things that happened in the same tick change places.
std::optional<sim::Script> shrink_failure(const Entry& entry, sim::Options options, const Setting& setting);

}  // namespace conclave::catalogue
