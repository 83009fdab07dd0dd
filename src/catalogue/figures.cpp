#include "catalogue/figures.hpp"

#include <algorithm>
#include <charconv>

#include "catalogue/raft/elections.hpp"

namespace conclave::catalogue {

const std::vector<PaperFigure>& figures() {
  static const std::vector<PaperFigure> all = {elections_figure()};
  return all;
}

std::expected<const PaperFigure*, std::string> find_figure(std::string_view row, std::string_view name) {
  std::string of_row;
  std::string of_others;
  for (const PaperFigure& figure : figures()) {
    if (figure.row == row && figure.name == name) return &figure;
    std::string& known = figure.row == row ? of_row : of_others;
    known += (known.empty() ? "" : ", ") + std::string(figure.name);
    if (figure.row != row) known += " of " + std::string(figure.row);
  }
  const std::string wrong = std::string(row) + " has no figure";
  if (of_row.empty()) return std::unexpected(wrong + "; there is " + of_others);
  return std::unexpected(wrong + " '" + std::string(name) + "'; there is " + of_row);
}

std::int64_t PaperFigure::number(const FigureWish& wish, std::string_view parameter) const {
  const auto known = std::ranges::find(parameters, parameter, &Parameter::name);
  ensure(known != parameters.end(), "a figure asks for its own parameters");
  const auto set = wish.parameters.find(std::string(parameter));
  const std::string_view text = set == wish.parameters.end() ? known->usual : set->second;
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace conclave::catalogue
