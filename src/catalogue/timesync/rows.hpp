// The rows of the clock synchronisation family.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

Entry cristian();
Entry berkeley();
Entry clock_compensation();

}  // namespace conclave::catalogue
