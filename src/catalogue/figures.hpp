// Figures of papers that conclave measures again: `conclave sim ROW --figure NAME`.
//
// A figure is a list of panels, each with a table, a row for each of its curves. What the paper says in
// numbers stands next to what was measured.
#pragma once
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/entry.hpp"

namespace conclave::catalogue {

struct FigureNumber {
  std::string name = {};  // "median"
  std::string unit = {};  // "ms"
  int decimals = 0;
  std::optional<double> measured = {};
  bool is_least = false;  // it is more than what was measured: somebody gave up waiting
  std::optional<double> published = {};
  bool published_is_least = false;  // the paper says "more than"
};

struct FigureRow {
  std::string name = {};  // of the curve
  std::uint64_t trials = 0;
  std::vector<FigureNumber> numbers = {};  // the same ones in every row of a figure
  struct Point {
    double x = 0;
    double y = 0;
  };
  std::vector<Point> curve = {};
};

struct FigurePanel {
  std::string title = {};
  std::string rows = {};  // what the rows differ in
  std::string x = {};     // labels of the axes; that of x is logarithmic
  std::string y = {};
  double x_least = 0;  // where that axis begins and ends
  double x_most = 0;
  std::vector<FigureRow> lines = {};
};

struct FigureWish {
  std::uint64_t seed = 1;
  std::uint64_t trials = 0;  // of each row
  unsigned jobs = 1;         // threads; the outcome does not depend on them
  std::map<std::string, std::string> parameters = {};
  std::function<void(std::uint64_t done, std::uint64_t of)> progress = {};
};

struct PaperFigure {
  std::string_view name;
  std::string_view row;  // of the catalogue
  std::string_view title;
  std::string_view paper;
  std::string_view what;   // is measured, from when until when
  std::string_view notes;  // on the columns of its tables
  std::uint64_t usual_trials = 0;
  std::uint64_t most_trials = 0;
  std::vector<Parameter> parameters;
  // What is wrong with the parameters together, if something is.
  std::optional<std::string> (*refuse)(const FigureWish&) = nullptr;
  std::vector<FigurePanel> (*measure)(const FigureWish&) = nullptr;

  std::int64_t number(const FigureWish& wish, std::string_view parameter) const;
};

const std::vector<PaperFigure>& figures();
// The figure of a row, or one sentence that says which there are.
std::expected<const PaperFigure*, std::string> find_figure(std::string_view row, std::string_view name);

}  // namespace conclave::catalogue
