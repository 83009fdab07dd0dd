#include "cli/report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"
#include "core/names.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;
using trace::Spread;

double per_entry(std::uint64_t count, std::size_t entries) {
  return entries == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(entries);
}

std::string spread_text(const Spread& spread, double delay) {
  if (spread.count == 0) return "not measured";
  std::string text = fmt::format("{:.1f} ticks", spread.mean());
  if (delay > 0) text += fmt::format(" = {:.2f} message delays", spread.mean() / delay);
  if (spread.least != spread.most) text += fmt::format(" ({} … {} ticks)", spread.least, spread.most);
  return text;
}

Json spread_json(const Spread& spread) {
  if (spread.count == 0) return nullptr;
  return {{"count", spread.count}, {"mean", spread.mean()}, {"least", spread.least}, {"most", spread.most}};
}

Colour colour_of(const std::string& status) {
  if (status == "holds") return Colour::green;
  if (status == "violated") return Colour::red;
  return Colour::dim;
}

}  // namespace

std::vector<std::string> scripted_beyond(const sim::Script& script, const Assumptions& assumes) {
  sim::Faults used;
  for (const sim::Action& action : script) {
    switch (action.what) {
      case sim::Action::What::pause: used.pause = true; break;
      case sim::Action::What::partition: used.partition = true; break;
      case sim::Action::What::crash: used.crash = true; break;
      case sim::Action::What::drift: used.drift = true; break;
      case sim::Action::What::jump: used.jump = true; break;
      case sim::Action::What::jitter: used.jitter = true; break;
      case sim::Action::What::stall: used.stall = true; break;
      case sim::Action::What::lose: used.loss = 1; break;
      case sim::Action::What::duplicate: used.duplicate = 1; break;
      case sim::Action::What::slow: used.slow = 1; break;
      case sim::Action::What::reorder: used.reorder = 1; break;
      default: break;
    }
  }
  return used.beyond(assumes);
}

std::string status(const catalogue::Entry& entry, const catalogue::Judged& judged,
                   const trace::Verdict& verdict) {
  if (!entry.claims_property(verdict.property))
    return verdict.holds ? "not claimed" : "not claimed, violated";
  if (verdict.property == "EM3" && !judged.order_watched) return "not watched";
  return verdict.holds ? "holds" : "violated";
}

namespace {

void add_message_costs(Table& costs, const sim::Report& report, std::size_t entries) {
  for (const auto& [type, count] : report.sent) {
    if (count > 0)
      costs.add({"    " + type, with_commas(count),
                 entries == 0 ? "" : fmt::format("{:.2f}", per_entry(count, entries))});
  }
  if (report.application_messages > 0)
    costs.add({"  application messages", with_commas(report.application_messages), ""});
  if (report.lost > 0) costs.add({"  lost", with_commas(report.lost), ""});
  if (report.duplicated > 0) costs.add({"  duplicated", with_commas(report.duplicated), ""});
  if (report.bounced > 0) costs.add({"  bounced", with_commas(report.bounced), "the receiver was down"});
  if (report.held_back > 0)
    costs.add({"  held back by cuts", with_commas(report.held_back), "until they healed"});
}

std::string pace(const catalogue::Judged& judged) {
  const double rate = static_cast<double>(judged.report.steps) / std::max(judged.seconds, 1e-9);
  std::string rounds = judged.report.rounds > 0 ? fmt::format("{} rounds, ", judged.report.rounds) : "";
  return fmt::format("{}{} ticks, {} steps, {} steps/s", rounds, with_commas(judged.report.end.count),
                     with_commas(judged.report.steps), with_commas(static_cast<std::uint64_t>(rate)));
}

std::string mutex_text(const RunFacts& facts) {
  const auto& [entry, options, judged, beyond] = facts;
  const auto& summary = judged.summary;
  const std::size_t entries = summary.entries.size();
  Table costs({Table::Align::left, Table::Align::right, Table::Align::left});
  costs.add({"  entries", with_commas(entries), ""});
  const catalogue::Claims claims = entry.claims(options.nodes, false);
  costs.add({"  messages", with_commas(judged.report.messages),
             entries == 0 ? ""
                          : fmt::format("{:.2f} per entry; claimed: {}, here {}",
                                        per_entry(judged.report.messages, entries), entry.cost,
                                        claims.messages.text)});
  add_message_costs(costs, judged.report, entries);
  const auto delay = static_cast<double>(options.delay.usual.mean());
  Table delays({Table::Align::left, Table::Align::left});
  delays.add({"  client delay", spread_text(summary.client_delay, delay)});
  delays.add({"  response", spread_text(summary.response, delay)});
  delays.add({"  synchronisation delay", spread_text(summary.synchronisation_delay, delay)});
  delays.add({"  throughput", fmt::format("{:.2f} entries per 1,000 ticks", 1000 * summary.throughput())});
  delays.add({"  ran", pace(judged)});
  return costs.to_string() + "\n" + delays.to_string();
}

std::string other_text(const RunFacts& facts) {
  const catalogue::Judged& judged = facts.judged;
  Table costs({Table::Align::left, Table::Align::right, Table::Align::left});
  costs.add({"  messages", with_commas(judged.report.messages),
             facts.entry.cost.empty() ? "" : fmt::format("claimed: {}", facts.entry.cost)});
  add_message_costs(costs, judged.report, 0);
  Table found({Table::Align::left, Table::Align::left});
  for (const trace::Fact& fact : judged.facts) found.add({"  " + fact.name, fact.text});
  found.add({"  ran", pace(judged)});
  return costs.to_string() + "\n" + found.to_string();
}

}  // namespace

std::string report_text(const RunFacts& facts, const std::string& variant, const std::string& conditions) {
  const auto& [entry, options, judged, beyond] = facts;
  std::string out = fmt::format(
      "{}{}: {} nodes, {} {} each, seed {}\n  {}\n", paint(entry.name, Colour::bold),
      variant == "canonical" ? "" : " (" + variant + ")", with_commas(options.nodes),
      with_commas(options.entries), entry.claims ? "entries" : "wishes", options.seed, conditions);
  if (!beyond.empty())
    out += fmt::format("  {} the algorithm does not assume: {}\n",
                       paint("Beyond assumptions.", Colour::yellow), fmt::join(beyond, ", "));
  out += "\n" + (entry.claims ? mutex_text(facts) : other_text(facts)) + "\n";

  std::size_t width = 6;
  for (const trace::Verdict& verdict : judged.verdicts) width = std::max(width, verdict.property.size());
  for (const trace::Verdict& verdict : judged.verdicts) {
    const std::string state = status(entry, judged, verdict);
    out += fmt::format("  {:<{}} {}", verdict.property, width, paint(state, colour_of(state)));
    if (!verdict.holds) {
      out += fmt::format(": {}", verdict.why);
      if (verdict.step) out += fmt::format(" (step {})", *verdict.step);
    }
    out += '\n';
  }
  if (!judged.report.broken.empty())
    out += fmt::format("  {}: {}\n", paint("broken", Colour::red), judged.report.broken);
  return out;
}

std::string report_json(const RunFacts& facts, const std::string& variant, const std::string& replay) {
  const auto& [entry, options, judged, beyond] = facts;
  const auto& summary = judged.summary;
  Json properties = Json::object();
  for (const trace::Verdict& verdict : judged.verdicts) {
    Json property = {{"status", status(entry, judged, verdict)},
                     {"claimed", entry.claims_property(verdict.property)}};
    if (!verdict.holds) {
      property["why"] = verdict.why;
      property["step"] = verdict.step.value_or(0);
    }
    properties[verdict.property] = property;
  }
  Json report = {{"protocol", entry.name},
                 {"variant", variant},
                 {"nodes", options.nodes},
                 {"seed", options.seed},
                 {"delay", options.delay.usual.to_string()},
                 {"faults", options.faults.to_string()},
                 {"beyond_assumptions", beyond}};
  report["messages"] = {{"total", judged.report.messages}, {"by_type", judged.report.sent}};
  if (entry.claims) {
    Json order = Json::array();
    for (NodeId node : summary.entries) order.push_back(node.value);
    report["entries"] = order;
    report["messages_per_entry"] = per_entry(judged.report.messages, summary.entries.size());
    report["client_delay"] = spread_json(summary.client_delay);
    report["response"] = spread_json(summary.response);
    report["synchronisation_delay"] = spread_json(summary.synchronisation_delay);
    report["throughput"] = summary.throughput();
  }
  Json found = Json::object();
  for (const trace::Fact& fact : judged.facts) found[fact.name] = Json::parse(fact.json);
  if (!found.empty()) report["facts"] = found;
  report["application_messages"] = judged.report.application_messages;
  report["lost"] = judged.report.lost;
  report["duplicated"] = judged.report.duplicated;
  report["held_back"] = judged.report.held_back;
  report["bounced"] = judged.report.bounced;
  report["rounds"] = judged.report.rounds;
  report["steps"] = judged.report.steps;
  report["ticks"] = judged.report.end.count;
  report["quiet"] = judged.report.quiet;
  report["steps_per_second"] = static_cast<double>(judged.report.steps) / std::max(judged.seconds, 1e-9);
  report["properties"] = properties;
  report["broken"] = judged.report.broken.empty() ? Json() : Json(judged.report.broken);
  report["failure"] = judged.failure ? Json(*judged.failure) : Json();
  report["replay"] = replay;
  return report.dump(2);
}

}  // namespace conclave::cli
