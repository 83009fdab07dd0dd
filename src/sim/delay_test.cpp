#include "sim/delay.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace conclave::sim {
namespace {

using Shape = Delay::Shape;

Draw draw(std::uint64_t nth) { return {1, Purpose::delay, 2, nth}; }

TEST(Delay, ParsesWhatItPrints) {
  for (const std::string text :
       {"fixed:0", "fixed:10", "uniform:5-15", "uniform:7-7", "exponential:10", "fixed:86400000000"}) {
    const auto delay = Delay::parse(text);
    ASSERT_TRUE(delay) << delay.error();
    EXPECT_EQ(delay->to_string(), text);
  }
}

TEST(Delay, RefusesWithASentenceThatSaysWhatWouldBeRight) {
  for (const std::string text :
       {"", "10", "fixed", "fixed:", "fixed:x", "fixed:-1", "fixed:1.5", "fixed:10 ", "fixed:86400000001",
        "fixed:99999999999999999999", "uniform:5", "uniform:15-5", "uniform:-5", "uniform:5-15-25",
        "exponential:0", "normal:10", "Fixed:10"}) {
    const auto delay = Delay::parse(text);
    ASSERT_FALSE(delay) << text;
    EXPECT_EQ(delay.error(), "'" + text +
                                 "' is no delay; write fixed:10, uniform:5-15 or exponential:10 (ticks, at "
                                 "most 86400000000)");
  }
}

TEST(Delay, StaysWithinItsBounds) {
  const Delay uniform = {Shape::uniform, 5, 15};
  const Delay exponential = {Shape::exponential, 100, 100};
  bool least = false;
  bool most = false;
  double sum = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t ticks = uniform.sample(draw(i));
    ASSERT_TRUE(5 <= ticks && ticks <= 15);
    least |= ticks == 5;
    most |= ticks == 15;
    const std::uint64_t longer = exponential.sample(draw(i));
    ASSERT_GE(longer, 1u);
    sum += static_cast<double>(longer);
  }
  EXPECT_TRUE(least && most);
  EXPECT_NEAR(sum / 10'000, 100, 5);
  EXPECT_EQ((Delay{Shape::fixed, 7, 7}.sample(draw(1))), 7u);
}

TEST(Delay, IsTheSameForTheSameDraw) {
  const Delay delay = {Shape::exponential, 1000, 1000};
  EXPECT_EQ(delay.sample(draw(3)), delay.sample(draw(3)));
  EXPECT_NE(delay.sample(draw(3)), delay.sample(draw(4)));
}

TEST(Delay, KnowsItsMean) {
  EXPECT_EQ((Delay{Shape::uniform, 5, 15}.mean()), 10u);
  EXPECT_EQ((Delay{Shape::exponential, 8, 8}.mean()), 8u);
}

class DelayTable : public testing::Test {
 protected:
  std::expected<DelayModel, std::string> parse(const std::string& table) {
    std::ofstream(path_) << table;
    return DelayModel::parse("table:" + path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ = testing::TempDir() + "delay_table_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

TEST_F(DelayTable, GivesALinkItsOwnDelay) {
  const auto model = parse(R"({"default":"fixed:10","links":[{"from":1,"to":2,"delay":"uniform:50-60"}]})");
  ASSERT_TRUE(model) << model.error();
  EXPECT_EQ(model->on({1}, {2}).to_string(), "uniform:50-60");
  EXPECT_EQ(model->on({2}, {1}).to_string(), "fixed:10");
  EXPECT_FALSE(model->is_fixed());
}

TEST_F(DelayTable, MayHaveNoLinks) {
  const auto model = parse(R"({"default":"fixed:10"})");
  ASSERT_TRUE(model) << model.error();
  EXPECT_TRUE(model->is_fixed());
}

TEST_F(DelayTable, RefusesABrokenTableByItsName) {
  for (const std::string table :
       {"", "not json", "[]", R"({"links":[]})", R"({"default":10})", R"({"default":"fixed:x"})",
        R"({"default":"fixed:1","links":{}})", R"({"default":"fixed:1","links":[{"from":1,"to":2}]})",
        R"({"default":"fixed:1","links":[{"from":-1,"to":2,"delay":"fixed:1"}]})",
        R"({"default":"fixed:1","links":[{"from":1,"to":2,"delay":"soon"}]})"}) {
    const auto model = parse(table);
    ASSERT_FALSE(model) << table;
    EXPECT_TRUE(model.error().starts_with(path_ + ": ")) << model.error();
    EXPECT_NE(model.error().find("a table is {\"default\""), std::string::npos) << model.error();
  }
}

TEST(DelayModel, SaysWhichTableItCannotRead) {
  const auto model = DelayModel::parse("table:/no/such/file");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error(), "cannot read the delay table '/no/such/file'");
}

TEST(DelayModel, TakesAPlainDelay) {
  EXPECT_EQ(DelayModel::parse("fixed:3")->on({1}, {2}).to_string(), "fixed:3");
  EXPECT_FALSE(DelayModel::parse("fixed"));
}

}  // namespace
}  // namespace conclave::sim
