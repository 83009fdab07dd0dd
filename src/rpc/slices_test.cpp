// Long work in slices: what is short is done at once, what is long lets others pass, and nobody is forgotten.
#include "rpc/slices.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <optional>
#include <string>

namespace conclave::rpc {
namespace {

using namespace std::chrono_literals;

constexpr ConnectionId one{1}, other{2};

// A slice has ten steps of work, by a clock that only work moves.
struct Workshop : testing::Test {
  boost::asio::io_context loop{1};
  Slices::Clock::time_point now = {};
  std::optional<Slices> slices{std::in_place, loop, 1000us, [this] { return now; }};
  std::string done = {};

  Slices::Step work(char name, int steps) {
    return [this, name, steps]() mutable {
      now += 100us;
      done += name;
      return --steps > 0;
    };
  }
};

TEST_F(Workshop, ShortWorkIsDoneAtOnce) {
  slices->run(one, work('a', 3));
  slices->run(other, work('b', 3));
  EXPECT_EQ(done, "aaabbb");
  EXPECT_EQ(slices->waiting(), 0u);
}

TEST_F(Workshop, OneTurnOfTheLoopHasOneSliceForAllThatComesInIt) {
  for (int i = 0; i < 100; ++i) slices->run(ConnectionId{100u + static_cast<unsigned>(i)}, work('a', 1));
  EXPECT_EQ(done.size(), 10u);
  EXPECT_EQ(slices->waiting(), 90u);
  loop.run();
  EXPECT_EQ(done.size(), 100u);
}

TEST_F(Workshop, LongWorkLetsOthersPassBetweenSlices) {
  std::size_t most = 0, before = 0;
  std::function<void()> pass = [&] {
    most = std::max(most, done.size() - before);
    before = done.size();
    if (slices->waiting() > 0) boost::asio::post(loop, pass);
  };
  slices->run(one, work('a', 1000));
  boost::asio::post(loop, pass);
  loop.run();
  EXPECT_EQ(done.size(), 1000u);
  EXPECT_LE(most, 20u);
}

TEST_F(Workshop, ConnectionsTakeTurnsAndEachIsServedInItsOrder) {
  slices->run(one, work('a', 12));  // ten of them at once
  slices->run(one, work('b', 2));
  slices->run(one, work('c', 1));
  slices->run(other, work('x', 2));
  loop.run();
  EXPECT_EQ(done,
            "aaaaaaaaaa"
            "axaxbbc");
}

TEST_F(Workshop, AStepMayAskForMoreWhichWaits) {
  slices->run(one, [&] {
    slices->run(one, work('b', 1));
    done += 'a';
    return false;
  });
  EXPECT_EQ(done, "a");
  loop.run();
  EXPECT_EQ(done, "ab");
}

TEST_F(Workshop, AStepMayBeTheEndOfAll) {
  slices->run(one, work('a', 11));
  slices->run(other, [&] {
    slices.reset();
    return true;
  });
  slices->run(other, work('b', 1));
  loop.run();
  EXPECT_EQ(done, "aaaaaaaaaaa");
}

}  // namespace
}  // namespace conclave::rpc
