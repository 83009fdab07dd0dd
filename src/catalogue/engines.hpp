// The algorithms that run between real members.
#pragma once
#include <string>
#include <vector>

#include "catalogue/entry.hpp"
#include "live/process.hpp"

namespace conclave::catalogue {

std::vector<std::string> engines();
std::vector<std::string> lock_engines();

// The engine of an entry that has one. Times that the setting leaves open are those of real networks.
live::Engine engine_of(const Entry& entry, Setting setting);

}  // namespace conclave::catalogue
