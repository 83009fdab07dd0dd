// How the parameters of election algorithms are made from a setting, as templates: broken twins have
// parameters of the same shape and another type.
#pragma once
#include <utility>

#include "catalogue/entry.hpp"
#include "protocols/election/ring.hpp"
#include "sim/random.hpp"

namespace conclave::catalogue {

// The ring of the setting, or ids rising if it asks for that; else one drawn from its seed, every arrangement
// being as likely as any other.
inline std::vector<NodeId> ring_of(const Setting& setting) {
  if (!setting.ring.empty()) return setting.ring;
  constexpr std::uint64_t for_rings = 11;  // apart from what else is planned from the seed
  std::vector<NodeId> order(setting.members.begin(), setting.members.end());
  if (const auto ring = setting.parameters.find("ring");
      ring != setting.parameters.end() && ring->second == "rising")
    return order;
  for (std::size_t left = order.size(); left > 1; --left) {
    const sim::Draw draw(setting.seed, sim::Purpose::plan, for_rings, left);
    std::swap(order[left - 1], order[draw.below(left)]);
  }
  return order;
}

template <class Setup>
Setup all_to_all_setup(const Setting& setting) {
  return {.coordinator = setting.coordinator};
}

template <class Setup>
Setup chang_roberts_setup(const Setting& setting) {
  return {.ring = std::make_shared<const election::Ring>(ring_of(setting)),
          .coordinator = setting.coordinator,
          .no_participant_flag = setting.variant == "no-participant-flag"};
}

template <class Setup>
Setup ring_list_setup(const Setting& setting) {
  Setup setup = {.ring = setting.ring,
                 .coordinator = setting.coordinator,
                 .announce_directly = setting.variant == "direct-announcement",
                 .starter_closes = setting.variant == "starter-closes"};
  if (const auto hop = setting.parameters.find("hop"); hop != setting.parameters.end())
    setup.hop = std::stoull(hop->second);
  return setup;
}

}  // namespace conclave::catalogue
