// Many seeds in several threads, each with its own world and monitor, for the thread sanitiser: runs share
// nothing, and the outcome does not depend on how many there are.
#include "sim/seeds.hpp"

#include <fmt/format.h>

#include "protocols/mutex/ricart_agrawala.hpp"
#include "sim/world.hpp"
#include "trace/mutex_monitor.hpp"

namespace {

using namespace conclave;

std::optional<std::string> run_one(std::uint64_t seed) {
  sim::Options options = {.nodes = 4, .entries = 2, .chatter = 0.5, .seed = seed};
  options.faults = sim::Faults::allowed_by(mutex::RicartAgrawala::assumes);
  trace::MutexMonitor monitor;
  sim::World<mutex::RicartAgrawala> world(options, {}, &monitor);
  const sim::Report report = world.run();
  if (!report.broken.empty()) return report.broken;
  for (const trace::Verdict& verdict : monitor.verdicts()) {
    if (!verdict.holds && verdict.property != "FCFS") return verdict.property;
  }
  // A failure that every number of threads must find alike.
  return seed == 150 ? std::optional<std::string>("the seed we look for") : std::nullopt;
}

}  // namespace

int main() {
  for (const unsigned jobs : {1u, 2u, 4u}) {
    const sim::SeedsOutcome outcome = sim::run_seeds(1, 200, jobs, run_one, [](std::uint64_t) {});
    if (!outcome.failure || outcome.failure->seed != 150) {
      fmt::print(stderr, "{} jobs: {}\n", jobs, outcome.failure ? outcome.failure->why : "nothing found");
      return 1;
    }
  }
  fmt::print("one, two and four jobs find the same seed\n");
}
