#include "sim/slowness.hpp"

#include <algorithm>

namespace conclave::sim {
namespace {

std::optional<std::uint64_t> longest(const Delay& delay) {
  if (delay.shape == Delay::Shape::exponential) return std::nullopt;
  return delay.shape == Delay::Shape::uniform ? delay.most : delay.least;
}

}  // namespace

// One that comes twice overtakes nothing the first time; what is late is the same once more.
bool keeps_order(const Options& options) {
  const Script script = options.script.value_or(Script{});
  const bool reorders = options.faults.reorder > 0 || std::ranges::any_of(script, [](const Action& action) {
                          return action.what == Action::What::reorder;
                        });
  return !reorders && options.fifo.value_or(false);
}

std::optional<Slowness> slowness(const Options& options) {
  auto message = longest(options.delay.usual);
  const auto consider = [&](const Delay& delay) {
    const auto other = longest(delay);
    message = message && other ? std::optional(std::max(*message, *other)) : std::nullopt;
  };
  for (const auto& [link, delay] : options.delay.per_link) consider(delay);
  for (const auto& [type, delay] : options.delay.per_message) consider(delay);
  if (!message) return std::nullopt;

  const Faults& faults = options.faults;
  std::uint64_t extra = 0;
  if (faults.slow > 0 || faults.reorder > 0 || faults.duplicate > 0)
    extra = longest_delay_by_fault(options.delay);
  std::uint64_t disk = options.sync_ticks;
  if (faults.touches_disks() && disk == 0) disk = usual_sync_ticks;
  bool slow_disks = faults.unsynced;
  bool clocks = faults.drift || faults.jitter;
  for (const Action& action : options.script.value_or(Script{})) {
    const auto amount = static_cast<std::uint64_t>(std::max<std::int64_t>(0, action.amount));
    if (action.concerns_message()) extra = std::max(extra, amount);
    if (action.what == Action::What::stall && disk == 0) disk = usual_sync_ticks;
    clocks |= action.what == Action::What::drift || action.what == Action::What::jitter;
    if (action.what != Action::What::disk) continue;
    slow_disks = true;
    disk = amount;
  }
  return Slowness{{*message + extra}, {slow_disks ? slowest_sync * disk : disk}, clocks ? 2u : 1u};
}

}  // namespace conclave::sim
