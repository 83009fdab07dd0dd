// Accounts of memory: a tree, in which the least room counts.
#include "rpc/account.hpp"

#include <gtest/gtest.h>

namespace conclave::rpc {
namespace {

TEST(Accounts, CountInEveryAccountAbove) {
  Account server(1000);
  Account address(600, &server);
  Account connection(500, &address);
  connection.take(Use::answers, 100);
  connection.take(Use::calls, 20);
  EXPECT_EQ(server.used(), 120u);
  EXPECT_EQ(server.used(Use::answers), 100u);
  EXPECT_EQ(address.used(Use::calls), 20u);
  connection.give(Use::answers, 60);
  EXPECT_EQ(server.used(Use::answers), 40u);
}

TEST(Accounts, HaveTheLeastRoomOfAllAbove) {
  Account server(1000);
  Account address(600, &server);
  Account one(500, &address);
  Account other(500, &address);
  EXPECT_EQ(one.room(), 500u);
  other.take(Use::answers, 400);
  EXPECT_EQ(one.room(), 200u);
  one.take(Use::answers, 300);
  EXPECT_EQ(one.room(), 0u);
  EXPECT_FALSE(one.over());
  EXPECT_TRUE(one.anything_over()) << "the address has more than its share";
}

TEST(Accounts, GiveEverythingBackWhenTheyEnd) {
  Account server(1000);
  {
    Account connection(500, &server);
    connection.take(Use::requests, 7);
    connection.set(Use::frames, 30);
    connection.set(Use::frames, 10);
    EXPECT_EQ(server.used(), 17u);
  }
  EXPECT_EQ(server.used(), 0u);
}

}  // namespace
}  // namespace conclave::rpc
