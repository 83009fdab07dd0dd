// The rows of the causality family that are tools: they read what happened and do not run.
#pragma once
#include <vector>

#include "catalogue/entry.hpp"

namespace conclave::catalogue {

std::vector<Entry> causality_tools();

}  // namespace conclave::catalogue
