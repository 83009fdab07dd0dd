#include "core/read_json.hpp"

#include <gtest/gtest.h>

#include "core/describe.hpp"
#include "protocols/raft/raft.hpp"

namespace conclave {
namespace {

template <class T>
void expect_back(const T& value) {
  T read = {};
  EXPECT_TRUE(read_json(describe_json(value), read)) << describe_json(value);
  EXPECT_EQ(read, value) << describe_json(value);
}

TEST(ReadJson, GivesBackWhatWasDescribed) {
  const std::vector<std::uint8_t> bytes = {0, 255, 16};
  expect_back(log::Propose{7, 3, Payload(bytes)});
  expect_back(log::Reconfigure{.voters = {NodeId{1}, NodeId{3}}, .learners = {NodeId{9}}});
  expect_back(raft::Raft::ForwardWish{log::Transfer{{2}}});
  expect_back(std::string("a \"quoted\" \\ line\n\tand more"));
  expect_back(std::map<std::string, std::optional<bool>>{{"yes", true}, {"no", false}, {"?", std::nullopt}});
  raft::Raft::Setup setup = {.patience_ticks = 300, .pre_vote = false, .voters = {NodeId{1}}};
  setup.habits.everybody = NodeSet::range({1}, 3);
  expect_back(setup);
  raft::Raft leader = {.self = {1}, .role = raft::Raft::Leader{.others = {{NodeId{2}, {}}}}};
  leader.log.append({.term = {1}, .command = log::Entry{{1}, 1, 2, Payload(bytes)}});
  leader.snapshot = raft::Snapshot{.last = {{1}, {4}}};
  expect_back(leader);
}

TEST(ReadJson, RefusesWhatDescribesSomethingElse) {
  log::Transfer transfer;
  for (const char* text : {"", "{", "{}", R"({"to":-1})", R"({"to":1}})", R"({"from":1})", R"({"to":1)"})
    EXPECT_FALSE(read_json(text, transfer)) << text;
  log::Compact compact;
  EXPECT_FALSE(read_json(R"({"state":"0"})", compact)) << "half a byte";
  EXPECT_FALSE(read_json(R"({"state":"0g"})", compact));
  std::variant<log::Read, log::Capture> either;
  EXPECT_FALSE(read_json(R"({"type":"Compact"})", either));
}

}  // namespace
}  // namespace conclave
