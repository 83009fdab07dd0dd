#include "cli/figure.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "catalogue/figures.hpp"
#include "cli/plan.hpp"
#include "cli/terminal.hpp"
#include "plot/figure.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;
using catalogue::FigureNumber;
using catalogue::FigurePanel;
using catalogue::FigureRow;
using catalogue::PaperFigure;
using Panels = std::vector<FigurePanel>;

std::string with_unit(const FigureNumber& number) {
  return number.unit.empty() ? number.name : fmt::format("{}, {}", number.name, number.unit);
}

std::string in_digits(double value, int decimals) {
  return decimals > 0 ? fmt::format("{:.{}f}", value, decimals)
                      : with_commas(static_cast<std::uint64_t>(value + 0.5));
}

std::string cell(const FigureNumber& number) {
  if (!number.measured) return "-";
  return (number.is_least ? "> " : "") + in_digits(*number.measured, number.decimals);
}

std::optional<double> ratio(const FigureNumber& number) {
  if (!number.published || !number.measured) return std::nullopt;
  return *number.measured / *number.published;
}

// "mean 35 (×1.18), worst 152 (×1.03)".
std::string published(const FigureRow& row) {
  std::string out;
  for (const FigureNumber& number : row.numbers) {
    if (!number.published) continue;
    out += fmt::format("{}{} {}{} ({}×{:.2f})", out.empty() ? "" : ", ", number.name,
                       number.published_is_least ? "> " : "", in_digits(*number.published, number.decimals),
                       number.is_least ? "> " : "", *ratio(number));
  }
  return out;
}

void print_panel(const FigurePanel& panel) {
  using enum Table::Align;
  std::vector<Table::Align> align = {left, right};
  std::vector<std::string> head = {panel.rows, "trials"};
  for (const FigureNumber& number : panel.lines.front().numbers) {
    align.push_back(right);
    head.push_back(with_unit(number));
  }
  align.push_back(left);
  head.emplace_back("published");
  Table table(align);
  table.add(head);
  table.add_rule();
  for (const FigureRow& row : panel.lines) {
    std::vector<std::string> cells = {row.name, with_commas(row.trials)};
    for (const FigureNumber& number : row.numbers) cells.push_back(cell(number));
    cells.push_back(published(row));
    table.add(cells);
  }
  fmt::print("\n{}\n{}", paint(panel.title, Colour::bold), table.to_string());
}

std::string described(const PaperFigure& figure, const catalogue::FigureWish& wish) {
  std::string out;
  for (const auto& parameter : figure.parameters)
    out += fmt::format("{} {}, ", parameter.name, figure.number(wish, parameter.name));
  return fmt::format("{}seed {}", out, wish.seed);
}

void print(const PaperFigure& figure, const catalogue::FigureWish& wish, const Panels& panels) {
  fmt::print("{}: {}\n", figure.row, paint(figure.title, Colour::bold));
  fmt::print("  {}\n", figure.paper);
  fmt::print("  {}\n  {}\n", figure.what, described(figure, wish));
  for (const FigurePanel& panel : panels) print_panel(panel);
  fmt::print("\n{}\n×: measured over published\n", figure.notes);
}

// "first try" as first_try, "median" in "ms" as median_ms.
std::string key_of(const FigureNumber& number) {
  std::string key;
  for (const char c : with_unit(number)) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      key += c;
    } else if (!key.empty() && key.back() != '_') {
      key += '_';
    }
  }
  while (key.ends_with('_')) key.pop_back();
  return key;
}

Json json_of(const FigureNumber& number) {
  Json json = {{"measured", number.measured ? Json(*number.measured) : Json()}};
  if (number.is_least) json["is_least"] = true;
  if (!number.published) return json;
  json["published"] = *number.published;
  if (number.published_is_least) json["published_is_least"] = true;
  json["ratio"] = ratio(number) ? Json(*ratio(number)) : Json();
  return json;
}

Json json_of(const FigurePanel& panel) {
  Json lines = Json::array();
  for (const FigureRow& row : panel.lines) {
    Json line = {{"name", row.name}, {"trials", row.trials}};
    for (const FigureNumber& number : row.numbers) line[key_of(number)] = json_of(number);
    Json curve = Json::array();
    for (const auto& point : row.curve) curve.push_back({point.x, point.y});
    line["curve"] = std::move(curve);
    lines.push_back(std::move(line));
  }
  return {{"title", panel.title}, {"x", panel.x}, {"y", panel.y}, {"lines", std::move(lines)}};
}

Json json_of(const PaperFigure& figure, const catalogue::FigureWish& wish, const Panels& panels) {
  Json parameters = Json::object();
  for (const auto& parameter : figure.parameters)
    parameters[std::string(parameter.name)] = figure.number(wish, parameter.name);
  Json json = {{"protocol", figure.row},   {"figure", figure.name},  {"paper", figure.paper},
               {"measured", figure.what},  {"seed", wish.seed},      {"trials", wish.trials},
               {"parameters", parameters}, {"panels", Json::array()}};
  for (const FigurePanel& panel : panels) json["panels"].push_back(json_of(panel));
  return json;
}

std::string svg_of(const PaperFigure& figure, const Panels& panels) {
  std::vector<plot::Figure> drawn;
  for (const FigurePanel& panel : panels) {
    plot::Figure one = {.title = panel.title,
                        .x = {panel.x, plot::Scale::logarithmic, panel.x_least, panel.x_most},
                        .y = {panel.y}};
    for (const FigureRow& row : panel.lines) {
      plot::Series series = {.name = row.name};
      for (const auto& point : row.curve) series.points.push_back({point.x, point.y});
      one.series.push_back(std::move(series));
    }
    drawn.push_back(std::move(one));
  }
  return plot::to_svg(fmt::format("{}: {}", figure.row, figure.title), drawn);
}

// For whoever sits at the terminal and has waited for two seconds.
class Patience {
 public:
  explicit Patience(const FigureOrder& order) : order_(order), shows_(on_terminal(stderr)) {}
  ~Patience() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  void tell(std::uint64_t done, std::uint64_t of) {
    if (!shows_ || std::chrono::steady_clock::now() - begun_ < std::chrono::seconds(2)) return;
    shown_ = true;
    fmt::print(stderr, "\r{} {}: {} of {} trials", order_.row, order_.name, with_commas(done),
               with_commas(of));
  }

 private:
  const FigureOrder& order_;
  bool shows_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

int show_figure(const FigureOrder& order) {
  const auto found = catalogue::find_figure(order.row, order.name);
  if (!found) return complain("--figure: " + found.error());
  const PaperFigure& figure = **found;
  catalogue::FigureWish wish = {.seed = order.seed, .trials = figure.usual_trials, .jobs = order.jobs};
  const auto most = static_cast<std::int64_t>(figure.most_trials);
  if (const auto wrong = set_number(order.trials, wish.trials, "--trials", 1, most)) return complain(*wrong);
  for (const std::string& assignment : order.set) {
    const auto wrong = set_parameter(fmt::format("the figure {}", figure.name), figure.parameters,
                                     wish.parameters, assignment);
    if (wrong) return complain(*wrong);
  }
  if (figure.refuse) {
    if (const auto wrong = figure.refuse(wish)) return complain("--set " + *wrong);
  }
  Panels panels;
  {
    Patience patience(order);
    wish.progress = [&](std::uint64_t done, std::uint64_t of) { patience.tell(done, of); };
    panels = figure.measure(wish);
  }
  if (!order.plot.empty()) {
    const auto written = write_file(order.plot, svg_of(figure, panels));
    if (!written) return complain(written.error());
  }
  if (order.json) {
    fmt::print("{}\n", json_of(figure, wish, panels).dump(2));
  } else {
    print(figure, wish, panels);
  }
  return ok;
}

}  // namespace conclave::cli
