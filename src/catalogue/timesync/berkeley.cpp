#include "protocols/timesync/berkeley.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/timesync/rows.hpp"
#include "catalogue/timesync/setups.hpp"
#include "trace/timesync_monitor.hpp"

namespace conclave::catalogue {
namespace {

// In a second clocks drift apart by some ticks, and even slewing changes them by a millisecond only.
constexpr Ticks one_moment = {1'000'000};

std::unique_ptr<trace::Monitor> monitor(const sim::Options&, const Setting& setting) {
  return std::make_unique<trace::TimesyncMonitor>(ticks_of(*find("berkeley"), setting, "agreement"),
                                                  one_moment);
}

void usual(sim::Options& options) {
  options.entries = 100;
  // In step, so that clocks are read together and can be compared.
  options.think = {sim::Delay::Shape::fixed, 12'000'000, 12'000'000};
  options.delay.usual = timesync_delay;
  options.clocks = {.offset_most = {10'000'000},
                    .drift_ppb_most = 20'000,
                    .wander_ppb = 2'000,
                    .wander_every = {60'000'000}};
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry& row = *find("berkeley");
  sim::Options options = {.nodes = nodes, .seed = seed};
  usual(options);
  const Setting setting = {.protocol = std::string(row.name), .members = row.members(nodes), .seed = seed};
  const auto watch = monitor(options, setting);
  row.simulate(options, setting, watch.get());
  const auto& summary = dynamic_cast<const trace::TimesyncMonitor&>(*watch).summary();
  return {{"messages per round", summary.messages_per_round(), exactly(3.0 * (nodes - 1))},
          {"furthest apart (ms)", static_cast<double>(summary.spread) / 1'000, within(0, 25), 0}};
}

}  // namespace

Entry berkeley() {
  Entry entry = {
      .name = "berkeley",
      .family = "timesync",
      .title = "Berkeley clock synchronisation, as in TEMPO (1 tick = 1 µs)",
      .paper = "Gusella, Zatti, IEEE TSE 15(7), 1989",
      .year = 1989,
      .source = "src/protocols/timesync/berkeley.hpp",
      .worlds = {"sim", "live"},
      .cost = "3(N-1) messages per round",
      .properties = {"mutual", "monotone", "answered"},
      .remark = "the clocks agree with each other, not with the true time",
      .variants = {{"canonical", "fault-tolerant average, clocks are slewed"},
                   {"all-count", "averages every clock: one that is far out draws all with it", true},
                   {"steps-back", "sets a fast clock back: monotone is lost", true}},
      .parameters = {{"period", "ticks from one round to the next", "240000000", 1, 1'000'000'000'000},
                     {"round-trip", "longest round trip to learn from", "10000", 1, 1'000'000'000},
                     {"attempts", "polls each round, at most", "5", 1, 1'000},
                     {"gamma", "clocks further apart do not count together", "25000", 0, 1'000'000'000'000},
                     {"min", "least delay of a message, 0 if unknown", "300", 0, 1'000'000'000},
                     {"drift-ppb", "most drift of a clock, in parts of 10^9", "20000", 0, 100'000'000},
                     {"slew", "ticks over which a correction is spread", "30000000", 1, 1'000'000'000'000},
                     {"jump-forward", "1: a clock that is behind is set at once", "0", 0, 1},
                     {"agreement", "how far apart clocks may be", "25000", 0, 1'000'000'000'000}},
      .most_nodes = 1'000,
      .monitor = monitor,
      .usual = usual,
      .measure = measure};
  bind<timesync::Berkeley, berkeley_setup<timesync::BerkeleySetup>>(entry);
  return entry;
}

}  // namespace conclave::catalogue
