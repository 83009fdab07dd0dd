#include "catalogue/timesync/rows.hpp"

namespace conclave::catalogue {

Entry clock_compensation() {
  return {.name = "clock-compensation",
          .family = "timesync",
          .title = "Clock compensation: a clock put right without being set back",
          .source = "src/protocols/timesync/clock_compensation.hpp",
          .worlds = {"tool"},
          .cost = "no messages",
          .remark = "what cristian and berkeley correct their clocks with",
          .variants = {{"canonical", "S(h+N) = T+N"},
                       {"literal-eq5", "S(h+N) = T, as misprinted: the clock runs backwards", true}}};
}

}  // namespace conclave::catalogue
