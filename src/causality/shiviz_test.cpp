#include "causality/shiviz.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "causality/clock_text.hpp"
#include "causality/log.hpp"
#include "causality/pattern.hpp"
#include "causality/question.hpp"

namespace conclave::causality {
namespace {

struct Read {
  LogSummary summary;
  std::vector<std::unique_ptr<Execution>> executions;
  std::string error;

  const Execution& only() const { return *executions.at(0); }
};

Read read(const std::string& text, LogOptions options = {}) {
  std::istringstream in(text);
  Collector collector;
  auto summary = read_log(in, {}, options, collector);
  if (!summary) return {.error = summary.error()};
  return {.summary = *summary, .executions = collector.finish(), .error = {}};
}

constexpr const char* usual =
    "a {\"a\":1}\nsends\n"
    "b {\"b\":1, \"a\":1}\nreceives\n"
    "b {\"a\":1, \"b\":2}\nrests\n";

TEST(Shiviz, TheUsualFormIsTwoLinesPerEvent) {
  const Read log = read(usual);
  ASSERT_EQ(log.error, "");
  EXPECT_EQ(log.summary.form, "two lines per event, the clock first");
  EXPECT_EQ(log.only().names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(log.only().history.events(), 3u);
  EXPECT_FALSE(log.only().history.flaw());
  EXPECT_EQ(log.only().text({1, 1}), "receives");
  EXPECT_EQ(log.only().history.line({1, 2}), 5u);
  EXPECT_TRUE(log.only().history.happened_before({0, 1}, {1, 2}));
}

TEST(Shiviz, WordsMayComeBeforeTheClockOrBehindItOrNotAtAll) {
  const Read before = read("sends\na {\"a\":1}\n\nreceives\nb {\"b\":1,\"a\":1}\n");
  EXPECT_EQ(before.summary.form, "two lines per event, the clock last");
  EXPECT_EQ(before.only().text({1, 1}), "receives");
  const Read behind = read("17 a {\"a\":1} sends\n18 b {\"b\":1,\"a\":1} receives\n");
  EXPECT_EQ(behind.summary.form, "one line per event");
  EXPECT_EQ(behind.only().text({1, 1}), "receives");
  const Read none = read("a {\"a\":1}\nb {\"b\":1,\"a\":1}\n");
  EXPECT_EQ(none.only().history.events(), 2u);
}

TEST(Shiviz, AHeadlineIsSkipped) {
  const Read log = read("my run\na {\"a\":1}\nstarts\na {\"a\":2}\nends\n");
  EXPECT_EQ(log.summary.form, "two lines per event, the clock first");
  EXPECT_EQ(log.summary.skipped, 1u);
  EXPECT_EQ(log.only().text({0, 2}), "ends");
}

TEST(Shiviz, WordsMayLookLikeAClock) {
  const Read log = read("a {\"a\":1}\nputs {\"b\":7\na {\"a\":2}\nputs {\"b\":7}\n");
  ASSERT_EQ(log.error, "");
  EXPECT_EQ(log.only().names.size(), 1u);
  EXPECT_EQ(log.only().history.events(), 2u);
}

TEST(Shiviz, TheFirstTwoLinesMaySayHowToReadTheRest) {
  const Read log = read(
      "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n^=== (?<trace>.*) ===$\n=== one ===\na {\"a\":1}\nx\n"
      "=== two ===\nb {\"b\":1}\ny\nb {\"b\":2}\nz\n");
  ASSERT_EQ(log.error, "");
  ASSERT_EQ(log.executions.size(), 2u);
  EXPECT_EQ(log.executions[0]->label, "one");
  EXPECT_EQ(log.executions[1]->label, "two");
  EXPECT_EQ(log.executions[1]->names, (std::vector<std::string>{"b"}));
  EXPECT_EQ(log.executions[1]->history.events(), 2u);
}

TEST(Shiviz, AnyOtherFormHasARegularExpression) {
  const LogOptions one_line = {.regex = R"(^\[\w+\] \[user/(?<host>\w+)\] (?<clock>.*\}) (?<event>.*))"};
  const Read log = read(
      "[INFO] [user/a] {\"a\" : 1} sends\n[WARN] nothing\n[INFO] [user/b] {\"a\" : 1, \"b\" : 1} receives\n",
      one_line);
  ASSERT_EQ(log.error, "");
  EXPECT_EQ(log.summary.skipped, 1u);
  EXPECT_EQ(log.only().text({1, 1}), "receives");
  EXPECT_EQ(log.only().history.line({1, 1}), 3u);

  const LogOptions several_lines = {
      .regex = R"re(^State \d+: <(?<event>.*)>\nHost = (?<host>\w+)\nClock = "(?<clock>.*)")re"};
  const Read states = read(
      "hello\nState 1: <Init>\nx = 0\nState 2: <Send>\nHost = a\nClock = \"{\\\"a\\\":1,\\\"b\\\":0}\"\nx = "
      "1\n",
      several_lines);
  ASSERT_EQ(states.error, "");
  EXPECT_EQ(states.only().text({0, 1}), "Send");
  EXPECT_EQ(states.only().history.line({0, 1}), 6u);
}

TEST(Shiviz, TheUsualFormByExpressionReadsTheSame) {
  // A group more, so that the expression is really used.
  const Read slow = read(usual, {.regex = R"((?<host>\S*) (?<clock>{.*})(?<rest>)\n(?<event>.*))"});
  ASSERT_EQ(slow.error, "");
  EXPECT_EQ(slow.summary.form, "by regular expression");
  EXPECT_EQ(slow.only().history.events(), 3u);
  EXPECT_EQ(slow.only().text({1, 1}), "receives");
  EXPECT_EQ(slow.only().history.line({1, 2}), 5u);
}

TEST(Shiviz, BadInputIsNamedByItsLine) {
  const std::string start = "a {\"a\":1}\nstarts\n";
  EXPECT_EQ(read("").error, "the file is empty");
  EXPECT_EQ(read(std::string("a\0b", 3)).error, "binary, not a log");
  EXPECT_EQ(read("\x1f\x8b\x08").error, "compressed; unpack it first, with gunzip");
  EXPECT_TRUE(read("hello\nworld\n").error.starts_with("no line looks like host"));
  EXPECT_EQ(read(start + "a {\"a\":2\nx\n").error, "line 3: broken clock: it is cut off, in {\"a\":2");
  EXPECT_EQ(read(start + "a {\"a\":-2}\nx\n").error,
            "line 3: broken clock: a count of 0 or more was expected, in {\"a\":-2}");
  EXPECT_EQ(read(start + "a {\"a\":4294967296}\nx\n").error,
            "line 3: broken clock: a count is larger than 4294967295, in {\"a\":4294967296}");
  EXPECT_EQ(read(start + "a {\"a\":2, \"a\":3}\nx\n").error, "line 3: the clock names host 'a' twice");
  EXPECT_TRUE(read(start + "b {\"a\":2}\nx\n")
                  .error.starts_with("line 3: the clock has no entry for its own host 'b'"));
  EXPECT_EQ(read("x\n", {.regex = "(?<host>"}).error.substr(0, 35), "'(?<host>' is no regular expression");
  EXPECT_EQ(read("x\n", {.regex = "(?<host>.)"}).error, "the regular expression has no group (?<clock>…)");
  EXPECT_EQ(read(start, {.regex = "(?<host>q)(?<clock>q)(?<event>q)"}).error,
            "the regular expression matches nothing in the file");
}

TEST(Shiviz, LimitsHoldMemoryDown) {
  LogOptions options;
  options.limits.hosts = 2;
  EXPECT_EQ(read("a {\"a\":1, \"b\":1, \"c\":1}\nx\n", options).error, "line 1: more than 2 hosts");
  options.limits.line = 1000;
  const Read log = read("a {\"a\":1}\nx\na {\"a\":2}\n" + std::string(1 << 20, 'x') + "\n", options);
  EXPECT_EQ(log.error, "line 4: longer than 1000 bytes");
  EXPECT_EQ(read(fmt::format("{:a>300} {{\"b\":1}}\nx\n", "")).error,
            "line 1: the name of a host is longer than 256 bytes");
}

TEST(Shiviz, WhatIsWrittenReadsTheSame) {
  const Read log = read(usual);
  std::ostringstream out;
  std::istringstream in(usual);
  ShivizWriter writer(out);
  ASSERT_TRUE(read_log(in, {}, {}, writer));
  writer.finish();
  const Read again = read(out.str());
  ASSERT_EQ(again.error, "");
  EXPECT_EQ(again.only().names, log.only().names);
  EXPECT_EQ(again.only().texts, log.only().texts);
  EXPECT_EQ(again.only().history.concurrent_pairs(), log.only().history.concurrent_pairs());
}

TEST(ClockText, NamesMayBeEscaped) {
  ClockText clock(R"({"a\"b\u0041" : 3,"c":0} rest)");
  ASSERT_TRUE(clock.next());
  EXPECT_EQ(clock.name(), "a\"bA");
  EXPECT_EQ(clock.count(), 3u);
  ASSERT_TRUE(clock.next());
  EXPECT_FALSE(clock.next());
  EXPECT_FALSE(clock.failed());
  EXPECT_EQ(clock.length(), 24u);
}

TEST(Pattern, BracesThatRepeatNothingAreThemselves) {
  auto pattern = Pattern::parse(R"((?<clock>{.*}) x{2} [{}])");
  ASSERT_TRUE(pattern) << pattern.error();
  const auto match = pattern->search("{\"a\":1} xx {", 0);
  ASSERT_TRUE(match && *match);
  EXPECT_EQ(pattern->group("clock"), "{\"a\":1}");
}

TEST(Question, WhatDoesNotExistIsSaid) {
  const Read log = read(usual);
  const Execution& execution = log.only();
  EXPECT_EQ(*parse_event("b.2", execution), (EventId{1, 2}));
  EXPECT_EQ(*parse_event("b:2", execution), (EventId{1, 2}));
  EXPECT_EQ(parse_event("b.3", execution).error(), "b has 2 events; there is no b.3");
  EXPECT_EQ(parse_event("b.0", execution).error(), "b has 2 events; there is no b.0");
  EXPECT_EQ(parse_event("b", execution).error(), "'b' should be host.number");
  EXPECT_EQ(parse_event("zebra.1", execution).error(), "there is no host 'zebra'; there are a, b");
  EXPECT_EQ(parse_event("bb.1", execution).error(), "there is no host 'bb'; did you mean 'b'?");
  EXPECT_EQ(*parse_cut("b=1", execution), (Cut{0, 1}));
  EXPECT_EQ(parse_cut("a=1,a=1", execution).error(), "'a=1,a=1' names a twice");
  EXPECT_EQ(parse_cut("a=1,", execution).error(), "'' should be host=number");
  EXPECT_EQ(to_text(Cut{1, 2}, execution), "a=1,b=2");
}

TEST(Drawable, AJoinedLogIsDrawnInCausalOrder) {
  const Read log = read("b {\"b\":1, \"a\":1}\nreceives\na {\"a\":1}\nsends\n");
  const Drawable drawn = drawable(log.only(), "x");
  ASSERT_EQ(drawn.steps.size(), 2u);
  EXPECT_EQ(drawn.steps[0].input.type, "sends");
  ASSERT_EQ(drawn.steps[0].sends.size(), 1u);
  EXPECT_EQ(drawn.steps[1].message, drawn.steps[0].sends[0].id);
}

}  // namespace
}  // namespace conclave::causality
