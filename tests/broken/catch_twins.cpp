// Every broken twin must be caught within 1,000 seeds; prints which property caught it, and where.
#include <fmt/format.h>

#include "catalogue/judge.hpp"
#include "sim/seeds.hpp"
#include "twin.hpp"

namespace {

using namespace conclave;

struct Caught {
  std::uint32_t nodes = 0;
  sim::SeedFailure failure;
};

// Small configurations first: a failure there is the easiest to read.
std::optional<Caught> catch_twin(const broken::Twin& twin) {
  constexpr std::uint64_t seeds = 1000;
  for (const std::uint32_t nodes : {2u, 3u, 5u, 8u}) {
    if (nodes < twin.entry.least_nodes) continue;
    sim::Options options = {.nodes = nodes, .entries = 3, .chatter = 0.5, .step_limit = 1'000'000};
    options.think = {sim::Delay::Shape::uniform, 0, 60};
    if (twin.entry.usual) twin.entry.usual(options);
    options.faults = sim::Faults::allowed_by(twin.entry.assumes);
    catalogue::Setting setting = {.protocol = std::string(twin.entry.name),
                                  .members = twin.entry.members(nodes)};
    const auto run = [&](std::uint64_t seed) {
      options.seed = setting.seed = seed;
      return catalogue::judge(twin.entry, options, setting).failure;
    };
    const auto outcome = sim::run_seeds(1, seeds, 1, run, [](std::uint64_t) {});
    if (outcome.failure) return Caught{nodes, *outcome.failure};
  }
  return std::nullopt;
}

}  // namespace

int main() {
  std::size_t missed = 0;
  const auto twins = broken::all_twins();
  for (const broken::Twin& twin : twins) {
    const auto caught = catch_twin(twin);
    if (!caught) ++missed;
    fmt::print(
        "{:<30} {:<46} {}\n", twin.entry.name, twin.what,
        caught ? fmt::format("N={} seed {:<4} {}", caught->nodes, caught->failure.seed, caught->failure.why)
               : "NOT CAUGHT");
  }
  fmt::print("{} twins, {} caught, {} missed\n", twins.size(), twins.size() - missed, missed);
  return missed == 0 && !twins.empty() ? 0 : 1;
}
