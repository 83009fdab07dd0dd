#include "catalogue/families.hpp"

namespace conclave::catalogue {

std::vector<Entry> election_rows() { return {}; }

}  // namespace conclave::catalogue
