#include "cli/plan.hpp"

#include <gtest/gtest.h>

namespace conclave::cli {
namespace {

TEST(Plan, CountsMayBeWrittenWithAnExponent) {
  EXPECT_EQ(parse_count("10000000"), 10'000'000);
  EXPECT_EQ(parse_count("1e7"), 10'000'000);
  EXPECT_EQ(parse_count("2.5e6"), 2'500'000);
}

TEST(Plan, WhatIsNoCountIsRefusedWithAnExample) {
  for (const char* text : {"", "0", "many", "-5", "1.5", "1e7x", "1e400", "nan", "inf"}) {
    const auto count = parse_count(text);
    ASSERT_FALSE(count) << text;
    EXPECT_NE(count.error().find("write 10000000 or 1e7"), std::string::npos) << count.error();
  }
}

TEST(Plan, SizesHaveUnits) {
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size("3K"), 3 * 1024);
  EXPECT_EQ(parse_size("500M"), 500ull << 20);
  EXPECT_EQ(parse_size("2G"), 2ull << 30);
  EXPECT_EQ(parse_size("1.5G"), 3ull << 29);
}

TEST(Plan, WhatIsNoSizeIsRefusedWithAnExample) {
  for (const char* text : {"", "G", "0", "-1G", "2T", "2 G", "2Gb", "lots"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size) << text;
    EXPECT_NE(size.error().find("write 500M or 2G"), std::string::npos) << size.error();
  }
}

TEST(Plan, AVariantThatIsUnknownIsAnsweredWithThoseThatAreThere) {
  const catalogue::Entry entry = {.name = "example",
                                  .variants = {{"canonical", "as published"}, {"hasty", "does not wait"}}};
  EXPECT_EQ(check_variant(entry, "hasty"), std::nullopt);
  EXPECT_EQ(check_variant(entry, "lazy"), "example has no variant 'lazy'; there is canonical, hasty");
}

TEST(Plan, ANumberOutOfRangeLeavesTheFieldAlone) {
  std::uint8_t field = 7;
  EXPECT_EQ(set_number(std::nullopt, field, "--crashes", 0, 15), std::nullopt);
  EXPECT_EQ(field, 7);
  EXPECT_EQ(set_number(16, field, "--crashes", 0, 15), "--crashes 16: must lie between 0 and 15");
  EXPECT_EQ(field, 7);
  EXPECT_EQ(set_number(2, field, "--crashes", 0, 15), std::nullopt);
  EXPECT_EQ(field, 2);
}

}  // namespace
}  // namespace conclave::cli
