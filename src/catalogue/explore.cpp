#include "catalogue/explore.hpp"

#include <algorithm>

namespace conclave::catalogue {

CheckPlan usual_check(const Entry& entry) {
  CheckPlan plan = {.setting = {.protocol = std::string(entry.name)}};
  if (entry.usual_check) entry.usual_check(plan.options, plan.setting);
  if (plan.setting.members.empty()) plan.setting.members = entry.members(plan.options.nodes);
  return plan;
}

CheckPlan usual_check(const Entry& entry, std::uint32_t nodes) {
  CheckPlan plan = {.options = {.nodes = nodes}, .setting = {.protocol = std::string(entry.name)}};
  if (entry.usual_check) entry.usual_check(plan.options, plan.setting);
  plan.options.nodes = nodes;
  plan.setting.members = entry.members(nodes);
  return plan;
}

bool has_tokens(const Entry& entry, const Setting& setting) {
  const bool can_be_chosen =
      std::ranges::find(entry.parameters, "tokens", &Parameter::name) != entry.parameters.end();
  return can_be_chosen && entry.number(setting, "tokens") != 0;
}

std::vector<std::string> claimed_and_checkable(const Entry& entry, const Setting& setting) {
  std::vector<std::string> properties;
  for (const std::string_view property : entry.properties) {
    if (property == "fence" && setting.parameters.contains("tokens") && !has_tokens(entry, setting)) continue;
    if (std::ranges::find(entry.checkable, property) != entry.checkable.end())
      properties.emplace_back(property);
  }
  return properties;
}

check::Report explore(const Entry& entry, CheckPlan plan) {
  if (plan.options.properties.empty()) plan.options.properties = claimed_and_checkable(entry, plan.setting);
  return entry.check(plan.options, plan.setting);
}

}  // namespace conclave::catalogue
