#include "sim/script.hpp"

#include <gtest/gtest.h>

namespace conclave::sim {
namespace {

using What = Action::What;
using Cut = Action::Cut;

const NodeSet members = NodeSet::range({1}, 3);

std::string one(const std::string& action) { return R"({"conclave-script":1,"actions":[)" + action + "]}"; }

// The sentence with which a script of this one action is refused.
std::string refusal(const std::string& action) {
  const auto script = parse_script(one(action), members);
  return script ? "accepted" : script.error();
}

TEST(Script, PrintsAndParsesEveryAction) {
  const Script script = {
      {.what = What::wish, .at = {0}, .node = {1}, .amount = 20},
      {.what = What::tell, .at = {1}, .node = {1}, .to = {2}},
      {.what = What::crash, .at = {2}, .node = {1}},
      {.what = What::crash, .at = {2}, .node = {1}, .durable = false, .forever = true},
      {.what = What::recover, .at = {3}, .node = {1}},
      {.what = What::recover, .at = {3}, .node = {1}, .durable = false},
      {.what = What::pause, .at = {4}, .node = {2}},
      {.what = What::resume, .at = {5}, .node = {2}},
      {.what = What::partition, .at = {6}, .group = {{1}}},
      {.what = What::partition, .at = {6}, .cut = Cut::one_way, .group = {{1}, {3}}},
      {.what = What::partition, .at = {6}, .node = {2}, .cut = Cut::bridge, .group = {{1}}},
      {.what = What::heal, .at = {7}},
      {.what = What::drift, .at = {8}, .node = {3}, .amount = -999'999},
      {.what = What::jump, .at = {std::uint64_t{1} << 60}, .node = {3}, .amount = -(std::int64_t{1} << 60)},
      {.what = What::crash, .at = {8}, .node = {1}, .amount = 2, .durable = false},
      {.what = What::jitter, .at = {8}, .node = {3}, .amount = 100},
      {.what = What::stall, .at = {9}, .node = {3}},
      {.what = What::flush, .at = {9}, .node = {3}},
      {.what = What::disk, .at = {0}, .amount = 5},
      {.what = What::lose, .node = {1}, .nth = 1},
      {.what = What::duplicate, .node = {1}, .amount = 5, .nth = 2},
      {.what = What::slow, .node = {1}, .amount = std::int64_t{1} << 60, .nth = 3},
      {.what = What::reorder, .node = {1}, .amount = 7, .nth = std::uint64_t{1} << 60},
  };
  const auto parsed = parse_script(to_json(script), members);
  ASSERT_TRUE(parsed) << parsed.error();
  ASSERT_EQ(parsed->size(), script.size());
  for (std::size_t i = 0; i < script.size(); ++i) EXPECT_EQ((*parsed)[i], script[i]) << to_json(script[i]);
  EXPECT_EQ(parse_script(to_json(Script{}), members), Script{});
}

TEST(Script, ReadsWell) {
  EXPECT_EQ(to_json(Action{.what = What::wish, .at = {5}, .node = {2}, .amount = 20}),
            R"({"do":"wish","at":5,"node":2,"hold":20})");
  EXPECT_EQ(to_json(Action{.what = What::partition, .cut = Cut::one_way, .group = {{1}, {2}}}),
            R"({"do":"partition","at":0,"cut":"one-way","group":[1,2]})");
}

TEST(Script, ACrashSaysWhatSurvivesOfWhatWasNotSynced) {
  const auto crash = [](const std::string& survivors) {
    return parse_script(one(R"({"do":"crash","at":1,"node":1,"unsynced_survives":)" + survivors + "}"),
                        members)
        ->front();
  };
  EXPECT_TRUE(crash("true").durable);
  EXPECT_FALSE(crash("false").durable);
  EXPECT_EQ(crash("false").amount, 0);
  EXPECT_FALSE(crash("3").durable);
  EXPECT_EQ(crash("3").amount, 3);
  EXPECT_EQ(refusal(R"({"do":"crash","at":1,"node":1,"unsynced_survives":-1})"),
            "action 1: \"unsynced_survives\" must be true, false, or how many writes do");
  EXPECT_EQ(refusal(R"({"do":"jitter","at":1,"node":1,"percent":101})"),
            "action 1: \"percent\" must lie between 0 and 100");
}

TEST(Script, SaysWhatAScriptIs) {
  const auto error = [](const std::string& text) { return parse_script(text, members).error(); };
  EXPECT_EQ(error(""), "the script is not JSON");
  EXPECT_EQ(error("{\"conclave-script\":1,"), "the script is not JSON");
  const std::string shape =
      "no \"conclave-script\": a script is {\"conclave-script\": 1, \"actions\": [ … ]}";
  EXPECT_EQ(error("[]"), shape);
  EXPECT_EQ(error("{}"), shape);
  EXPECT_EQ(error(R"({"conclave-script":2,"actions":[]})"), "script version 2; this program reads version 1");
  EXPECT_EQ(error(R"({"conclave-script":"1","actions":[]})"),
            "script version \"1\"; this program reads version 1");
  EXPECT_EQ(error(R"({"conclave-script":1})"), "no list \"actions\"");
  EXPECT_EQ(error(R"({"conclave-script":1,"actions":{}})"), "no list \"actions\"");
}

TEST(Script, SaysWhichActionIsWrongAndWhatWouldBeRight) {
  const std::string known =
      "; it must be one of wish, tell, crash, recover, pause, resume, partition, heal, drift, jump, jitter, "
      "stall, flush, disk, lose, duplicate, slow, reorder";
  EXPECT_EQ(refusal("7"), "action 1: not an object");
  EXPECT_EQ(refusal(R"({"at":1})"), "action 1: \"do\" is missing");
  EXPECT_EQ(refusal(R"({"do":"dance"})"), "action 1: \"do\" is \"dance\"" + known);
  EXPECT_EQ(refusal(R"({"do":3})"), "action 1: \"do\" is 3" + known);
  EXPECT_EQ(refusal(R"({"do":"heal"})"), "action 1: \"at\" is missing");
  EXPECT_EQ(refusal(R"({"do":"heal","at":-1})"), "action 1: \"at\" is no number of 0 or more");
  EXPECT_EQ(refusal(R"({"do":"heal","at":"1"})"), "action 1: \"at\" is no number of 0 or more");
  EXPECT_EQ(refusal(R"({"do":"heal","at":1},{"do":"heal"})"), "action 2: \"at\" is missing");
}

TEST(Script, RefusesNodesThatAreNoMembers) {
  EXPECT_EQ(refusal(R"({"do":"pause","at":1,"node":4})"), "action 1: 4 is no member; members are 1 to 3");
  EXPECT_EQ(refusal(R"({"do":"pause","at":1,"node":-1})"), "action 1: -1 is no member; members are 1 to 3");
  EXPECT_EQ(refusal(R"({"do":"pause","at":1,"node":"1"})"),
            "action 1: \"1\" is no member; members are 1 to 3");
  EXPECT_EQ(refusal(R"({"do":"pause","at":1})"), "action 1: \"node\" is missing");
  EXPECT_EQ(refusal(R"({"do":"tell","at":1,"node":1,"to":1})"),
            "action 1: a node does not tell itself anything");
}

TEST(Script, RefusesANodeThatWouldBeAMemberOnlyInThirtyTwoBits) {
  EXPECT_EQ(refusal(R"({"do":"pause","at":1,"node":4294967297})"),
            "action 1: 4294967297 is no member; members are 1 to 3");
}

TEST(Script, RefusesAmountsThatMakeNoSense) {
  EXPECT_EQ(refusal(R"({"do":"wish","at":1,"node":1})"), "action 1: \"hold\" is missing");
  EXPECT_EQ(refusal(R"({"do":"wish","at":1,"node":1,"hold":-2})"), "action 1: \"hold\" is negative");
  EXPECT_EQ(refusal(R"({"do":"wish","at":1,"node":1,"hold":1.5})"), "action 1: \"hold\" is no whole number");
  EXPECT_EQ(refusal(R"({"do":"drift","at":1,"node":1,"ppm":-1000000})"),
            "action 1: \"ppm\" must lie between -999999 and 1000000");
  EXPECT_EQ(refusal(R"({"do":"lose","node":1,"nth":0})"), "action 1: \"nth\" counts from 1");
  EXPECT_EQ(refusal(R"({"do":"slow","node":1,"nth":1,"by":-1})"), "action 1: \"by\" is negative");
}

TEST(Script, RefusesAnAmountThatDoesNotFit) {
  EXPECT_NE(refusal(R"({"do":"jump","at":1,"node":1,"by":18446744073709551615})"), "accepted");
}

TEST(Script, RefusesGroupsOfNobodyAndEverybody) {
  const std::string some = "action 1: \"group\" must be some members, not none or all";
  EXPECT_EQ(refusal(R"({"do":"partition","at":1,"group":[]})"), some);
  EXPECT_EQ(refusal(R"({"do":"partition","at":1,"group":[3,2,1]})"), some);
  EXPECT_EQ(refusal(R"({"do":"partition","at":1})"), "action 1: \"group\" is missing");
  EXPECT_EQ(refusal(R"({"do":"partition","at":1,"group":[9]})"),
            "action 1: 9 is no member; members are 1 to 3");
  EXPECT_EQ(refusal(R"({"do":"partition","at":1,"cut":"diagonal","group":[1]})"),
            "action 1: \"cut\" must be two-way, one-way or bridge");
  EXPECT_EQ(refusal(R"({"do":"partition","at":1,"cut":"bridge","group":[1]})"),
            "action 1: \"node\" is missing");
}

TEST(Script, RefusesAGroupThatIsNoList) {
  EXPECT_NE(refusal(R"({"do":"partition","at":1,"group":1})"), "accepted");
  EXPECT_NE(refusal(R"({"do":"partition","at":1,"group":{"a":1}})"), "accepted");
}

TEST(Script, RefusesFlagsThatAreNoFlags) {
  EXPECT_NE(refusal(R"({"do":"recover","at":1,"node":1,"durable":"yes"})"), "accepted");
  EXPECT_NE(refusal(R"({"do":"crash","at":1,"node":1,"forever":1})"), "accepted");
}

}  // namespace
}  // namespace conclave::sim
