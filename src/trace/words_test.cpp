#include "trace/words.hpp"

#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

constexpr NodeId p1 = {1}, p2 = {2};
const Header header = {.nodes = {p1, p2}};

TEST(Words, TellWhatEveryStepDid) {
  const std::vector<Step> steps = {
      {.number = 1, .kind = Kind::start, .node = p1},
      {.number = 2, .kind = Kind::start, .node = p2},
      {.number = 3,
       .kind = Kind::command,
       .node = p1,
       .input = {"Acquire", {}},
       .sends = {{p2, 1, {"Request", {}}}}},
      {.number = 4, .kind = Kind::lose, .message = 1, .input = {"on the way", {}}},
      {.number = 5, .kind = Kind::timer, .node = p2, .input = {"again", {}}},
      {.number = 6, .kind = Kind::round, .node = p2, .input = {"4", {}}},
      {.number = 7, .kind = Kind::access, .node = p1, .input = {"read", R"({"register":"k","value":2})"}},
      {.number = 8, .kind = Kind::bounce, .node = p1, .from = p2, .input = {"Request", {}}},
  };
  EXPECT_EQ(as_lines(in_words(header, steps)),
            "3  p1 asks to enter → Request to p2\n"
            "4  Request from p1 to p2 is lost (on the way)\n"
            "5  p2 is woken by timer again\n"
            "6  p2 begins round 4\n"
            "7  p1 reads k = 2\n"
            "8  p1 gets Request back\n");
}

TEST(Words, SayWhoWasInsideWhenSomebodyEntered) {
  const auto enters = [](std::uint64_t number, NodeId node) {
    return Step{.number = number,
                .kind = Kind::deliver,
                .node = node,
                .from = p1,
                .input = {"Reply", {}},
                .events = {{"Granted", R"({"fence":7})"}}};
  };
  const auto sentences = in_words(header, {enters(1, p2), enters(2, p1)});
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].text, "p2 gets Reply from p1, ENTERS (fence 7)");
  EXPECT_EQ(sentences[1].text, "p1 gets Reply from p1, ENTERS (fence 7) although p2 is inside");
}

TEST(Words, DoNotSteerTheTerminal) { EXPECT_EQ(as_lines({{12, "p1\x1b[2J says\n"}}), "12  p1 [2J says \n"); }

}  // namespace
}  // namespace conclave::trace
