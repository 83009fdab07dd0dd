#include "etcd/turns.hpp"

#include <gtest/gtest.h>

#include <string>

namespace conclave::etcd {
namespace {

TEST(Turns, OneIsUnderWayAndConnectionsAreServedInTurn) {
  Turns turns;
  std::string begun;
  const auto add = [&](std::uint64_t whose, char name, bool begins = true) {
    turns.run(static_cast<rpc::ConnectionId>(whose), [&begun, name, begins] {
      begun += name;
      return begins;
    });
  };
  add(1, 'a');
  add(1, 'b');
  add(1, 'c');
  add(1, 'd');
  add(2, 'x');
  add(2, '-', false);
  add(2, 'y');
  EXPECT_EQ(begun, "a");
  EXPECT_EQ(turns.waiting(), 6u);
  for (int i = 0; i < 4; ++i) turns.done();
  EXPECT_EQ(begun, "abxc-d");
  turns.done();
  turns.done();
  EXPECT_EQ(begun, "abxc-dy");
  add(3, 'z');
  EXPECT_EQ(begun, "abxc-dyz");
  EXPECT_EQ(turns.waiting(), 0u);
}

}  // namespace
}  // namespace conclave::etcd
