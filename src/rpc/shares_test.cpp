#include "rpc/shares.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace conclave::rpc {
namespace {

Peer peer(std::uint64_t connection, const std::string& address) {
  return {.connection = ConnectionId{connection}, .address = address};
}

std::size_t taken_until_refused(Shares& shares, const Peer& by, std::vector<Shares::Part>& parts) {
  std::size_t count = 0;
  for (auto part = shares.take(by); part; part = shares.take(by), ++count) parts.push_back(std::move(*part));
  return count;
}

TEST(Shares, AreAQuarterForAConnectionAndThreeQuartersForAnAddress) {
  Shares shares(100);
  std::vector<Shares::Part> parts;
  for (const std::uint64_t connection : {1, 2, 3})
    EXPECT_EQ(taken_until_refused(shares, peer(connection, "192.0.2.7:1"), parts), 25u);
  EXPECT_EQ(taken_until_refused(shares, peer(4, "192.0.2.7:99"), parts), 0u);  // the port says nothing
  EXPECT_EQ(taken_until_refused(shares, peer(5, "192.0.2.8:1"), parts), 25u);
  EXPECT_EQ(taken_until_refused(shares, peer(6, "192.0.2.9:1"), parts), 0u);
  EXPECT_EQ(shares.taken(), 100u);
  EXPECT_EQ(shares.refused(), 6u);
  parts.erase(parts.begin(), parts.begin() + 25);
  EXPECT_EQ(taken_until_refused(shares, peer(7, "192.0.2.7:2"), parts), 25u);
}

TEST(Shares, AreOfANetworkWhereAHostMayHaveAllOfIt) {
  Shares shares(100);
  std::vector<Shares::Part> parts;
  for (const std::uint64_t connection : {1, 2, 3})
    EXPECT_EQ(taken_until_refused(
                  shares, peer(connection, "[2001:db8::" + std::to_string(connection) + "]:1"), parts),
              25u);
  EXPECT_EQ(taken_until_refused(shares, peer(4, "[2001:db8::4]:1"), parts), 0u);
  EXPECT_EQ(taken_until_refused(shares, peer(5, "[2001:db8:0:1::4]:1"), parts), 25u);
}

TEST(Shares, HavePartsOfDifferentSizesWhichMayOutliveThem) {
  auto shares = std::make_unique<Shares>(8);
  auto part = shares->take(peer(1, "host"), 2);
  ASSERT_TRUE(part);
  EXPECT_FALSE(shares->take(peer(1, "host"), 1));
  EXPECT_FALSE(shares->take(peer(2, "host"), 3));  // more than a quarter
  Shares::Part moved = std::move(*part);
  part.reset();
  EXPECT_EQ(shares->taken(), 2u);
  shares.reset();
}

}  // namespace
}  // namespace conclave::rpc
