#include "catalogue/registers/rows.hpp"

#include "catalogue/families.hpp"
#include "core/ensure.hpp"
#include "trace/registers_monitor.hpp"

namespace conclave::catalogue {

std::vector<Entry> registers_rows() { return {dijkstra(), bakery()}; }

std::unique_ptr<trace::Monitor> registers_monitor(const sim::Options& options, const Setting&) {
  return std::make_unique<trace::RegistersMonitor>(options.nodes <= most_nodes_for_vectors);
}

void usual_registers(sim::Options& options) {
  options.think = {sim::Delay::Shape::uniform, 0, 60};
  options.hold = {sim::Delay::Shape::uniform, 1, 20};
}

Parameter tokens_parameter() {
  return {"tokens", "1: grants carry fencing tokens; 0: they do not", "1", 0, 1};
}

bool with_tokens(const Setting& setting) {
  const auto found = setting.parameters.find("tokens");
  return found == setting.parameters.end() || found->second != "0";
}

Parameter schedule_parameter() {
  return {.name = "schedule",
          .what =
              "who takes the next step: uniform, bursty, unfair, drawn (one of these by the seed), or "
              "processes round and round, as 2,2,1",
          .usual = "drawn"};
}

std::optional<std::string> refuse_schedule(const sim::Options& options, const Setting& setting) {
  if (options.members && *options.members != NodeSet::range({1}, options.nodes))
    return "processes over shared registers are 1 … N";
  const auto found = setting.parameters.find("schedule");
  if (found == setting.parameters.end()) return std::nullopt;
  const auto schedule = sim::Schedule::parse(found->second, options.nodes);
  return schedule ? std::nullopt : std::optional("--set schedule: " + schedule.error());
}

Registers registers_of(const Setting& setting) {
  if (setting.variant == "safe") return Registers::safe;
  const bool buffered = setting.variant == "buffered" || setting.variant == "unfenced";
  return buffered ? Registers::buffered : Registers::atomic;
}

sim::Schedule schedule_of(const Setting& setting, std::uint32_t nodes) {
  const auto found = setting.parameters.find("schedule");
  if (found == setting.parameters.end()) return {};
  auto schedule = sim::Schedule::parse(found->second, nodes);
  ensure(schedule.has_value(), "schedules are looked at before they are run");
  return std::move(*schedule);
}

Alone measure_alone(const Entry& entry, std::uint32_t nodes, std::uint64_t seed, bool taking_turns) {
  constexpr std::uint32_t entries = 20;
  // Far enough apart for each to be gone when the next comes.
  const std::uint64_t apart = 20 * (nodes + 10);
  const auto run = [&](std::uint32_t count) {
    sim::Options options = {.nodes = nodes, .seed = seed};
    options.script.emplace();
    for (std::uint32_t i = 0; i < count; ++i)
      options.script->push_back(
          {.what = sim::Action::What::wish, .at = {i * apart}, .node = {taking_turns ? 1 + i % nodes : 1}});
    const Setting setting = {.protocol = std::string(entry.name), .members = entry.members(nodes)};
    const sim::Report report = entry.simulate(options, setting, nullptr);
    ensure(report.content, "whoever is alone gets in");
    return report;
  };
  const sim::Report shorter = run(nodes);
  const sim::Report longer = run(nodes + entries);
  const auto more = [&](const char* what) {
    return static_cast<double>(longer.sent.at(what) - shorter.sent.at(what)) / entries;
  };
  return {more("read"), more("write")};
}

Contended measure_contended(const Entry& entry, std::uint32_t nodes, std::uint32_t entries,
                            std::uint64_t seed) {
  sim::Options options = {.nodes = nodes, .entries = entries, .seed = seed};
  options.think = options.hold = {sim::Delay::Shape::fixed, 0, 0};
  const Setting setting = {.protocol = std::string(entry.name),
                           .members = entry.members(nodes),
                           .parameters = {{"schedule", "uniform"}}};
  trace::RegistersMonitor monitor(false);
  const sim::Report report = entry.simulate(options, setting, &monitor);
  const auto granted = static_cast<double>(std::max<std::size_t>(1, monitor.summary().entries.size()));
  return {static_cast<double>(report.sent.at("read") + report.sent.at("write")) / granted,
          monitor.most_overtaken(), monitor.highest("num")};
}

}  // namespace conclave::catalogue
