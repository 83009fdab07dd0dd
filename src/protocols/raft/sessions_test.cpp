#include "protocols/raft/sessions.hpp"

#include <gtest/gtest.h>

#include <string>

namespace conclave::raft {
namespace {

struct Counter {
  Sessions<std::string, int> sessions;
  int value = 0;
  auto add(const std::string& client, std::uint64_t serial, int amount) {
    return sessions.apply(client, serial, [&] { return value += amount; });
  }
};

TEST(RaftSessions, ARepeatedCommandIsAnsweredAgainAndNotRunAgain) {
  Counter counter;
  EXPECT_EQ(std::get<int>(counter.add("a", 1, 5)), 5);
  EXPECT_EQ(std::get<int>(counter.add("b", 1, 1)), 6);
  EXPECT_EQ(std::get<int>(counter.add("a", 1, 5)), 5);
  EXPECT_EQ(counter.value, 6);
}

TEST(RaftSessions, AnOlderCommandIsIgnored) {
  Counter counter;
  counter.add("a", 1, 5);
  counter.add("a", 2, 5);
  EXPECT_TRUE(std::holds_alternative<decltype(counter.sessions)::Stale>(counter.add("a", 1, 5)));
  EXPECT_EQ(counter.value, 10);
  EXPECT_TRUE(counter.sessions.applied("a", 2));
  EXPECT_FALSE(counter.sessions.applied("a", 3));
  EXPECT_FALSE(counter.sessions.applied("b", 1));
}

}  // namespace
}  // namespace conclave::raft
