#include "rpc/timeout_header.hpp"

#include <gtest/gtest.h>

namespace conclave::rpc {
namespace {

using namespace std::chrono_literals;

TEST(TimeoutHeader, KnowsEveryUnit) {
  EXPECT_EQ(parse_timeout("1H"), 1h);
  EXPECT_EQ(parse_timeout("2M"), 2min);
  EXPECT_EQ(parse_timeout("3S"), 3s);
  EXPECT_EQ(parse_timeout("4m"), 4ms);
  EXPECT_EQ(parse_timeout("4997285u"), 4997285us);
  EXPECT_EQ(parse_timeout("0n"), 0ns);
}

TEST(TimeoutHeader, RefusesWhatIsNoTime) {
  for (const char* text : {"", "S", "5", "-1S", "+1S", "1.5S", " 1S", "1 S", "1s", "123456789S", "1Sx"})
    EXPECT_FALSE(parse_timeout(text)) << text;
}

TEST(TimeoutHeader, CapsWhatNoClockHolds) {
  ASSERT_TRUE(parse_timeout("99999999H"));
  EXPECT_GT(*parse_timeout("99999999H"), 24h * 365 * 50);
  EXPECT_GT(std::chrono::steady_clock::now() + *parse_timeout("99999999H"), std::chrono::steady_clock::now());
}

TEST(TimeoutHeader, WritesNoLessThanWhatIsLeft) {
  for (const auto left : {0ns, 1ns, 99'999'999ns, 100'000'000ns, 5'000'000'001ns}) {
    const auto read = parse_timeout(format_timeout(left));
    ASSERT_TRUE(read) << format_timeout(left);
    EXPECT_GE(*read, left);
    EXPECT_LE(*read, left + left / 1000 + 1ns);
  }
  EXPECT_EQ(format_timeout(-5s), "0n");
  EXPECT_TRUE(parse_timeout(format_timeout(24h * 365 * 200)));
}

}  // namespace
}  // namespace conclave::rpc
