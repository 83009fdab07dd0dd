#include "cli/retention.hpp"

#include <gtest/gtest.h>

namespace conclave::cli {
namespace {

using Mode = etcd::CompactorOptions::Mode;

std::int64_t milliseconds(const std::string& retention) {
  const auto options = retention_in("periodic", retention);
  return options && options->mode == Mode::age ? options->age.count() : -1;
}

std::string refusal(const std::string& mode, const std::string& retention) {
  const auto options = retention_in(mode, retention);
  return options ? "fine" : options.error();
}

TEST(Retention, IsFiveMinutesWithinABoundUnlessSomebodySaysSo) {
  for (const char* mode : {"", "periodic"}) {
    const auto options = retention_in(mode, "");
    ASSERT_TRUE(options);
    EXPECT_EQ(options->mode, Mode::age);
    EXPECT_EQ(options->age, std::chrono::minutes(5));
    EXPECT_TRUE(options->least_bytes);
  }
  EXPECT_FALSE(retention_in("", "5m")->least_bytes) << "whoever says how long has no bound but the quota";
}

TEST(Retention, SpeaksOfTimeAsGoDoes) {
  EXPECT_EQ(milliseconds("5m"), 300'000);
  EXPECT_EQ(milliseconds("1h30m"), 5'400'000);
  EXPECT_EQ(milliseconds("1m0.5s"), 60'500);
  EXPECT_EQ(milliseconds("1500ms"), 1500);
  EXPECT_EQ(milliseconds("8"), 8 * 3'600'000);
  EXPECT_EQ(milliseconds("0.5"), 1'800'000);
}

TEST(Retention, OfNothingIsForEver) {
  for (const char* never : {"0", "0s", "0h0m"}) EXPECT_EQ(retention_in("", never)->mode, Mode::off) << never;
  EXPECT_EQ(retention_in("revision", "0")->mode, Mode::off);
}

TEST(Retention, CountsRevisions) {
  const auto options = retention_in("revision", "100000");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->mode, Mode::revisions);
  EXPECT_EQ(options->revisions, 100'000);
  EXPECT_FALSE(options->least_bytes);
}

TEST(Retention, RefusesWhatIsNeither) {
  for (const char* odd : {"soon", "5 m", "5x", "-5m", "m", "5m3", "1e99h", "inf", "nan", "5mm"})
    EXPECT_NE(refusal("", odd).find("is no time"), std::string::npos) << odd;
  EXPECT_NE(refusal("", "10ms").find("less than a second"), std::string::npos);
  EXPECT_NE(refusal("always", "5m").find("neither periodic nor revision"), std::string::npos);
  EXPECT_NE(refusal("revision", "").find("how many stay"), std::string::npos);
  for (const char* odd : {"5m", "-1", "1.5", "99999999999999999999"})
    EXPECT_NE(refusal("revision", odd).find("is no number of revisions"), std::string::npos) << odd;
}

}  // namespace
}  // namespace conclave::cli
