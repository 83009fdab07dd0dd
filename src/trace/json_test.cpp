#include "trace/json.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace conclave::trace {
namespace {

const Header header = {
    .protocol = "lamport", .variant = "plain", .world = "sim", .nodes = {{1}, {2}}, .seed = 7};

Step full_step() {
  return {.number = 3,
          .at = {40},
          .kind = Kind::deliver,
          .node = NodeId{2},
          .lamport = 9,
          .vector = {{{NodeId{1}, 4}, {NodeId{2}, 5}}},
          .cause = 1,
          .from = NodeId{1},
          .message = 11,
          .input = {"Request", R"({"counter":1})"},
          .sends = {{{1}, 12, {"Ack", R"({"counter":2})"}}, {{2}, 13, {"Nothing", ""}}},
          .events = {{"Granted", R"({"fence":5})"}, {"Queued", ""}},
          .notes = {"because", "a \"second\" one\n"},
          .changed = R"({"clock":9})"};
}

std::string write(const std::vector<Step>& steps) {
  std::ostringstream out;
  JsonWriter writer(out);
  writer.begin(header);
  for (const Step& step : steps) writer.see(step);
  writer.end({.at = {50}, .quiet = true, .broken = {}});
  return out.str();
}

std::expected<Run, std::string> read_text(const std::string& text) {
  std::istringstream in(text);
  return read(in);
}

std::string refusal(const std::string& text) {
  const auto run = read_text(text);
  return run ? "accepted" : run.error();
}

const std::string first_line = to_json(header) + "\n";
const std::string end_line = to_json(End{}, 0) + "\n";

TEST(TraceJson, AStepComesBack) {
  const auto run = read_text(write({full_step()}));
  ASSERT_TRUE(run) << run.error();
  ASSERT_EQ(run->steps.size(), 1u);
  const Step& step = run->steps[0];
  const Step expected = full_step();
  EXPECT_EQ(step.number, 3u);
  EXPECT_EQ(step.at, Ticks{40});
  EXPECT_EQ(step.kind, Kind::deliver);
  EXPECT_EQ(step.node, NodeId{2});
  EXPECT_EQ(step.lamport, 9u);
  EXPECT_EQ(step.vector, expected.vector);
  EXPECT_EQ(step.cause, 1u);
  EXPECT_EQ(step.from, NodeId{1});
  EXPECT_EQ(step.message, 11u);
  EXPECT_EQ(step.input.type, "Request");
  EXPECT_EQ(step.input.content, expected.input.content);
  ASSERT_EQ(step.sends.size(), 2u);
  EXPECT_EQ(step.sends[0].to, NodeId{1});
  EXPECT_EQ(step.sends[0].id, 12u);
  EXPECT_EQ(step.sends[0].what.content, expected.sends[0].what.content);
  ASSERT_EQ(step.events.size(), 2u);
  EXPECT_EQ(step.events[0].content, expected.events[0].content);
  EXPECT_EQ(step.notes, expected.notes);
  EXPECT_EQ(step.changed, expected.changed);
  EXPECT_EQ(to_json(step), to_json(expected));
}

TEST(TraceJson, EveryKindComesBack) {
  std::vector<Step> steps;
  for (int kind = 0; kind <= static_cast<int>(Kind::duplicate); ++kind)
    steps.push_back(
        {.number = static_cast<std::uint64_t>(kind), .kind = static_cast<Kind>(kind), .node = NodeId{1}});
  const auto run = read_text(write(steps));
  ASSERT_TRUE(run) << run.error();
  ASSERT_EQ(run->steps.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(run->steps[i].kind, steps[i].kind);
}

TEST(TraceJson, FieldsStayInTheOrderInWhichTheyWereWritten) {
  Step step = full_step();
  step.input.content = R"({"z":1,"a":2})";
  step.changed = R"({"voted_for":1,"awaiting":[2]})";
  const auto run = read_text(write({step}));
  ASSERT_TRUE(run) << run.error();
  EXPECT_EQ(run->steps[0].input.content, step.input.content);
  EXPECT_EQ(run->steps[0].changed, step.changed);
}

TEST(TraceJson, HeaderAndEndComeBack) {
  const auto run = read_text(first_line + R"({"end":0,"t":50,"quiet":true,"broken":"a \"belief\""})");
  ASSERT_TRUE(run) << run.error();
  EXPECT_EQ(run->header.protocol, "lamport");
  EXPECT_EQ(run->header.variant, "plain");
  EXPECT_EQ(run->header.world, "sim");
  EXPECT_EQ(run->header.nodes, header.nodes);
  EXPECT_EQ(run->header.seed, 7u);
  EXPECT_EQ(run->end.at, Ticks{50});
  EXPECT_TRUE(run->end.quiet);
  EXPECT_EQ(run->end.broken, "a \"belief\"");
}

TEST(TraceJson, ReadsAsDocumented) {
  EXPECT_EQ(
      to_json(header),
      R"({"conclave-trace":1,"protocol":"lamport","variant":"plain","world":"sim","nodes":[1,2],"seed":7})");
  EXPECT_EQ(to_json(full_step()),
            R"({"step":3,"t":40,"node":2,"kind":"deliver","lamport":9,"vector":{"1":4,"2":5},"cause":1,)"
            R"("input":{"type":"Request","content":{"counter":1},"from":1,"message":11},)"
            R"("sends":[{"to":1,"type":"Ack","content":{"counter":2},"message":12},)"
            R"({"to":2,"type":"Nothing","message":13}],)"
            R"("events":[{"type":"Granted","content":{"fence":5}},{"type":"Queued"}],)"
            R"("notes":["because","a \"second\" one\u000a"],"state":{"clock":9}})");
}

TEST(TraceJson, RefusesATruncatedFile) {
  const std::string whole = write({full_step(), full_step()});
  const std::string without_end = whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1);
  EXPECT_EQ(refusal(without_end), "truncated: 2 steps and no end line");
  EXPECT_EQ(refusal(without_end.substr(0, without_end.size() - 5)),
            "line 3: not a JSON object; the file may be cut off or no trace at all");
  EXPECT_EQ(refusal(""), "the file is empty");
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    EXPECT_NE(refusal(whole.substr(0, size)), "accepted") << "cut off after " << size << " bytes";
}

TEST(TraceJson, RefusesWhatIsNoTrace) {
  EXPECT_EQ(refusal("hello"), "line 1: not a JSON object; the file may be cut off or no trace at all");
  EXPECT_EQ(refusal("[1]\n"), "line 1: not a JSON object; the file may be cut off or no trace at all");
  EXPECT_EQ(refusal("{}\n"), "line 1: no \"conclave-trace\" header: this is not a conclave trace");
  EXPECT_EQ(refusal(to_json(full_step())),
            "line 1: no \"conclave-trace\" header: this is not a conclave trace");
  EXPECT_EQ(refusal(R"({"conclave-trace":2})"), "line 1: format version 2; this program reads version 1");
}

TEST(TraceJson, NamesTheLineThatIsWrong) {
  EXPECT_EQ(refusal(first_line + "garbage\n"),
            "line 2: not a JSON object; the file may be cut off or no trace at all");
  EXPECT_EQ(refusal(first_line + R"({"step":1,"t":1,"kind":"dance"})"), "line 2: unknown kind \"dance\"");
  EXPECT_EQ(refusal(first_line + end_line + to_json(full_step())),
            "line 3: the trace goes on after its end line");
  EXPECT_EQ(refusal(first_line + to_json(full_step()) + "\n" + end_line),
            "line 3: the end line counts 0 steps, the file has 1");
}

TEST(TraceJson, NamesTheLineOfEveryWrongOrMissingField) {
  for (const std::string line :
       {R"({"step":1})", R"({"step":1,"t":1})", R"({"step":"1","t":1,"kind":"start"})",
        R"({"step":1,"t":1,"kind":7})", R"({"step":1,"t":1,"kind":"start","vector":{"one":1}})",
        R"({"step":1,"t":1,"kind":"deliver","input":{}})",
        R"({"step":1,"t":1,"kind":"deliver","sends":[{}]})",
        R"({"step":1,"t":1,"kind":"deliver","notes":[1]})", R"({"end":0})"})
    EXPECT_TRUE(refusal(first_line + line).starts_with("line 2: ")) << line;
  EXPECT_TRUE(refusal(R"({"conclave-trace":1})").starts_with("line 1: "));
}

TEST(TraceJson, SaysInWordsThatAVectorNamesNoNode) {
  EXPECT_EQ(refusal(first_line + R"({"step":1,"t":1,"kind":"start","vector":{"one":1}})").find("stoul"),
            std::string::npos);
}

TEST(TraceJson, RefusesNumbersThatDoNotFit) {
  for (const std::string line :
       {R"({"step":-1,"t":1,"kind":"start"})", R"({"step":1.5,"t":1,"kind":"start"})",
        R"({"step":1,"t":1,"kind":"start","node":4294967297})",
        R"({"step":1,"t":1,"kind":"start","vector":{"-1":1}})",
        R"({"step":1,"t":1,"kind":"start","vector":{"1x":1}})",
        R"({"step":1,"t":1,"kind":"start","vector":[1]})"})
    EXPECT_TRUE(refusal(first_line + line + "\n" + R"({"end":1,"t":1,"quiet":true})").starts_with("line 2: "))
        << line;
}

TEST(TraceJson, TheWorldMayBeWithoutAName) {
  const auto run =
      read_text(R"({"conclave-trace":1,"protocol":"p","variant":"","world":"","nodes":[1],"seed":1})"
                "\n" +
                end_line);
  EXPECT_TRUE(run) << run.error();
}

}  // namespace
}  // namespace conclave::trace
