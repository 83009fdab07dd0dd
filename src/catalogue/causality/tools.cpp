#include "catalogue/causality/tools.hpp"

namespace conclave::catalogue {

std::vector<Entry> causality_tools() {
  return {
      {.name = "scalar-clock",
       .family = "causality",
       .title = "Lamport's logical clock",
       .paper = "Lamport, CACM 21(7), 1978",
       .year = 1978,
       .source = "src/causality/scalar_clock.hpp",
       .worlds = {"tool"},
       .cost = "one number per message",
       .properties = {"consistency"},
       .remark = "strong consistency: C(a) < C(b) does not tell that a happened before b. A library type; "
                 "conclave trace measures the longest causal chain with it",
       .variants = {{"canonical", "as published, with any step"}}},
      {.name = "vector-clock",
       .family = "causality",
       .title = "Vector clock",
       .paper = "Fidge 1988; Mattern 1989",
       .year = 1988,
       .source = "src/causality/dense_clock.hpp",
       .worlds = {"tool"},
       .cost = "N numbers per message",
       .properties = {"consistency", "strong consistency"},
       .remark = "A library type; conclave trace FILE checks and compares those of a log",
       .variants = {{"canonical", "as published, with any step"}}},
      {.name = "consistent-cut",
       .family = "causality",
       .title = "Consistent cuts, their lattice, possibly and definitely",
       .paper = "Chandy and Lamport, TOCS 3(1), 1985; Cooper and Marzullo, PDD 1991",
       .year = 1985,
       .source = "src/causality/cut.hpp",
       .worlds = {"tool"},
       .cost = "N² comparisons per cut",
       .properties = {},
       .remark = "A library; conclave trace FILE --cut a=3,b=5 judges a cut of a log",
       .variants = {{"canonical", "by vector times, pair by pair on the frontier"}}},
      {.name = "checkpoints",
       .family = "causality",
       .title = "Recovery line of checkpoints, and the domino effect",
       .paper = "Randell, IEEE TSE 1(2), 1975",
       .year = 1975,
       .source = "src/causality/recovery.hpp",
       .worlds = {"tool"},
       .cost = "each checkpoint is given up at most once",
       .properties = {},
       .remark = "A library; conclave trace FILE --checkpoints a=2,a=5,b=3 finds where to recover",
       .variants = {{"canonical", "independent checkpoints"}}},
  };
}

}  // namespace conclave::catalogue
