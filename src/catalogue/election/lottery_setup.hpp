// Parameters of the leader lottery, for the protocol and for its broken twins alike.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

template <class Setup>
Setup lottery_setup(const Setting& setting) {
  const Entry& entry = *find("proof-of-work");
  const auto number = [&](std::string_view name) {
    return static_cast<std::uint32_t>(entry.number(setting, name));
  };
  return {.members = setting.members,
          .interval = number("interval"),
          .confirmations = number("confirmations"),
          .attacker_share = setting.variant == "attacker" ? number("share") : 0};
}

}  // namespace conclave::catalogue
