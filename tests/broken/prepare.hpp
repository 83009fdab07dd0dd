// What judges cannot know from the members alone, told as the rows tell them.
#pragma once
#include "catalogue/consensus/setups.hpp"
#include "protocols/causality/judge.hpp"
#include "protocols/consensus/judge.hpp"

namespace conclave::broken {

inline void name_traitors(consensus::Judge& judge, const catalogue::Setting& setting) {
  judge.traitors = catalogue::treason(setting).traitors;
}

inline void count_the_money(causality::Judge& judge, const catalogue::Setting& setting) {
  const auto balance = catalogue::find("global-snapshot")->number(setting, "balance");
  judge.total = static_cast<std::uint64_t>(balance) * setting.members.size();
}

}  // namespace conclave::broken
