#include "trace/timesync_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace conclave::trace {
namespace {

// The number in the field `key` of a JSON object written by conclave; 0 if it is not there.
template <class Number>
Number field(std::string_view object, std::string_view key) {
  const std::size_t at = object.find(fmt::format("\"{}\":", key));
  if (at == std::string_view::npos) return 0;
  Number value = 0;
  std::from_chars(object.data() + at + key.size() + 3, object.data() + object.size(), value);
  return value;
}

std::uint64_t distance(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(a < b ? b - a : a - b);
}

double ratio(std::uint64_t amount, std::uint64_t per) {
  return per == 0 ? 0.0 : static_cast<double>(amount) / static_cast<double>(per);
}

// Ticks are microseconds here.
std::string as_time(double ticks) {
  if (ticks < 1'000) return fmt::format("{:.4g} µs", ticks);
  if (ticks < 1'000'000) return fmt::format("{:.4g} ms", ticks / 1'000);
  return fmt::format("{:.4g} s", ticks / 1'000'000);
}
Fact time_fact(std::string name, double ticks) {
  return {std::move(name), as_time(ticks), fmt::format("{:g}", ticks)};
}

}  // namespace

double TimesyncMonitor::Summary::mean_error() const { return ratio(sum_of_errors, readings); }
double TimesyncMonitor::Summary::messages_per_correction() const {
  return ratio(messages_for_corrections, corrections);
}
double TimesyncMonitor::Summary::messages_per_round() const { return ratio(messages_for_rounds, rounds); }

void TimesyncMonitor::violate(Verdict& verdict, const Step& step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step.number;
}

void TimesyncMonitor::see(const Step& step) {
  if (step.kind == Kind::command && step.input.type == "Read") waiting_[*step.node] = step.number;
  if (step.kind == Kind::crash) {
    // Whoever comes back is a new process: nobody has read its clock.
    waiting_.erase(*step.node);
    shown_.erase(*step.node);
    corrected_.erase(*step.node);
    latest_.erase(*step.node);
  }
  if (step.kind != Kind::tell) {
    for (const Sent& sent : step.sends) {
      ++summary_.messages;
      ++messages_so_far_[*step.node == server_ ? sent.to : *step.node];
    }
  }
  for (const Item& event : step.events) {
    if (event.type == "Reading") read(step, event);
    if (event.type == "Adjusted") adjust(step, event);
  }
}

void TimesyncMonitor::shows(const Step& step, std::int64_t time) {
  const auto found = shown_.find(*step.node);
  if (found != shown_.end() && time < found->second)
    violate(monotone_, step, fmt::format("p{} showed {} after {}", step.node->value, time, found->second));
  shown_[*step.node] = time;
}

void TimesyncMonitor::adjust(const Step& step, const Item& adjusted) {
  const NodeId node = *step.node;
  const NodeId source = {field<std::uint32_t>(adjusted.content, "source")};
  corrected_[node] = {source, field<std::uint64_t>(adjusted.content, "round")};
  ++summary_.corrections;
  if (source == node) {
    ++summary_.rounds;
    summary_.messages_for_rounds = summary_.messages;
  }
  summary_.messages_for_corrections += std::exchange(messages_so_far_[node], 0);
  // What a clock showed before it was set for the first time nobody has read.
  if (shown_.contains(node)) shows(step, field<std::int64_t>(adjusted.content, "before"));
  shows(step, field<std::int64_t>(adjusted.content, "after"));
}

void TimesyncMonitor::read(const Step& step, const Item& reading) {
  const NodeId node = *step.node;
  const auto time = field<std::int64_t>(reading.content, "time");
  const auto bound = field<std::uint64_t>(reading.content, "bound");
  const std::int64_t error = time - static_cast<std::int64_t>(step.at.count);
  const std::uint64_t off = distance(error, 0);
  waiting_.erase(node);
  shows(step, time);
  ++summary_.readings;
  summary_.worst_error = std::max(summary_.worst_error, off);
  summary_.sum_of_errors += off;
  summary_.worst_bound = std::max(summary_.worst_bound, bound);
  summary_.worst_share = std::max(summary_.worst_share, ratio(off, std::max<std::uint64_t>(1, bound)));
  series_[node].push_back({step.at, error, bound});
  if (off > bound)
    violate(bound_, step,
            fmt::format("p{} read {} ± {} when it was {}", node.value, time, bound, step.at.count));
  const Latest mine = {step.at, error, bound, corrected_[node]};
  compare(step, mine);
  latest_[node] = mine;
}

void TimesyncMonitor::compare(const Step& step, const Latest& mine) {
  if (against_truth()) return;
  for (const auto& [other, theirs] : latest_) {
    if (other == *step.node || theirs.at + moment_ < step.at) continue;
    const std::uint64_t apart = distance(mine.error, theirs.error);
    summary_.spread = std::max(summary_.spread, apart);
    if (apart > agreement_->count)
      violate(
          mutual_, step,
          fmt::format("p{} and p{} are {} apart, more than {}", step.node->value, other.value,
                      as_time(static_cast<double>(apart)), as_time(static_cast<double>(agreement_->count))));
    if (mine.round == theirs.round && apart > mine.bound + theirs.bound)
      violate(
          mutual_, step,
          fmt::format("p{} and p{} were corrected in one round to within {} and {} ticks, and are {} apart",
                      step.node->value, other.value, mine.bound, theirs.bound, apart));
  }
}

void TimesyncMonitor::end(const End&) {
  if (waiting_.empty()) return;
  answered_.holds = false;
  answered_.why = fmt::format("p{} asked for the time and was never told", waiting_.begin()->first.value);
  answered_.step = waiting_.begin()->second;
}

std::vector<Verdict> TimesyncMonitor::verdicts() const {
  return {against_truth() ? bound_ : mutual_, monotone_, answered_};
}

std::vector<Fact> TimesyncMonitor::facts() const {
  const auto count = [](std::string name, std::uint64_t value) {
    return Fact{std::move(name), fmt::format("{}", value), fmt::format("{}", value)};
  };
  std::vector<Fact> facts = {count("readings", summary_.readings),
                             count("corrections", summary_.corrections)};
  if (against_truth()) {
    facts.push_back(time_fact("worst error", static_cast<double>(summary_.worst_error)));
    facts.push_back(time_fact("mean error", summary_.mean_error()));
    facts.push_back(time_fact("worst bound", static_cast<double>(summary_.worst_bound)));
  } else {
    facts.push_back(time_fact("furthest apart", static_cast<double>(summary_.spread)));
  }
  const double messages =
      against_truth() ? summary_.messages_per_correction() : summary_.messages_per_round();
  facts.push_back({against_truth() ? "messages per synchronisation" : "messages per round",
                   fmt::format("{:.3g}", messages), fmt::format("{:g}", messages)});
  return facts;
}

std::optional<Chart> TimesyncMonitor::chart() const {
  // Without a source of true time the clocks agree on one that may be far from it: what counts is how far
  // each is from their mean.
  double mean = 0;
  if (!against_truth() && summary_.readings > 0) {
    double count = 0;
    for (const auto& [node, samples] : series_) {
      for (const Sample& sample : samples) {
        mean += static_cast<double>(sample.error);
        ++count;
      }
    }
    mean /= count;
  }
  Chart chart = {.title = "Error of the clocks",
                 .x = "true time (s)",
                 .y = against_truth() ? "clock - true time (µs)" : "clock - mean of all (µs)",
                 .curves = {}};
  for (const auto& [node, samples] : series_) {
    Chart::Curve curve = {"process " + std::to_string(node.value), {}};
    for (const Sample& sample : samples)
      curve.points.push_back({static_cast<double>(sample.at.count) / 1e6,
                              static_cast<double>(sample.error) - mean,
                              against_truth() ? static_cast<double>(sample.bound) : 0.0});
    chart.curves.push_back(std::move(curve));
  }
  return chart;
}

}  // namespace conclave::trace
