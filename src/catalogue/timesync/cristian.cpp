#include "protocols/timesync/cristian.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/timesync/rows.hpp"
#include "catalogue/timesync/setups.hpp"
#include "trace/timesync_monitor.hpp"

namespace conclave::catalogue {
namespace {

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting&) {
  return std::make_unique<trace::TimesyncMonitor>();
}

void usual(sim::Options& options) {
  options.entries = 30;
  options.think = {sim::Delay::Shape::uniform, 0, 20'000'000};
  options.delay.usual = timesync_delay;
  // Quartz, set by hand, in a room that warms and cools.
  options.clocks = {
      .offset_most = {10'000'000}, .drift_ppb_most = 1'000, .wander_ppb = 200, .wander_every = {30'000'000}};
}

// How many of the pairs of delays, each equally likely, make a round trip of more than `longest`.
double chance_of_longer(const sim::Delay& delay, std::int64_t longest) {
  const auto each = static_cast<std::int64_t>(delay.most - delay.least + 1);
  std::int64_t longer = 0;
  for (std::int64_t there = 0; there < each; ++there) {
    const std::int64_t back = longest - 2 * static_cast<std::int64_t>(delay.least) - there;  // at most
    longer += each - std::clamp<std::int64_t>(back + 1, 0, each);
  }
  return static_cast<double>(longer) / static_cast<double>(each * each);
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& row = *find("cristian");
  sim::Options options = {.nodes = nodes, .seed = seed};
  usual(options);
  // One synchronisation between two readings.
  options.entries = std::max(20u, 5'000 / nodes);
  options.think = {sim::Delay::Shape::fixed, 1'000'000, 1'000'000};
  Setting setting = {.protocol = std::string(row.name),
                     .members = row.members(nodes),
                     .parameters = {{"period", "1000000"}},
                     .seed = seed};
  const auto run = [&] {
    trace::TimesyncMonitor watch;
    row.simulate(options, setting, &watch);
    return watch.summary();
  };
  const auto any = run();
  constexpr std::int64_t accuracy = 300;
  setting.parameters["accuracy"] = std::to_string(accuracy);
  setting.parameters["attempts"] = "1000";
  const auto accurate = run();
  const double p =
      chance_of_longer(timesync_delay, cristian_setup<timesync::CristianSetup>(setting).longest_round_trip);
  return {{"messages per synchronisation", any.messages_per_correction(), exactly(2)},
          {"worst error / bound", any.worst_share, within(0, 1), 0},
          {"worst error (µs)", static_cast<double>(any.worst_error), unclaimed()},
          {"messages, accuracy 300 µs",
           accurate.messages_per_correction(),
           {.text = "2/(1-p) = " + exactly(2 / (1 - p)).text, .low = 2 / (1 - p), .high = 2 / (1 - p)},
           0.05},
          {"worst error, accuracy 300 µs", static_cast<double>(accurate.worst_error), unclaimed()}};
}

}  // namespace

Entry cristian() {
  Entry entry = {
      .name = "cristian",
      .family = "timesync",
      .title = "Cristian's time server, probabilistic (1 tick = 1 µs)",
      .paper = "Cristian, Distributed Computing 3, 1989",
      .year = 1989,
      .source = "src/protocols/timesync/cristian.hpp",
      .worlds = {"sim", "live"},
      .cost = "2 messages per synchronisation; 2/(1-p) if round trips over a limit are discarded",
      .properties = {"bound", "monotone", "answered"},
      .remark = "the server is a single point of failure: without it bounds grow with the drift",
      .variants = {{"canonical", "half the round trip, clocks are slewed"},
                   {"first-approximation", "takes the answer as it is: bound is lost", true},
                   {"steps-back", "sets a fast clock back: monotone is lost", true}},
      .parameters =
          {{"period", "ticks from one synchronisation to the next", "60000000", 1, 1'000'000'000'000},
           {"timeout", "ticks after which a request is given up and repeated", "10000", 1, 1'000'000'000'000},
           {"samples", "answers of which the quickest is taken", "1", 1, 1'000},
           {"attempts", "requests each period, at most", "20", 1, 1'000'000},
           {"min", "least delay of a message, 0 if unknown", "300", 0, 1'000'000'000},
           {"accuracy", "error wanted: slower round trips are discarded; 0: none is", "0", 0, 1'000'000'000},
           {"drift-ppb", "most drift of a clock, in parts of 10^9", "1000", 0, 100'000'000},
           {"slew", "ticks over which a correction is spread", "10000000", 1, 1'000'000'000'000},
           {"jump-forward", "1: a clock that is behind is set at once", "0", 0, 1}},
      .most_nodes = 100'000,
      .monitor = monitor,
      .usual = usual,
      .measure = measure};
  bind<timesync::Cristian, cristian_setup<timesync::CristianSetup>>(entry);
  return entry;
}

}  // namespace conclave::catalogue
