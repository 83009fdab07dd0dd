#include "trace/registers_monitor.hpp"

#include <fmt/format.h>

namespace conclave::trace {
namespace {

// num of {"register":"num[3]","value":7}
std::string array_of(std::string_view content) {
  constexpr std::string_view key = "\"register\":\"";
  const std::size_t at = content.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view name = content.substr(at + key.size());
  return std::string(name.substr(0, name.find_first_of("[\"")));
}

}  // namespace

void RegistersMonitor::see(const Step& step) {
  MutexMonitor::see(step);
  if (step.kind == Kind::command && step.input.type == "Acquire") overtaken_[*step.node] = 0;
  if (step.kind == Kind::access) {
    if (step.input.type == "read") {
      ++reads_;
      if (!step.notes.empty()) ++overlapping_reads_;
    }
    if (step.input.type == "write") {
      ++writes_;
      std::uint64_t& highest = highest_[array_of(step.input.content)];
      highest = std::max(highest, number_field(step.input.content, "value").value_or(0));
    }
  }
  for (const Item& event : step.events) {
    if (event.type != "Granted") continue;
    overtaken_.erase(*step.node);
    for (auto& [waiting, times] : overtaken_) {
      if (++times <= most_overtaken_) continue;
      most_overtaken_ = times;
      victim_ = waiting;
    }
  }
}

std::uint64_t RegistersMonitor::highest(std::string_view array) const {
  const auto found = highest_.find(std::string(array));
  return found == highest_.end() ? 0 : found->second;
}

std::vector<Fact> RegistersMonitor::facts() const {
  std::vector<Fact> facts;
  facts.push_back(
      {"entries", fmt::format("{}", summary().entries.size()), fmt::format("{}", summary().entries.size())});
  facts.push_back({"response",
                   fmt::format("{:.1f} steps of all from asking to entering", summary().response.mean()),
                   fmt::format("{:.1f}", summary().response.mean())});
  const double entries = static_cast<double>(std::max<std::size_t>(1, summary().entries.size()));
  facts.push_back({"accesses",
                   fmt::format("{} reads and {} writes: {:.2f} and {:.2f} per entry", reads_, writes_,
                               static_cast<double>(reads_) / entries, static_cast<double>(writes_) / entries),
                   fmt::format("{{\"reads\":{},\"writes\":{}}}", reads_, writes_)});
  facts.push_back(
      {"overtaken",
       victim_ ? fmt::format("p{} waited while others entered {} times", victim_->value, most_overtaken_)
               : "nobody waited while another entered",
       fmt::format("{}", most_overtaken_)});
  if (overlapping_reads_ > 0)
    facts.push_back({"overlapping_reads", fmt::format("{} reads overlapped a write", overlapping_reads_),
                     fmt::format("{}", overlapping_reads_)});
  if (const auto tickets = highest_.find("num"); tickets != highest_.end())
    facts.push_back({"highest_ticket", fmt::format("highest ticket {}", tickets->second),
                     fmt::format("{}", tickets->second)});
  return facts;
}

}  // namespace conclave::trace
