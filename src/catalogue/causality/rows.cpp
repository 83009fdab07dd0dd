#include "catalogue/families.hpp"

namespace conclave::catalogue {

std::vector<Entry> causality_rows() { return {}; }

}  // namespace conclave::catalogue
