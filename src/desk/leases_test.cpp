#include "desk/leases.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace conclave::desk {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  explicit Fixture(NodeId self = {3})
      : leases(loop, self, {}, [this](const Leases::Gone& gone) {
          ended.push_back(gone.id);
          attached = gone.attached;
          how = gone.how;
        }) {}
  boost::asio::io_context loop{1};
  std::vector<LeaseId> ended = {};
  std::set<std::string> attached = {};
  LeaseEnd how = {};
  Leases leases;
};

TEST(Leases, AreWrittenInHexAsEtcdDoes) {
  EXPECT_EQ(in_hex(0x694d77aa9e38260f), "694d77aa9e38260f");
  EXPECT_EQ(in_hex(10), "a");
  EXPECT_EQ(in_hex(-10), "-a");
  EXPECT_EQ(in_hex(std::numeric_limits<LeaseId>::min()), "-8000000000000000");
}

TEST(Leases, ChooseIdsThatArePositiveAndNameTheMember) {
  Fixture of_three;
  Fixture of_many({0xffff'ffff});
  std::set<LeaseId> ids;
  for (int i = 0; i < 1000; ++i) {
    const LeaseId id = of_three.leases.fresh_id();
    EXPECT_EQ(id >> 48, 3);
    ids.insert(id);
    EXPECT_GT(of_many.leases.fresh_id(), 0);
  }
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(Leases, EndInTheOrderOfTheirTimesAndNotBefore) {
  Fixture fixture;
  const auto begin = Leases::Clock::now();
  fixture.leases.grant(2s, 2);
  fixture.leases.grant(1s, 1);
  fixture.leases.attach(1, "a");
  fixture.leases.attach(1, "b");
  fixture.leases.detach(1, "b");
  while (fixture.ended.empty()) fixture.loop.run_one();
  EXPECT_GE(Leases::Clock::now() - begin, 1s);
  EXPECT_EQ(fixture.ended, std::vector<LeaseId>{1});
  EXPECT_EQ(fixture.attached, std::set<std::string>{"a"});
  EXPECT_EQ(fixture.how, LeaseEnd::expired);
  EXPECT_TRUE(fixture.leases.exists(2));
  EXPECT_EQ(fixture.leases.renew(1), std::nullopt);
  EXPECT_EQ(fixture.leases.renew(2), 2s);
  EXPECT_EQ(fixture.leases.remaining(2)->left, 1s);
}

TEST(Leases, EndOnce) {
  Fixture fixture;
  fixture.leases.grant(1s, 1);
  EXPECT_TRUE(fixture.leases.end(1, LeaseEnd::revoked));
  EXPECT_FALSE(fixture.leases.end(1, LeaseEnd::revoked));
  EXPECT_EQ(fixture.how, LeaseEnd::revoked);
  EXPECT_EQ(fixture.ended.size(), 1u);
  EXPECT_EQ(fixture.leases.size(), 0u);
}

TEST(Leases, MayEndOthersWhenTheyEnd) {
  boost::asio::io_context loop(1);
  Leases* all = nullptr;
  std::vector<LeaseId> ended;
  Leases leases(loop, {1}, {}, [&](const Leases::Gone& gone) {
    ended.push_back(gone.id);
    all->end(3 - gone.id, LeaseEnd::lost);
  });
  all = &leases;
  leases.grant(1s, 1);
  leases.grant(1s, 2);
  while (ended.empty()) loop.run_one();
  EXPECT_EQ(ended.size(), 2u);
}

}  // namespace
}  // namespace conclave::desk
