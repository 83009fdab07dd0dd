// The row of scatternet formation, and the radio network it runs on.
#pragma once
#include "catalogue/entry.hpp"
#include "core/place.hpp"

namespace conclave::catalogue {

Entry scatternet();

// A unit disc graph over the members, drawn from the seed of the setting.
struct Radio {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const std::map<NodeId, Place>> places;
};
Radio radio_of(const Setting& setting);

template <class Setup>
Setup scatternet_setup(const Setting& setting) {
  const Radio radio = radio_of(setting);
  return {.radio = radio.graph, .places = radio.places};
}

}  // namespace conclave::catalogue
