// Line figures as SVG text: curves over linear or logarithmic axes, with bands behind them.
//
//   plot::Figure figure = {.title = "Clock error", .x = {"time (s)"}, .y = {"error (µs)"}};
//   figure.series.push_back({.name = "p1", .points = {{0, 12}, {1, -7}}});
//   std::string svg = plot::to_svg(figure);
//
// The same figure gives the same bytes. Whatever cannot be drawn is left out, and the curve is interrupted
// there: numbers that are not finite, and on a logarithmic axis those that are not positive.
#pragma once
#include <string>
#include <vector>

namespace conclave::plot {

struct Point {
  double x = 0;
  double y = 0;
};

enum class Scale { linear, logarithmic };

struct Axis {
  std::string label = {};
  Scale scale = Scale::linear;
  // Where it begins and ends, for figures that are compared with others; equal: so that every number is on
  // it. What lies beyond is left out.
  double begin = 0;
  double end = 0;
};

enum class Style {
  line,
  dots,
  line_with_dots,
  dashes,  // for what is claimed, next to what is measured
};

struct Series {
  std::string name = {};
  std::vector<Point> points = {};
  Style style = Style::line;
};

// The area between two curves.
struct Span {
  double x = 0;
  double low = 0;
  double high = 0;
};
struct Band {
  std::string name = {};
  std::vector<Span> spans = {};
  std::size_t colour = 0;  // that of the series with this index
};

struct Figure {
  std::string title = {};
  std::string description = {};  // for who cannot see it; a sentence is made up if there is none
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  std::vector<Band> bands = {};
  unsigned width = 860;
  unsigned height = 480;
};

std::string to_svg(const Figure& figure);
// Several in one picture, below each other.
std::string to_svg(const std::string& title, const std::vector<Figure>& panels);

}  // namespace conclave::plot
