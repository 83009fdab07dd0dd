// Protocols that cannot work, and show why: bound to the worlds as every algorithm is, but no part of the
// list of algorithms, for nobody should take them for ones.
#pragma once
#include <string_view>
#include <vector>

#include "catalogue/entry.hpp"

namespace conclave::catalogue {

Entry two_generals();
Entry wait_for();

const std::vector<Entry>& limit_entries();
const Entry* find_limit(std::string_view name);

}  // namespace conclave::catalogue
