#include "plot/axis.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace conclave::plot {
namespace {

std::vector<std::string> labels(const Ruler& ruler) {
  std::vector<std::string> texts;
  for (const auto& mark : ruler.marks()) {
    if (!mark.label.empty()) texts.push_back(mark.label);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Ruler, StepsAreOneTwoOrFive) {
  EXPECT_EQ(labels(Ruler(Scale::linear, {0, 9}, 5)), (Texts{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(labels(Ruler(Scale::linear, {-0.3, 0.42}, 4)), (Texts{"-0.4", "-0.2", "0", "0.2", "0.4", "0.6"}));
  EXPECT_EQ(labels(Ruler(Scale::linear, {0, 48'000}, 5)),
            (Texts{"0", "10\u2009000", "20\u2009000", "30\u2009000", "40\u2009000", "50\u2009000"}));
}

TEST(Ruler, EndsLieOnMarks) {
  const Ruler ruler(Scale::linear, {3, 97}, 5);
  EXPECT_DOUBLE_EQ(ruler.place(0), 0);
  EXPECT_DOUBLE_EQ(ruler.place(100), 1);
  EXPECT_DOUBLE_EQ(ruler.place(50), 0.5);
}

TEST(Ruler, DecadesOnALogarithmicAxis) {
  const Ruler wide(Scale::logarithmic, {3, 20'000}, 6);
  EXPECT_EQ(labels(wide), (Texts{"1", "10", "100", "1000", "10\u2009000", "100\u2009000"}));
  EXPECT_DOUBLE_EQ(wide.place(1), 0);
  EXPECT_NEAR(wide.place(1'000), 0.6, 1e-12);
  const Ruler narrow(Scale::logarithmic, {2, 80}, 8);
  EXPECT_EQ(labels(narrow), (Texts{"1", "2", "5", "10", "20", "50", "100"}));
  const Ruler huge(Scale::logarithmic, {1e-12, 1e12}, 6);
  EXPECT_LE(labels(huge).size(), 8u);
}

TEST(Ruler, BeginsAndEndsWhereTheAxisSays) {
  const Ruler wide({"", Scale::logarithmic, 50, 30'000}, {1, 1e6}, 7);
  EXPECT_EQ(labels(wide),
            (Texts{"50", "100", "200", "500", "1000", "2000", "5000", "10\u2009000", "20\u2009000"}));
  EXPECT_DOUBLE_EQ(wide.place(50), 0);
  EXPECT_DOUBLE_EQ(wide.place(30'000), 1);
  EXPECT_TRUE(wide.shows(30'000));
  EXPECT_FALSE(wide.shows(49));
  EXPECT_FALSE(wide.shows(30'001));
  const Ruler linear({"", Scale::linear, 1, 9}, {}, 5);
  EXPECT_EQ(labels(linear), (Texts{"2", "4", "6", "8"}));
  EXPECT_DOUBLE_EQ(linear.place(5), 0.5);
  // Nothing that a logarithmic axis could begin with.
  EXPECT_TRUE(Ruler({"", Scale::logarithmic, -5, 100}, {}, 5).shows(1));
}

TEST(Ruler, MakesDoWithOneNumberOrNone) {
  EXPECT_GE(Ruler(Scale::linear, {}, 5).marks().size(), 2u);
  EXPECT_GE(Ruler(Scale::logarithmic, {}, 5).marks().size(), 2u);
  const Ruler one(Scale::linear, {7}, 5);
  EXPECT_GT(one.place(7), 0.2);
  EXPECT_LT(one.place(7), 0.8);
  EXPECT_EQ(Ruler(Scale::linear, {0}, 5).place(0), 0.5);
  EXPECT_GE(Ruler(Scale::logarithmic, {100}, 5).marks().size(), 2u);
}

TEST(Ruler, ShowsOnlyWhatItCan) {
  const Ruler linear(Scale::linear, {1, NAN, INFINITY, -INFINITY, 2}, 5);
  EXPECT_EQ(linear.low(), 1);
  EXPECT_FALSE(linear.shows(NAN));
  EXPECT_FALSE(linear.shows(INFINITY));
  EXPECT_TRUE(linear.shows(-5));
  const Ruler logarithmic(Scale::logarithmic, {0, -3, 1, 2}, 5);
  EXPECT_FALSE(logarithmic.shows(0));
  EXPECT_FALSE(logarithmic.shows(-1));
}

TEST(Ruler, SurvivesTheGreatestNumbers) {
  for (const Scale scale : {Scale::linear, Scale::logarithmic}) {
    const Ruler ruler(scale, {-1.7e308, 1e-308, 1.7e308}, 5);
    EXPECT_LE(ruler.marks().size(), 700u);
    EXPECT_TRUE(std::isfinite(ruler.place(1)));
  }
  EXPECT_LE(Ruler(Scale::linear, {1e15, 1e15 + 0.125}, 5).marks().size(), 20u);
}

TEST(Label, IsShortAndExact) {
  EXPECT_EQ(label_of(0.25, 0.05), "0.25");
  EXPECT_EQ(label_of(1'500, 500), "1500");
  EXPECT_EQ(label_of(15'000, 500), "15\u2009000");
  EXPECT_EQ(label_of(-1'234'000, 1'000), "-1\u2009234\u2009000");
  EXPECT_EQ(label_of(1e9, 1e9), "10⁹");
  EXPECT_EQ(label_of(2.5e-7, 1e-7), "2.5×10⁻⁷");
  EXPECT_EQ(label_of(1e-18, 0.1), "0");
}

}  // namespace
}  // namespace conclave::plot
