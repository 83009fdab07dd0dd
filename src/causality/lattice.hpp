// All consistent cuts of a history. They form a lattice; its paths from the empty cut to the whole history
// are the orders in which an observer may have seen the events.
//
// Paper     R. Cooper, K. Marzullo. Consistent detection of global predicates. ACM/ONR Workshop on Parallel
//           and Distributed Debugging, 1991.
#pragma once
#include <functional>
#include <optional>

#include "causality/cut.hpp"

namespace conclave::causality {

using Predicate = std::function<bool(const Cut&)>;

class Lattice {
 public:
  // Their number grows with the product of the events: whatever looks at more cuts than `most` gives up.
  explicit Lattice(const History& history, std::uint64_t most = 10'000'000);

  // Every consistent cut once, in lexicographic order, until `visit` returns false. False if it gave up.
  bool each(const std::function<bool(const Cut&)>& visit) const;

  // The empty cut and the whole history included. None: more than `most`.
  std::optional<std::uint64_t> count() const;

  // Whether some observer may have seen the predicate hold. None: gave up.
  std::optional<bool> possibly(const Predicate& holds) const;
  // Whether every observer must have seen it hold at some time. None: gave up.
  std::optional<bool> definitely(const Predicate& holds) const;

 private:
  // What is left to choose for a process, once those before it have chosen.
  struct Range {
    std::uint32_t least;
    std::uint32_t most;
  };
  Range range(const Cut& chosen, std::uint32_t process) const;
  bool visit_from(Cut& cut, std::uint32_t process, std::uint64_t& left,
                  const std::function<bool(const Cut&)>& visit, bool& stopped) const;
  bool count_from(Cut& cut, std::uint32_t process, std::uint64_t& count) const;

  std::vector<std::vector<DenseClock>> times_;  // by process and number, 0 being before its first event
  std::uint64_t most_;
};

}  // namespace conclave::causality
