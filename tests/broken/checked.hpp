// Binds a broken twin to the checker.
#pragma once
#include "catalogue/bind_check.hpp"
#include "twin.hpp"

namespace conclave::broken {

template <Protocol P, FamilyJudge J, typename P::Setup (*setup)(const catalogue::Setting&),
          void (*prepare)(J&, const catalogue::Setting&) = catalogue::leave_as_is<J>>
Twin checked_twin(const char* original, const char* name, const char* what, const char* needs) {
  Twin twin = unbound_twin(original, name, what, needs);
  const auto checkable = twin.entry.checkable;  // a row may add what its algorithm judges itself
  catalogue::bind_check<P, J, setup, prepare>(twin.entry);
  twin.entry.checkable = checkable;
  return twin;
}

}  // namespace conclave::broken
