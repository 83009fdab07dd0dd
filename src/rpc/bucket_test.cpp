// A bucket of tokens: a rate for ever, a burst at once, and nothing more.
#include "rpc/bucket.hpp"

#include <gtest/gtest.h>

namespace conclave::rpc {
namespace {

using namespace std::chrono_literals;
const Bucket::Time start = Bucket::Time() + 1h;

TEST(Buckets, LetARateGoOnForEver) {
  Bucket bucket(200, 10);
  auto now = start;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(bucket.take(now)) << i;
    now += 100ms;
  }
}

TEST(Buckets, LetABurstThroughAndStopAFlood) {
  Bucket bucket(200, 10);
  int taken = 0;
  for (int i = 0; i < 10'000; ++i) taken += bucket.take(start) ? 1 : 0;
  EXPECT_EQ(taken, 200);
  EXPECT_TRUE(bucket.take(start + 100ms)) << "one more after a tenth of a second";
  EXPECT_FALSE(bucket.take(start + 100ms));
}

TEST(Buckets, KeepWhatWasEarnedUpToALimit) {
  Bucket bucket(10, 1);
  for (int i = 0; i < 100; ++i) bucket.earn(8, 50);
  int taken = 0;
  while (bucket.take(start)) ++taken;
  EXPECT_EQ(taken, 50);
  EXPECT_FALSE(bucket.full(start + 9s));
  EXPECT_TRUE(bucket.full(start + 1h));
}

}  // namespace
}  // namespace conclave::rpc
