#include "plot/figure.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace conclave::plot {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t times = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

Figure two_curves() {
  return {.title = "Error over time",
          .x = {"time (s)"},
          .y = {"error (µs)"},
          .series = {{.name = "p1", .points = {{0, 1}, {1, 2}, {2, -1}}},
                     {.name = "p2", .points = {{0, 3}, {2, 4}}, .style = Style::line_with_dots}},
          .bands = {{.name = "stated bound", .spans = {{0, -5, 5}, {2, -6, 6}}}}};
}

TEST(Figure, DrawsCurvesBandsAxesAndLegend) {
  const std::string svg = to_svg(two_curves());
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count(svg, "class=\"band c0f\" d="), 1u);
  EXPECT_EQ(count(svg, "<g><title>"), 2u);
  EXPECT_NE(svg.find(">time (s)</text>"), std::string::npos);
  EXPECT_NE(svg.find(">error (µs)</text>"), std::string::npos);
  EXPECT_NE(svg.find(">stated bound</text>"), std::string::npos);
}

TEST(Figure, SaysWhatItShowsToThoseWhoCannotSeeIt) {
  const std::string svg = to_svg(two_curves());
  EXPECT_NE(svg.find("role=\"img\""), std::string::npos);
  EXPECT_NE(svg.find("<title id=\"plot-title\">Error over time</title>"), std::string::npos);
  EXPECT_NE(svg.find("<desc id=\"plot-desc\">error (µs) over time (s): p1, p2.</desc>"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(Figure, DrawsPanelsBelowEachOther) {
  const std::string svg = to_svg("Two & two", {two_curves(), two_curves()});
  EXPECT_EQ(count(svg, "<svg "), 1u);
  EXPECT_EQ(count(svg, "<style>"), 1u);
  EXPECT_NE(svg.find("<title id=\"plot-title\">Two &amp; two</title>"), std::string::npos);
  EXPECT_NE(svg.find("viewBox=\"0 0 860 1000\""), std::string::npos);
  EXPECT_NE(svg.find("translate(0 40)"), std::string::npos);
  EXPECT_NE(svg.find("translate(0 520)"), std::string::npos);
  EXPECT_EQ(count(svg, ">Error over time</text>"), 2u);
  EXPECT_TRUE(svg.ends_with("</g>\n</svg>\n"));
}

TEST(Figure, IsTheSameEveryTime) { EXPECT_EQ(to_svg(two_curves()), to_svg(two_curves())); }

TEST(Figure, EscapesEveryText) {
  Figure figure = two_curves();
  figure.title = figure.x.label = figure.y.label = figure.series[0].name = figure.bands[0].name =
      "<script>&\"'\x01";
  figure.description = "a < b";
  const std::string svg = to_svg(figure);
  EXPECT_EQ(svg.find("<script>"), std::string::npos);
  EXPECT_NE(svg.find("&lt;script&gt;&amp;&quot;&#39;\uFFFD"), std::string::npos);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
}

TEST(Figure, InterruptsTheCurveWhereANumberIsMissing) {
  const Figure figure = {
      .series = {
          {.name = "s", .points = {{0, 1}, {1, 2}, {2, NAN}, {3, 3}, {4, INFINITY}, {NAN, 1}, {5, 5}}}}};
  const std::string svg = to_svg(figure);
  const std::size_t at = svg.find("<g><title>s");
  const std::string curve = svg.substr(at, svg.find("</g>", at) - at);
  EXPECT_EQ(count(curve, "M"), 3u);
  EXPECT_EQ(count(svg, "nan"), 0u);
  EXPECT_EQ(count(svg, "inf"), 0u);
}

TEST(Figure, LeavesOutWhatALogarithmicAxisCannotShow) {
  Figure figure = {.x = {"N", Scale::logarithmic},
                   .y = {"messages", Scale::logarithmic},
                   .series = {{.name = "s", .points = {{0, 1}, {1, 10}, {10, 100}, {100, -1}}}},
                   .bands = {{.spans = {{1, -5, 20}, {10, 50, 200}}}}};
  const std::string svg = to_svg(figure);
  EXPECT_EQ(count(svg, "nan"), 0u);
  EXPECT_EQ(count(svg, "inf"), 0u);
  EXPECT_EQ(count(svg, "class=\"band"), 1u);
}

TEST(Figure, SaysSoIfThereIsNothingToShow) {
  EXPECT_NE(to_svg({}).find("nothing to show"), std::string::npos);
  EXPECT_NE(to_svg({.series = {{.name = "s", .points = {{NAN, NAN}}}}}).find("nothing to show"),
            std::string::npos);
  EXPECT_EQ(to_svg(two_curves()).find("nothing to show"), std::string::npos);
}

TEST(Figure, ALonePointIsADot) {
  const std::string svg = to_svg({.series = {{.name = "s", .points = {{1, 1}}}}});
  EXPECT_NE(svg.find("class=\"c0f\""), std::string::npos);
}

TEST(Figure, DoesNotListHundredsOfNames) {
  Figure figure;
  for (int i = 0; i < 200; ++i)
    figure.series.push_back({.name = "p" + std::to_string(i), .points = {{0, 1.0 * i}, {1, 1.0 * i}}});
  EXPECT_NE(to_svg(figure).find("and 182 more"), std::string::npos);
}

TEST(Figure, DoesNotRepeatPointsThatNobodyCouldTellApart) {
  Figure figure = {.series = {{.name = "s"}}};
  for (int i = 0; i < 100'000; ++i) figure.series[0].points.push_back({i * 1e-6, 1});
  figure.series[0].points.push_back({1, 1});
  EXPECT_LT(to_svg(figure).size(), 30'000u);
}

TEST(Figure, KeepsWithinSmallPaper) {
  Figure figure = two_curves();
  figure.width = 10;
  figure.height = 10;
  EXPECT_EQ(count(to_svg(figure), "nan"), 0u);
}

}  // namespace
}  // namespace conclave::plot
