#include "trace/diagram.hpp"

#include <gtest/gtest.h>

namespace conclave::trace {
namespace {

const Header three_nodes = {.protocol = "ricart-agrawala",
                            .variant = "paper",
                            .world = "simulator",
                            .nodes = NodeSet::range({1}, 3),
                            .seed = 7};

Step command(std::uint64_t at, std::uint32_t node, std::string type, std::vector<Sent> sends = {}) {
  return {.at = {at},
          .kind = Kind::command,
          .node = NodeId{node},
          .input = {std::move(type), {}},
          .sends = std::move(sends)};
}

Step deliver(std::uint64_t at, std::uint32_t node, std::uint32_t from, std::uint64_t message, Item what,
             std::vector<Sent> sends = {}) {
  return {.at = {at},
          .kind = Kind::deliver,
          .node = NodeId{node},
          .from = NodeId{from},
          .message = message,
          .input = std::move(what),
          .sends = std::move(sends)};
}

Step befall(std::uint64_t at, std::uint32_t node, Kind kind) {
  return {.at = {at}, .kind = kind, .node = NodeId{node}};
}

Step granted(Step step, std::uint64_t fence) {
  step.events.push_back({"Granted", "{\"fence\":" + std::to_string(fence) + "}"});
  return step;
}

Step lose(std::uint64_t at, std::uint64_t message, std::string why) {
  return {.at = {at}, .kind = Kind::lose, .message = message, .input = {std::move(why), {}}};
}

// p2 asks p1 and p3, enters and leaves.
std::vector<Step> one_entry() {
  return {befall(0, 1, Kind::start),
          befall(0, 2, Kind::start),
          befall(0, 3, Kind::start),
          command(5, 2, "Acquire", {{{1}, 1, {"Request", {}}}, {{3}, 2, {"Request", {}}}}),
          deliver(9, 3, 2, 2, {"Request", "{\"counter\":1}"}, {{{2}, 3, {"Reply", {}}}}),
          deliver(12, 1, 2, 1, {"Request", "{\"counter\":1}"}, {{{2}, 4, {"Reply", {}}}}),
          deliver(17, 2, 3, 3, {"Reply", "{}"}),
          granted(deliver(20, 2, 1, 4, {"Reply", {}}), 14),
          {.at = {22}, .kind = Kind::tell, .node = NodeId{1}, .sends = {{{3}, 5, {"application", {}}}}},
          {.at = {30}, .kind = Kind::hear, .node = NodeId{3}, .from = NodeId{1}, .message = 5},
          command(104, 2, "Release")};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(DiagramAsText, DrawsAWholeRun) {
  EXPECT_EQ(draw_text(three_nodes, one_entry(), {}),
            "time  p1    p2    p3\n"
            "   5  │     ●     │     p2 asks to enter → Request to p1, p3\n"
            "   9  │     ├────▶●     p3 gets Request{counter 1} from p2 → Reply to p2\n"
            "  12  ●◀────┤     │     p1 gets Request{counter 1} from p2 → Reply to p2\n"
            "  17  │     ●◀────┤     p2 gets Reply from p3\n"
            "  20  ├────▶●     │     p2 gets Reply from p1, ENTERS (fence 14)\n"
            "  22  ●     ┃     │     p1 tells p3\n"
            "  30  ├╌╌╌╌╌╂╌╌╌╌▶●     p3 hears from p1\n"
            " 104  │     ●     │     p2 leaves\n");
}

TEST(DiagramAsText, PassesOverTheLanesBetween) {
  const std::vector<Step> steps = {deliver(1, 3, 1, 1, {"Go", {}}), deliver(2, 1, 3, 2, {"Back", {}})};
  const auto lines = lines_of(draw_text(three_nodes, steps, {}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], "   1  ├─────┼────▶●     p3 gets Go from p1");
  EXPECT_EQ(lines[2], "   2  ●◀────┼─────┤     p1 gets Back from p3");
}

TEST(DiagramAsText, ShowsWhoWaitsWhoIsInsideAndWhoIsGone) {
  const std::vector<Step> steps = {command(1, 1, "Acquire"),   granted(command(2, 2, "Acquire"), 3),
                                   befall(3, 3, Kind::pause),  befall(4, 3, Kind::resume),
                                   befall(5, 2, Kind::crash),  befall(6, 1, Kind::pause),
                                   befall(7, 2, Kind::recover)};
  const auto lines = lines_of(draw_text(three_nodes, steps, {}));
  EXPECT_EQ(lines[2], "   2  ┊     ●     │     p2 asks to enter, ENTERS (fence 3)");
  EXPECT_EQ(lines[3], "   3  ┊     ┃     ●     p3 stands still");
  EXPECT_EQ(lines[5], "   5  ┊     ✕     │     p2 crashes");
  EXPECT_EQ(lines[6], "   6  ●           │     p1 stands still");
  EXPECT_EQ(lines[7], "   7  ·     ○     │     p2 comes back");
}

TEST(DiagramAsText, SaysThatASecondProcessIsInside) {
  const std::vector<Step> steps = {granted(command(1, 1, "Acquire"), 1),
                                   granted(command(2, 3, "Acquire"), 2)};
  EXPECT_EQ(lines_of(draw_text(three_nodes, steps, {}))[2],
            "   2  ┃     │     ●     p3 asks to enter, ENTERS (fence 2) although p1 is inside");
}

TEST(DiagramAsText, EndsALostMessageBeforeItsReceiver) {
  const std::vector<Step> steps = {command(1, 1, "Acquire", {{{3}, 8, {"Request", {}}}}),
                                   lose(1, 8, "on the way")};
  EXPECT_EQ(lines_of(draw_text(three_nodes, steps, {}))[2],
            "   1  ├─────┼────✕│     Request from p1 to p3 is lost (on the way)");
}

TEST(DiagramAsText, DrawsARuleWhereLinksBreakAndHeal) {
  const std::vector<Step> steps = {
      {.at = {4},
       .kind = Kind::partition,
       .input = {"partition", R"({"do":"partition","at":4,"cut":"bridge","group":[2,3],"node":3})"}},
      {.at = {6}, .kind = Kind::heal, .input = {"all links", {}}}};
  const auto lines = lines_of(draw_text(three_nodes, steps, {}));
  EXPECT_EQ(lines[1], "   4  │═════│═════│     links cut between p2, p3 and the others; p3 reaches both");
  EXPECT_EQ(lines[2], "   6  │═════│═════│     links heal");
}

TEST(DiagramAsText, CutsWordsBetweenCharacters) {
  Step step = command(1, 1, "Acquire");
  step.notes = {"ääääääääääääääääääääääääääääääääääääääää"};
  const std::vector<std::string> expected = {
      "time  p1 p2 p3", "   1  ●  │  │  p1 asks to enter (äääääääääääääääääääääääääääää…"};
  EXPECT_EQ(lines_of(draw_text(three_nodes, {step}, {.width = 63})), expected);
}

TEST(DiagramAsText, FitsTheWidthInPlainCharacters) {
  Step step = command(1, 1, "Acquire", {{{2}, 1, {"Request", {}}}});
  step.notes = {"a remark that takes much more room than there is left"};
  const std::vector<std::string> expected = {
      "time  p1 p2 p3", "   1  *  |  |  p1 asks to enter -> Request to p2 (a remark t...",
      "   2  +->*  |  p2 gets Request from p1"};
  const TextStyle plain = {.width = 63, .ascii = true};
  EXPECT_EQ(lines_of(draw_text(three_nodes, {step, deliver(2, 2, 1, 1, {"Request", {}})}, plain)), expected);
}

TEST(DiagramAsText, KeepsControlCharactersFromTheTerminal) {
  Step step = command(1, 1, "Acquire");
  step.notes = {"a\x1b[2Jb\nc"};
  EXPECT_EQ(lines_of(draw_text(three_nodes, {step}, {}))[1],
            "   1  ●     │     │     p1 asks to enter (a [2Jb c)");
}

TEST(DiagramAsText, StopsAfterTheMostRows) {
  const auto lines = lines_of(draw_text(three_nodes, one_entry(), {.most_rows = 3}));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[4], "… 5 more steps");
}

TEST(DiagramAsText, ColoursOnlyWhenAsked) {
  EXPECT_EQ(draw_text(three_nodes, one_entry(), {}).find('\x1b'), std::string::npos);
  const std::string coloured = draw_text(three_nodes, one_entry(), {.colour = true});
  EXPECT_NE(coloured.find("\x1b[32mp2 gets Reply from p1, ENTERS (fence 14)\x1b[0m\n"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[2m├────▶\x1b[0m"), std::string::npos);
}

TEST(DiagramAsText, LetsLongNamesTakeTurns) {
  const Header many = {.nodes = NodeSet::range({8}, 20)};
  const auto lines = lines_of(draw_text(many, {}, {.width = 100}));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with("time  p8  p10 p12")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("        p9  p11 p13")) << lines[1];
}

TEST(DiagramAsText, RefusesMoreLanesThanFit) {
  const Header many = {.nodes = NodeSet::range({1}, 60)};
  EXPECT_EQ(draw_text(many, {}, {}),
            "60 processes do not fit 120 columns: draw an SVG, or run fewer nodes.\n");
}

TEST(DiagramAsText, FindsTheNodesThatTheHeaderLeavesOut) {
  EXPECT_EQ(lines_of(draw_text({}, one_entry(), {}))[0], "time  p1    p2    p3");
}

TEST(Words, GatherSendsOfOneType) {
  EXPECT_EQ(words(command(1, 1, "Acquire",
                          {{{2}, 1, {"Request", {}}}, {{4}, 2, {"Hint", {}}}, {{3}, 3, {"Request", {}}}})),
            "p1 asks to enter → Request to p2, p3; Hint to p4");
}

TEST(Words, SayAllOthersWhereTheRunIsKnown) {
  const Header five = {.nodes = NodeSet::range({1}, 5)};
  std::vector<Sent> sends;
  for (std::uint32_t to = 2; to <= 5; ++to) sends.push_back({{to}, to, {"Request", {}}});
  const Step step = command(1, 1, "Acquire", sends);
  EXPECT_NE(draw_text(five, {step}, {}).find("→ Request to all others"), std::string::npos);
  EXPECT_EQ(words(step), "p1 asks to enter → Request to p2–p5");
}

TEST(Words, LeaveOutLongContents) {
  const std::string text = R"({"text":")" + std::string(99, 'x') + R"("})";
  EXPECT_EQ(words(deliver(1, 1, 2, 1, {"Log", text})), "p1 gets Log{…} from p2");
  EXPECT_EQ(words(deliver(1, 1, 2, 1, {"Log", R"({"stamp":{"counter":3,"node":2},"set":[1,2]})"})),
            "p1 gets Log{stamp {counter 3, node 2}, set [1, 2]} from p2");
}

TEST(Words, NameALostMessageByItsNumberAlone) {
  EXPECT_EQ(words(lose(1, 8, "cut off")), "message 8 is lost (cut off)");
}

// Every tag closed in its order, no stray < or & in between: enough to catch what we could get wrong.
testing::AssertionResult well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size(); ++at) {
    if (xml[at] == '&' && xml.find(';', at) > at + 5)
      return testing::AssertionFailure() << "bare & at " << xml.substr(at, 20);
    if (xml[at] != '<') continue;
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos || xml.find('<', at + 1) < end)
      return testing::AssertionFailure() << "open tag " << xml.substr(at, 20);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1))
        return testing::AssertionFailure() << "unexpected <" << tag << ">";
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end;
  }
  if (!open.empty()) return testing::AssertionFailure() << "<" << open.back() << "> stays open";
  return testing::AssertionSuccess();
}

// The drawing without its style and legend, which hold a sample of everything.
std::string drawn(const Header& header, const std::vector<Step>& steps, const SvgStyle& style = {}) {
  const std::string svg = draw_svg(header, steps, style);
  const std::string last_sample = "links cut</text></g>\n";
  const std::size_t legend_end = svg.find(last_sample);
  EXPECT_NE(legend_end, std::string::npos);
  return svg.substr(legend_end + last_sample.size());
}

TEST(DiagramAsSvg, IsWellFormed) {
  auto steps = one_entry();
  steps.push_back(befall(105, 1, Kind::crash));
  steps.push_back(befall(106, 2, Kind::pause));
  steps.push_back(befall(107, 1, Kind::recover));
  EXPECT_TRUE(well_formed(draw_svg(three_nodes, steps, {})));
  EXPECT_TRUE(well_formed(draw_svg({}, {}, {})));
}

TEST(DiagramAsSvg, EscapesWhatOthersWrote) {
  const Header header = {.protocol = "<a> & 'b'", .nodes = NodeSet::range({1}, 2)};
  Step step = deliver(1, 1, 2, 1, {"Pair<int>", "{\"text\":\"a<b\\u0001&\"}"});
  step.notes = {"</title>"};
  const std::string svg = draw_svg(header, {step}, {});
  EXPECT_TRUE(well_formed(svg));
  EXPECT_NE(svg.find("&lt;a&gt; &amp; &apos;b&apos;"), std::string::npos);
  EXPECT_NE(svg.find("p1 gets Pair&lt;int&gt;{text a&lt;b?&amp;} from p2 (&lt;/title&gt;)"),
            std::string::npos);
}

TEST(DiagramAsSvg, JoinsEverySendToItsDelivery) {
  const std::string svg = drawn(three_nodes, one_entry());
  EXPECT_EQ(count(svg, "<line class='message'"), 4U);
  EXPECT_EQ(count(svg, "<line class='message application'"), 1U);
  EXPECT_NE(svg.find("<title>Request from p2 to p3 · t 5 to 9</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>Reply from p1 to p2 · t 12 to 20</title>"), std::string::npos);
  EXPECT_EQ(count(svg, "still under way"), 0U);
}

TEST(DiagramAsSvg, DrawsADuplicateTwice) {
  const std::vector<Step> steps = {command(1, 1, "Acquire", {{{2}, 1, {"Request", {}}}}),
                                   {.at = {1}, .kind = Kind::duplicate, .message = 1},
                                   deliver(3, 2, 1, 1, {"Request", {}}),
                                   deliver(8, 2, 1, 1, {"Request", {}})};
  EXPECT_EQ(count(drawn(three_nodes, steps), "<line class='message'"), 2U);
}

TEST(DiagramAsSvg, CrossesOutALostMessage) {
  const std::vector<Step> steps = {command(1, 1, "Acquire", {{{3}, 8, {"Request", {}}}}),
                                   lose(1, 8, "on the way")};
  const std::string svg = drawn(three_nodes, steps);
  EXPECT_EQ(count(svg, "<line class='message lost'"), 1U);
  EXPECT_EQ(count(svg, "<path class='cross'"), 1U);
  EXPECT_NE(svg.find("Request from p1 to p3 is lost (on the way)</title>"), std::string::npos);
}

TEST(DiagramAsSvg, LeavesAStubWhereAMessageIsUnderWay) {
  const std::vector<Step> steps = {command(1, 1, "Acquire", {{{3}, 8, {"Request", {}}}})};
  EXPECT_EQ(count(drawn(three_nodes, steps), "<line class='message pending'"), 1U);
}

TEST(DiagramAsSvg, BarsShowWaitingAndInside) {
  const std::string svg = drawn(three_nodes, one_entry());
  EXPECT_EQ(count(svg, "<rect class='waiting'"), 1U);
  EXPECT_EQ(count(svg, "<rect class='inside'"), 1U);
  EXPECT_EQ(count(svg, ">fence 14</text>"), 1U);
}

TEST(DiagramAsSvg, MarksASecondProcessInsideForAsLongAsItStays) {
  const std::vector<Step> steps = {granted(command(1, 1, "Acquire"), 1), granted(command(2, 3, "Acquire"), 2),
                                   befall(3, 3, Kind::pause), befall(4, 3, Kind::resume),
                                   command(5, 3, "Release")};
  const std::string svg = drawn(three_nodes, steps);
  EXPECT_EQ(count(svg, "<rect class='inside'"), 1U);
  EXPECT_EQ(count(svg, "<rect class='inside clash'"), 3U);
}

TEST(DiagramAsSvg, ShadesTheTimeOfAPartition) {
  const std::vector<Step> steps = {
      {.at = {4}, .kind = Kind::partition, .input = {"partition", R"({"cut":"one-way","group":[1]})"}},
      {.at = {6}, .kind = Kind::heal}};
  const std::string svg = drawn(three_nodes, steps);
  EXPECT_EQ(count(svg, "<rect class='band'"), 1U);
  EXPECT_NE(svg.find("links cut from p1 to the others"), std::string::npos);
}

TEST(DiagramAsSvg, TellsTheVectorClockOfAStep) {
  Step step = command(5, 2, "Acquire");
  step.number = 9;
  step.vector.counts = {{NodeId{1}, 3}, {NodeId{2}, 4}};
  EXPECT_NE(draw_svg(three_nodes, {step}, {})
                .find("<title>t 5 · step 9\np2 asks to enter\nvector clock p1:3 p2:4</title>"),
            std::string::npos);
}

TEST(DiagramAsSvg, SaysHowManyStepsItDraws) {
  const std::string svg = draw_svg(three_nodes, one_entry(), {.most_steps = 2});
  EXPECT_NE(svg.find("ricart-agrawala · paper · simulator · seed 7 · the first 2 of 8 steps"),
            std::string::npos);
}

TEST(DiagramAsSvg, LeavesOutTheTypesOfVeryManyMessages) {
  std::vector<Step> steps;
  for (std::uint64_t id = 1; id <= 151; ++id) {
    steps.push_back(command(id, 1, "Ping", {{{2}, id, {"Ping", {}}}}));
    steps.push_back(deliver(id, 2, 1, id, {"Ping", {}}));
  }
  EXPECT_EQ(count(drawn(three_nodes, steps), "class='type'"), 0U);
  steps.resize(20);
  EXPECT_EQ(count(drawn(three_nodes, steps), "class='type'"), 10U);
}

}  // namespace
}  // namespace conclave::trace
