// Binds a broken twin over shared registers to the checker.
#pragma once
#include "catalogue/registers/bind.hpp"
#include "twin.hpp"

namespace conclave::broken {

template <Program P, FamilyJudge, typename P::Setup (*setup)(const catalogue::Setting&)>
Twin checked_twin(const char* original, const char* name, const char* what, const char* needs) {
  Twin twin = unbound_twin(original, name, what, needs);
  catalogue::bind_check_registers<P, setup>(twin.entry);
  return twin;
}

}  // namespace conclave::broken
