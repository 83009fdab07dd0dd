#include "catalogue/timesync/rows.hpp"

#include "catalogue/families.hpp"

namespace conclave::catalogue {

std::vector<Entry> timesync_rows() { return {cristian(), berkeley(), clock_compensation()}; }

}  // namespace conclave::catalogue
