#include "trace/lottery_monitor.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace conclave::trace {

void LotteryMonitor::see(const Step& step) {
  if (step.kind == Kind::timer) ++blocks_;
  for (const Item& event : step.events) {
    const auto content = nlohmann::json::parse(event.content, nullptr, false);
    if (event.type == "Confirmed") {
      leaders_[*step.node][content.value("height", std::uint64_t{0})] =
          content.value("leader", std::uint64_t{0});
    } else if (event.type == "Reversed") {
      ++reversals_;
      if (confirmed_.holds)
        confirmed_ = {"confirmed", false,
                      fmt::format("process {} takes back that {} leads height {}", step.node->value,
                                  content.value("leader", 0), content.value("height", 0)),
                      step.number};
    } else if (event.type == "Attacked") {
      race_ = content.value("succeeded", false) ? "won" : "lost";
    }
  }
}

void LotteryMonitor::end(const End&) {
  std::map<std::uint64_t, std::uint64_t> common;
  for (NodeId miner : miners_) {
    const auto& own = leaders_[miner];
    if (own.size() < wanted_ && growth_.holds)
      growth_ = {
          "growth",
          false,
          fmt::format("process {} has seen {} confirmed leaders of {}", miner.value, own.size(), wanted_),
          {}};
    for (const auto& [height, leader] : own) {
      const auto [known, first] = common.emplace(height, leader);
      if (first || known->second == leader || !agreement_.holds) continue;
      agreement_ = {"agreement",
                    false,
                    fmt::format("height {} is led by {} for some and by {} for process {}", height,
                                known->second, leader, miner.value),
                    {}};
    }
  }
}

std::vector<Fact> LotteryMonitor::facts() const {
  std::map<std::uint64_t, std::uint64_t> longest;
  for (const auto& [process, own] : leaders_) {
    if (own.size() > longest.size()) longest = own;
  }
  std::map<std::uint64_t, std::uint64_t> shares;
  for (const auto& [height, leader] : longest) ++shares[leader];
  std::string text;
  for (const auto& [leader, blocks] : shares)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", leader, blocks);
  std::vector<Fact> facts = {{"blocks", std::to_string(blocks_), std::to_string(blocks_)},
                             {"confirmed", std::to_string(longest.size()), std::to_string(longest.size())},
                             {"leaders", text, nlohmann::json(shares).dump()},
                             {"reversals", std::to_string(reversals_), std::to_string(reversals_)}};
  if (!race_.empty()) facts.push_back({"race", race_, '"' + race_ + '"'});
  return facts;
}

}  // namespace conclave::trace
