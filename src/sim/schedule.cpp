#include "sim/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace conclave::sim {
namespace {

constexpr std::uint64_t longest_burst = 40;
constexpr std::uint64_t slowness = 16;

}  // namespace

std::expected<Schedule, std::string> Schedule::parse(std::string_view text, std::uint32_t nodes) {
  if (text == "drawn") return Schedule{Mode::drawn};
  if (text == "uniform") return Schedule{Mode::uniform};
  if (text == "bursty") return Schedule{Mode::bursty};
  if (text == "unfair") return Schedule{Mode::unfair};
  Schedule schedule = {Mode::given};
  for (std::string_view rest = text;;) {
    const std::string_view part = rest.substr(0, rest.find(','));
    std::uint32_t id = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), id);
    if (error != std::errc{} || end != part.data() + part.size() || id < 1 || id > nodes)
      return std::unexpected(
          fmt::format("'{}' is no schedule; there is drawn, uniform, bursty, unfair, or a list of processes "
                      "between 1 and {} such as 2,2,1",
                      text, nodes));
    schedule.list.push_back({id});
    if (part.size() == rest.size()) return schedule;
    rest.remove_prefix(part.size() + 1);
  }
}

Scheduler::Scheduler(Schedule schedule, std::uint64_t seed) : schedule_(std::move(schedule)), seed_(seed) {
  if (schedule_.mode != Schedule::Mode::drawn) return;
  constexpr Schedule::Mode modes[] = {Schedule::Mode::uniform, Schedule::Mode::bursty,
                                      Schedule::Mode::unfair};
  schedule_.mode = modes[draw().below(3)];
}

std::uint32_t Scheduler::pick(const std::vector<std::uint32_t>& runnable) {
  const auto ready = [&](std::uint32_t index) {
    return std::ranges::find(runnable, index) != runnable.end();
  };
  switch (schedule_.mode) {
    case Schedule::Mode::bursty:
      if (burst_left_ == 0 || !ready(current_)) {
        current_ = any_of(runnable);
        burst_left_ = draw().between(1, longest_burst);
      }
      --burst_left_;
      return current_;
    case Schedule::Mode::unfair: {
      std::uint32_t candidate = any_of(runnable);
      for (std::uint64_t tries = 0; tries < slowness && slow(candidate) && draw().below(slowness) != 0;
           ++tries)
        candidate = any_of(runnable);
      return candidate;
    }
    case Schedule::Mode::given:
      for (std::size_t passed = 0; passed < schedule_.list.size(); ++passed) {
        const std::uint32_t index = schedule_.list[next_++ % schedule_.list.size()].value - 1;
        if (ready(index)) return index;
      }
      return any_of(runnable);
    default: return any_of(runnable);
  }
}

}  // namespace conclave::sim
