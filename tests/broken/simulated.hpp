// Binds a broken twin to the simulator.
#pragma once
#include "catalogue/bind.hpp"
#include "twin.hpp"

namespace conclave::broken {

template <Protocol P, typename P::Setup (*setup)(const catalogue::Setting&)>
Twin simulated_twin(const char* original, const char* name, const char* what) {
  Twin twin = unbound_twin(original, name, what, "");
  catalogue::bind_world<P, setup>(twin.entry);
  return twin;
}

}  // namespace conclave::broken
