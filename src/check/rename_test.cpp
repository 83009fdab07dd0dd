#include "check/rename.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace conclave::check {
namespace {

constexpr NodeId p1 = {1}, p2 = {2}, p3 = {3}, p9 = {9};
const Renaming rotation = {{p1, p2}, {p2, p3}, {p3, p1}};

struct Ask {
  NodeId who = {};
  std::uint64_t ticket = 0;
  bool operator==(const Ask&) const = default;
};
struct Silence {
  bool operator==(const Silence&) const = default;
};
struct Process {
  NodeId self = {};
  NodeSet others = {};
  std::optional<NodeId> holder = {};
  std::vector<NodeId> queue = {};
  std::map<NodeId, NodeSet> earlier = {};
  std::variant<Ask, Silence> said = {};
  std::string text = {};
  std::uint32_t number = 0;
  bool operator==(const Process&) const = default;
};

TEST(Rename, ReachesEveryNameAndNothingElse) {
  Process process = {.self = p1,
                     .others = {p2, p3, p9},
                     .holder = p3,
                     .queue = {p2, p2, p1},
                     .earlier = {{p1, {p2}}, {p3, {p1, p9}}},
                     .said = Ask{p2, 1},
                     .text = "p1",
                     .number = 1};
  rename(process, rotation);
  EXPECT_EQ(process, (Process{.self = p2,
                              .others = {p3, p1, p9},
                              .holder = p1,
                              .queue = {p3, p3, p2},
                              .earlier = {{p2, {p3}}, {p1, {p2, p9}}},
                              .said = Ask{p3, 1},
                              .text = "p1",
                              .number = 1}));
}

TEST(Rename, ThreeRotationsOfThreeChangeNothing) {
  const Process before = {
      .self = p3, .others = {p1, p2}, .queue = {p2, p1}, .earlier = {{p2, {p1, p3}}}, .said = Silence{}};
  Process process = before;
  rename(process, rotation);
  EXPECT_NE(process, before);
  rename(process, rotation);
  rename(process, rotation);
  EXPECT_EQ(process, before);
}

}  // namespace
}  // namespace conclave::check
