// Parameters of the causality family's protocols, for the protocols and for their broken twins alike.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

template <class Setup>
Setup snapshot_setup(const Setting& setting) {
  const Entry& entry = *find("global-snapshot");
  return {.members = setting.members,
          .balance = static_cast<std::uint64_t>(entry.number(setting, "balance")),
          .snapshot_every = static_cast<std::uint32_t>(entry.number(setting, "every"))};
}

}  // namespace conclave::catalogue
