#include "catalogue/causality/rows.hpp"

#include "catalogue/causality/tools.hpp"
#include "catalogue/families.hpp"

namespace conclave::catalogue {

std::vector<Entry> causality_rows() {
  std::vector<Entry> rows = causality_tools();
  rows.push_back(global_snapshot());
  return rows;
}

}  // namespace conclave::catalogue
