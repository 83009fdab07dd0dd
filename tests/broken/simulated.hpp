// Binds a broken twin to the simulator, and to one property of its row if it has to be caught by that alone.
#pragma once
#include "catalogue/bind.hpp"
#include "twin.hpp"

namespace conclave::broken {

template <Protocol P, typename P::Setup (*setup)(const catalogue::Setting&)>
Twin simulated_twin(const char* original, const char* name, const char* what, const char* needs,
                    const char* property = nullptr) {
  Twin twin = unbound_twin(original, name, what, needs);
  catalogue::bind_world<P, setup>(twin.entry);
  if (property) twin.entry.properties = {property};
  return twin;
}

}  // namespace conclave::broken
