// Where the marks of an axis stand, and what is written beside them.
#pragma once
#include <string>
#include <vector>

#include "plot/figure.hpp"

namespace conclave::plot {

// An axis that covers some numbers, rounded outwards to marks that people like to read.
class Ruler {
 public:
  // `room` is how many labels there is room for. An empty list, or one without a number that can be shown,
  // gives an axis all the same.
  Ruler(Scale scale, const std::vector<double>& numbers, int room);
  // The same, unless the axis says itself where it ends.
  Ruler(const Axis& axis, const std::vector<double>& numbers, int room);

  bool shows(double number) const;
  // 0 at the low end, 1 at the high end.
  double place(double number) const;
  double low() const { return low_; }

  struct Mark {
    double at = 0;
    std::string label = {};  // empty: a line of the grid only
  };
  const std::vector<Mark>& marks() const { return marks_; }

 private:
  void divide_evenly(double least, double most, int room);
  void divide_decades(double least, double most, int room);
  void mark_between_ends(double begin, double end, int room);

  Scale scale_;
  bool has_ends_ = false;
  double low_ = 0;
  double high_ = 1;
  std::vector<Mark> marks_;
};

// "0.25", "1 500", "2×10⁹"; `step` says how many decimals matter.
std::string label_of(double number, double step);

}  // namespace conclave::plot
