// Buckets, and what they say of what was counted.
#include "storage/latency.hpp"

#include <gtest/gtest.h>

namespace conclave::storage {
namespace {

TEST(Latencies, BucketsFollowEachOtherWithoutAGap) {
  for (std::uint64_t value : {0ull, 1ull, 3ull, 4ull, 5ull, 7ull, 8ull, 1000ull, 123456789ull, 1ull << 62}) {
    const std::size_t bucket = Latencies::bucket_of(value);
    EXPECT_LE(value, Latencies::greatest_of(bucket));
    EXPECT_EQ(Latencies::bucket_of(Latencies::greatest_of(bucket)), bucket);
    EXPECT_EQ(Latencies::bucket_of(Latencies::greatest_of(bucket) + 1), bucket + 1);
  }
}

TEST(Latencies, SayHowLongHalfOfThemTook) {
  Latencies latencies;
  EXPECT_EQ(latencies.at(500).count(), 0);
  for (int i = 0; i < 99; ++i) latencies.add(std::chrono::microseconds(100));
  latencies.add(std::chrono::milliseconds(50));
  EXPECT_EQ(latencies.count(), 100u);
  EXPECT_NEAR(static_cast<double>(latencies.at(500).count()), 100e3, 25e3);
  EXPECT_NEAR(static_cast<double>(latencies.at(990).count()), 100e3, 25e3);
  EXPECT_NEAR(static_cast<double>(latencies.at(1000).count()), 50e6, 13e6);
  EXPECT_EQ(latencies.most(), std::chrono::milliseconds(50));
}

}  // namespace
}  // namespace conclave::storage
