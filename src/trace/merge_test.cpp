// Parts of runs: what the simulator did, taken apart as processes would have written it, and put together.
#include "trace/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "protocols/election/bully.hpp"
#include "protocols/mutex/central_server.hpp"
#include "protocols/mutex/lamport.hpp"
#include "protocols/mutex/token_ring.hpp"
#include "sim/world.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::trace {
namespace {

class Recorder : public Observer {
 public:
  void begin(const Header& header) override { run.header = header; }
  void see(const Step& step) override { run.steps.push_back(step); }
  void end(const End& end) override { run.end = end; }
  bool wants_contents() const override { return true; }
  trace::Run run;
};

template <class P>
trace::Run simulated(std::uint32_t nodes, std::uint64_t seed, const char* name) {
  Recorder recorder;
  sim::World<P> world({.nodes = nodes, .entries = 3, .chatter = 0, .seed = seed}, {}, &recorder);
  world.set_header({.protocol = name, .variant = "canonical", .world = "sim", .seed = seed});
  world.run();
  return recorder.run;
}

// As a scribe would have written it: steps counted per process, causes by the sender's count, clocks that go
// wrong by `skew` ticks per process.
std::string part_of(const trace::Run& run, NodeId node, const std::string& name = {},
                    std::uint64_t skew = 0) {
  std::map<std::uint64_t, std::uint64_t> local;  // number of a step: its number at its process
  std::map<NodeId, std::uint64_t> counts;
  for (const Step& step : run.steps) local[step.number] = ++counts[*step.node];
  std::ostringstream out;
  JsonWriter writer(out);
  Header header = run.header;
  header.node = node;
  header.run = name;
  writer.begin(header);
  for (Step step : run.steps) {
    if (step.node != node) continue;
    step.number = local[step.number];
    if (step.cause) step.cause = local[*step.cause];
    step.at.count += 1'000'000 + skew * node.value;
    writer.see(step);
  }
  writer.end({.at = {run.end.at.count + 1'000'000}, .quiet = run.end.quiet, .broken = run.end.broken});
  return out.str();
}

std::expected<std::vector<Part>, std::string> parts_in(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  return read_parts(in, file);
}

std::vector<Part> all_parts(const trace::Run& run, std::uint64_t skew = 0) {
  std::vector<Part> parts;
  for (NodeId node : run.header.nodes) {
    auto read = parts_in(part_of(run, node, {}, skew), "p" + std::to_string(node.value));
    EXPECT_TRUE(read) << read.error();
    if (read) parts.push_back(read->front());
  }
  return parts;
}

// What a process did, whatever the numbers of its steps and messages are.
std::string told(Step step) {
  step.number = 0;
  step.at = {};
  step.cause.reset();
  step.message.reset();
  for (Sent& sent : step.sends) sent.id = 0;
  return to_json(step);
}

void expect_equivalent(const trace::Run& run, const trace::Run& merged) {
  ASSERT_EQ(merged.steps.size(), run.steps.size());
  EXPECT_EQ(merged.end.quiet, run.end.quiet);
  std::map<NodeId, std::vector<std::string>> then;
  std::map<NodeId, std::vector<std::string>> now;
  for (const Step& step : run.steps) then[*step.node].push_back(told(step));
  for (const Step& step : merged.steps) now[*step.node].push_back(told(step));
  EXPECT_EQ(then, now) << "every process does the same in the same order, at the same logical times";

  std::map<std::uint64_t, std::uint64_t> sender;  // of each message
  Ticks last = {};
  for (std::size_t i = 0; i < merged.steps.size(); ++i) {
    const Step& step = merged.steps[i];
    EXPECT_EQ(step.number, i + 1);
    EXPECT_LE(last, step.at) << "time does not go back";
    last = step.at;
    if (step.message) {
      ASSERT_TRUE(sender.contains(*step.message)) << "nothing arrives before it is sent";
      EXPECT_EQ(step.cause, sender[*step.message]);
    }
    for (const Sent& sent : step.sends) EXPECT_TRUE(sender.emplace(sent.id, step.number).second);
    for (std::size_t j = i + 1; j < std::min(merged.steps.size(), i + 20); ++j)
      EXPECT_FALSE(merged.steps[j].vector.before(step.vector)) << "causes come first";
  }
}

std::vector<std::string> verdicts(const trace::Run& run) {
  MutexMonitor monitor(true);
  monitor.begin(run.header);
  for (const Step& step : run.steps) monitor.see(step);
  monitor.end(run.end);
  std::vector<std::string> list;
  for (const Verdict& verdict : monitor.verdicts())
    list.push_back(verdict.property + (verdict.holds ? " holds" : " is violated"));
  list.push_back(std::to_string(monitor.summary().entries.size()) + " entries");
  return list;
}

TEST(Merge, GivesTheSimulatedRunAgain) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto nodes = static_cast<std::uint32_t>(2 + seed % 5);
    for (const trace::Run& run : {simulated<mutex::Lamport>(nodes, seed, "lamport"),
                                  simulated<mutex::CentralServer>(nodes, seed, "central-server"),
                                  simulated<mutex::TokenRing>(nodes, seed, "token-ring"),
                                  simulated<election::Bully>(nodes, seed, "bully")}) {
      const auto merged = merge(all_parts(run));
      ASSERT_TRUE(merged) << merged.error();
      expect_equivalent(run, merged->run);
      EXPECT_TRUE(merged->remarks.empty()) << merged->remarks.front();
      if (run.header.protocol != "bully") {
        EXPECT_EQ(verdicts(run), verdicts(merged->run)) << run.header.protocol << " seed " << seed;
      }
    }
  }
}

TEST(Merge, OrdersByCausalityWhateverTheClocksSay) {
  const trace::Run run = simulated<mutex::Lamport>(4, 7, "lamport");
  const auto merged = merge(all_parts(run, 500));
  ASSERT_TRUE(merged) << merged.error();
  expect_equivalent(run, merged->run);
  ASSERT_EQ(merged->remarks.size(), 1u);
  EXPECT_TRUE(merged->remarks.front().starts_with("clocks disagree: ")) << merged->remarks.front();
}

TEST(Merge, DoesNotDependOnTheOrderOfTheFiles) {
  const trace::Run run = simulated<mutex::Lamport>(4, 7, "lamport");
  std::vector<Part> parts = all_parts(run);
  const auto text = [](const trace::Run& merged) {
    std::string out = to_json(merged.header);
    for (const Step& step : merged.steps) out += to_json(step);
    return out;
  };
  const std::string once = text(merge(parts)->run);
  std::ranges::reverse(parts);
  EXPECT_EQ(text(merge(parts)->run), once);
}

TEST(Merge, TakesRunsApartThatShareFiles) {
  const trace::Run one = simulated<mutex::Lamport>(3, 1, "lamport");
  const trace::Run two = simulated<mutex::Lamport>(3, 2, "lamport");
  std::vector<Part> first;
  std::vector<Part> second;
  for (NodeId node : one.header.nodes) {
    // The lines of both runs alternate.
    std::istringstream a(part_of(one, node, "printer@1"));
    std::istringstream b(part_of(two, node, "printer@2"));
    std::string file;
    std::string line;
    for (bool more = true; more;) {
      more = false;
      for (std::istringstream* in : {&a, &b}) {
        if (!std::getline(*in, line)) continue;
        file += line + "\n";
        more = true;
      }
    }
    const auto parts = parts_in(file, "m.jsonl");
    ASSERT_TRUE(parts) << parts.error();
    ASSERT_EQ(parts->size(), 2u);
    first.push_back(parts->at(0));
    second.push_back(parts->at(1));
  }
  expect_equivalent(one, merge(first)->run);
  expect_equivalent(two, merge(second)->run);
  EXPECT_FALSE(merge({first[0], second[1], first[2]})) << "parts of different runs";
}

TEST(Merge, SaysWhatIsMissing) {
  const trace::Run run = simulated<mutex::Lamport>(3, 5, "lamport");
  const std::vector<Part> parts = all_parts(run);
  const auto absent = merge({parts[0], parts[2]});
  ASSERT_TRUE(absent) << absent.error();
  ASSERT_EQ(absent->remarks.size(), 2u);
  EXPECT_EQ(absent->remarks[0], "no file tells what p2 did");
  EXPECT_TRUE(absent->remarks[1].ends_with("messages of p2 arrived, whose file is missing"));
  EXPECT_FALSE(absent->run.end.quiet);

  std::string killed = part_of(run, {2});
  killed.resize(killed.size() - 80);  // the end line, and some of the last step
  const auto torn = parts_in(killed, "p2.jsonl");
  ASSERT_TRUE(torn) << torn.error();
  EXPECT_NE(torn->front().torn, 0u);
  EXPECT_FALSE(torn->front().end);
  const auto merged = merge({parts[0], torn->front(), parts[2]}, NodeSet{NodeId{2}});
  ASSERT_TRUE(merged) << merged.error();
  EXPECT_TRUE(merged->remarks[0].ends_with("the last line is torn, and was left out"));
  EXPECT_TRUE(std::ranges::any_of(merged->run.steps, [](const Step& step) {
    return step.kind == Kind::crash && step.node == NodeId{2};
  })) << "who was killed has crashed";
}

TEST(Merge, RefusesGarbageWithItsPlace) {
  const trace::Run run = simulated<mutex::Lamport>(3, 5, "lamport");
  const std::string good = part_of(run, {2});
  const auto refused = [&](std::string text, const std::string& place) {
    const auto parts = parts_in(text, "p2.jsonl");
    std::string why;
    if (!parts) {
      why = parts.error();
    } else {
      std::vector<Part> all = all_parts(run);
      all[1] = parts->front();
      const auto merged = merge(all);
      why = merged ? "" : merged.error();
    }
    EXPECT_TRUE(why.starts_with(place)) << why << "\n" << place;
  };
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string text = good;
    const std::size_t place = text.find(what);
    EXPECT_NE(place, std::string::npos);
    return text.replace(place, what.size(), by);
  };
  refused("", "p2.jsonl: the file is empty");
  refused("garbage\n" + good, "p2.jsonl:1: ");
  refused(good + "garbage\n", "p2.jsonl:" + std::to_string(std::ranges::count(good, '\n') + 1));
  refused(replaced("\"step\":3", "\"step\":4"), "p2.jsonl:4: step 4 where 3 is due");
  refused(replaced("\"node\":2,\"kind\"", "\"node\":3,\"kind\""), "p2.jsonl:2: a step of p3");
  refused(replaced("\"vector\":{\"2\":1}", "\"vector\":{\"2\":2}"), "p2.jsonl:2: its clocks");
  refused(replaced("\"vector\":{\"2\":1}", "\"vector\":{\"2\":1,\"9\":1}"), "p2.jsonl:2: its clock knows p9");
  refused(replaced("\"lamport\":1", "\"lamport\":2"), "p2.jsonl:2: its clocks");
  refused(replaced("\"vector\":{\"2\":1}", "\"vector\":{\"2\":1},\"cause\":99"),
          "p2.jsonl:2: no earlier step of its process is its cause");
  refused(replaced(",\"node\":2}", "}"), "p2.jsonl:1: the header does not say whose part it is");
  refused(replaced("\"seed\":5", "\"seed\":6"), "p1 and p2.jsonl do not tell of the same run");
  refused(good.substr(good.find('\n') + 1), "p2.jsonl:1: no \"conclave-trace\" header");
  refused(part_of(run, {1}), "p1 and p2.jsonl are both what p1 wrote");
}

// Whatever is done to a file, reading and merging it ends in a trace or in a sentence.
TEST(Merge, SurvivesWhateverIsDoneToAFile) {
  const trace::Run run = simulated<mutex::Lamport>(3, 9, "lamport");
  const std::string good = part_of(run, {2});
  std::vector<Part> parts = all_parts(run);
  const Part whole = parts[1];
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::string text = good;
    const std::uint64_t place = scramble(i) % text.size();
    switch (scramble(i + 1000) % 3) {
      case 0: text[place] = static_cast<char>(scramble(i + 2000)); break;
      case 1: text.erase(place, 1 + scramble(i + 2000) % 50); break;
      default: text.insert(place, text.substr(scramble(i + 2000) % text.size(), 20)); break;
    }
    const auto read = parts_in(text, "p2.jsonl");
    if (!read) continue;
    parts[1] = read->front();
    const auto merged = merge(parts);
    if (merged) {
      EXPECT_LE(merged->run.steps.size(), run.steps.size());
    }
  }
}

}  // namespace
}  // namespace conclave::trace
