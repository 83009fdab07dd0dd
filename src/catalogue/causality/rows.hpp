// The rows of the causality family.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

Entry global_snapshot();

}  // namespace conclave::catalogue
