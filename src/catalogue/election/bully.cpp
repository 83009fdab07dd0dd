#include "catalogue/election/bully.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/election/bounds.hpp"
#include "catalogue/election/rows.hpp"
#include "protocols/election/judge.hpp"

namespace conclave::catalogue {
namespace {

using election::Bully;

// A scripted run with the slowest messages that the bounds allow, and nobody told of crashes but by script.
std::uint64_t messages_of(const Entry& entry, const Setting& setting, sim::Script script) {
  sim::Options options = {.nodes = setting.members.size(), .script = std::move(script)};
  bully_usual(options);
  const std::uint64_t longest = bounds_of(setting).transmission.count;
  options.delay.usual = {sim::Delay::Shape::fixed, longest, longest};
  options.detector = false;
  return entry.simulate(options, setting, nullptr).messages;
}

sim::Script greatest_is_dead(const NodeSet& members, const NodeSet& starters) {
  sim::Script script = {{.what = sim::Action::What::crash, .node = members.max(), .forever = true}};
  for (NodeId node : starters) script.push_back({.what = sim::Action::What::wish, .at = {1}, .node = node});
  return script;
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const double n = nodes;
  auto figures = measure_bully("bully", nodes, seed,
                               {.smallest_starts = n * n - n - 1,
                                .greatest_live_starts = n - 1,
                                .all_start = n * n - n - 1,
                                .comes_back = n - 1});
  if (nodes < 2) return figures;
  const NodeSet members = NodeSet::range({1}, nodes);
  const Setting setting = {
      .protocol = "bully", .members = members, .parameters = {{"known_dead", "1"}}, .seed = seed};
  const auto announced = messages_of(*find("bully"), setting, greatest_is_dead(members, {NodeId{nodes - 1}}));
  figures.push_back({.what = "messages, greatest live starts and knows it",
                     .measured = static_cast<double>(announced),
                     .claimed = exactly(n - 2)});
  return figures;
}

}  // namespace

Bully::Setup bully_setup(const Setting& setting) {
  Bully::Setup setup = {.policy = {.bounds = bounds_of(setting)}, .coordinator = setting.coordinator};
  if (setting.variant == "no-second-wait") setup.policy.deviation = Bully::Deviation::no_second_wait;
  if (setting.variant == "always-start") setup.policy.deviation = Bully::Deviation::always_start;
  if (setting.variant == "no-pause") setup.policy.deviation = Bully::Deviation::no_pause;
  NodeSet others = setting.members;
  for (auto left = number_of(setting, "known_dead", 0); left > 0 && !others.empty(); --left) {
    setup.known_dead.insert(others.max());
    others.erase(others.max());
  }
  return setup;
}

std::vector<Parameter> bully_parameters() {
  std::vector<Parameter> parameters = bounds_parameters();
  parameters.push_back(
      {"known_dead", "how many of the greatest processes are known to be dead", "0", 0, 1'000'000});
  return parameters;
}

void bully_usual(sim::Options& options) {
  const election::Bounds bounds;
  options.entries = 2;
  options.starters = 3;
  options.think = {sim::Delay::Shape::uniform, 0, 200};
  options.delay.usual = {sim::Delay::Shape::uniform, 1, bounds.transmission.count};
  options.detect = {sim::Delay::Shape::uniform, 1, bounds.answer_within().count};
  options.ranked = true;  // an answer that comes in the last moment comes in time
}

std::vector<Measurement> measure_bully(std::string_view row, std::uint32_t nodes, std::uint64_t seed,
                                       const BullyClaims& claims) {
  if (nodes < 2) return {};
  const Entry& entry = *find(row);
  const NodeSet members = NodeSet::range({1}, nodes);
  const Setting setting = {.protocol = std::string(row), .members = members, .seed = seed};
  const auto figure = [&](const char* what, std::uint64_t messages, double claim) {
    return Measurement{.what = what, .measured = static_cast<double>(messages), .claimed = exactly(claim)};
  };
  const auto started_by = [&](const NodeSet& starters) {
    return messages_of(entry, setting, greatest_is_dead(members, starters));
  };
  Setting second_leads = setting;
  second_leads.coordinator = NodeId{nodes - 1};
  const auto came_back =
      messages_of(entry, second_leads,
                  {{.what = sim::Action::What::crash, .node = members.max()},
                   {.what = sim::Action::What::recover, .at = {1}, .node = members.max()}});
  return {
      figure("messages, smallest starts", started_by({NodeId{1}}), claims.smallest_starts),
      figure("messages, greatest live starts", started_by({NodeId{nodes - 1}}), claims.greatest_live_starts),
      figure("messages, all start", started_by(members.without(members.max())), claims.all_start),
      figure("messages, greatest comes back", came_back, claims.comes_back)};
}

Entry bully() {
  Entry entry = {
      .name = "bully",
      .family = "election",
      .title = "bully election",
      .paper = "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982",
      .year = 1982,
      .source = "src/protocols/election/bully.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "p^2+n-2 messages, p live processes from the caller upwards; n-1 to n^2-n-1",
      .properties = {"E1", "E2", "agreement"},
      .remark =
          "E1: lost if a crashed process is replaced by one of the same id, or the bounds do not hold; "
          "stability: a greater process that comes back takes over",
      .variants = {{"canonical", "calls greater, announces to smaller processes; waits twice"},
                   {"no-second-wait", "waits for ever once it was answered: E2 is lost", true},
                   {"always-start", "calls each time it is called: more messages, several announcements",
                    true},
                   {"no-pause", "starts elections right after an announcement: storms of messages", true}},
      .parameters = bully_parameters(),
      .most_nodes = 10'000,
      .monitor = election_monitor,
      .usual = bully_usual,
      .measure = measure};
  bind<Bully, bully_setup>(entry);
  bind_own_election<Bully, bully_setup>(entry);
  bind_check<Bully, election::Judge, bully_setup>(entry);
  bind_live<Bully, bully_setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.unit = election::Bounds{}.transmission;
    o.budget.crashes = 1;
  };
  return entry;
}

}  // namespace conclave::catalogue
