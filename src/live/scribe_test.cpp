// Two processes write their parts of one run.
#include "live/scribe.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "protocols/mutex/ricart_agrawala.hpp"
#include "trace/json.hpp"
#include "trace/tee.hpp"

namespace conclave::live {
namespace {

using P = mutex::RicartAgrawala;

Ticks same_moment() { return {77}; }

trace::Header header(std::string run = {}) {
  return {.protocol = "ricart-agrawala",
          .variant = "canonical",
          .world = "live",
          .nodes = NodeSet::range({1}, 2),
          .run = std::move(run)};
}

struct One {
  NodeId self;
  trace::Keeper kept{100};
  Scribe<P> scribe{header(), self, kept, same_moment};
  P node = {};
  Effects<P> out = {};

  explicit One(NodeId id) : self(id) {
    scribe.start(node, out, [&] { node = P::start(self, NodeSet::range({1}, 2), {}, out); });
  }
  void acquire() {
    scribe.command(node, out, mutex::Acquire{}, [&] { node.on_command(out, mutex::Acquire{}); });
  }
  void deliver(NodeId from, const P::Message& message, const std::optional<Stamp>& stamp) {
    scribe.deliver(node, out, from, message, stamp, [&] {
      visit_in_place(message, [&](const auto& which) { node.on_message(out, from, which); });
    });
  }
  const trace::Step& last() const { return kept.steps().back(); }
};

TEST(Scribe, TellsStepsAsEveryWorldDoes) {
  One one({1});
  One two({2});
  EXPECT_EQ(one.last().kind, trace::Kind::start);
  EXPECT_EQ(one.last().changed, describe_json(one.node)) << "a start shows the whole state";
  one.acquire();
  ASSERT_EQ(one.out.sends.size(), 1u);
  EXPECT_EQ(one.last().number, 2u);
  EXPECT_EQ(one.last().at, Ticks{77});
  EXPECT_EQ(one.last().input.type, "Acquire");
  const Stamp stamp = one.scribe.stamp(0);
  EXPECT_EQ(stamp.vector[{1}], 2u);

  two.deliver({1}, one.out.sends[0].message, stamp);
  EXPECT_EQ(two.last().kind, trace::Kind::deliver);
  EXPECT_EQ(two.last().cause, 2u) << "the sender's number of the step";
  EXPECT_EQ(two.last().message, stamp.message);
  EXPECT_EQ(two.last().from, NodeId{1});
  EXPECT_EQ(two.last().lamport, 3u);
  EXPECT_EQ(two.last().vector[{1}], 2u);
  EXPECT_EQ(two.last().vector[{2}], 2u);
  ASSERT_EQ(two.last().sends.size(), 1u);
  EXPECT_EQ(two.last().sends[0].what.type, "Reply");
  EXPECT_NE(two.last().sends[0].id, stamp.message);

  one.deliver({2}, two.out.sends[0].message, two.scribe.stamp(0));
  ASSERT_EQ(one.last().events.size(), 1u);
  EXPECT_EQ(one.last().events[0].type, "Granted");
}

TEST(Scribe, NumbersNoTwoMessagesAlike) {
  std::set<std::uint64_t> seen;
  for (const std::uint32_t id : {1u, 2u}) {
    One one({id});
    one.acquire();
    EXPECT_TRUE(seen.insert(one.scribe.stamp(0).message).second);
  }
}

TEST(Scribe, ShowsAMessageOfSomebodyWhoDoesNotTrace) {
  One two({2});
  two.deliver({1}, P::Request{1}, std::nullopt);
  EXPECT_EQ(two.last().from, NodeId{1});
  EXPECT_FALSE(two.last().message);
  EXPECT_FALSE(two.last().cause);
}

TEST(Scribe, ShowsTheStepThatBreaksARule) {
  One two({2});
  EXPECT_THROW(two.scribe.command(two.node, two.out, mutex::Release{},
                                  [&] { two.node.on_command(two.out, mutex::Release{}); }),
               InvariantViolation);
  EXPECT_EQ(two.last().input.type, "Release");
}

TEST(Scribe, ReadsTheStampsOfItsPeersAndNoOthers) {
  One one({1});
  One two({2});
  one.acquire();
  const Stamp good = one.scribe.stamp(0);
  EXPECT_EQ(two.scribe.read_stamp({1}, encode(good)), good);

  const auto refuses = [&](Stamp stamp, const char* why) {
    EXPECT_FALSE(two.scribe.read_stamp({1}, encode(stamp))) << why;
  };
  Stamp bad = good;
  bad.vector.counts[{9}] = 1;
  refuses(bad, "a stranger");
  bad = good;
  bad.vector.counts[{2}] = 5;
  refuses(bad, "more steps of ours than we took");
  bad = good;
  bad.vector.counts.erase(NodeId{1});
  refuses(bad, "nothing of the sender");
  bad = good;
  bad.vector.counts[{1}] = UINT64_MAX;
  refuses(bad, "a count that would overflow");
  bad = good;
  bad.lamport = 100;
  refuses(bad, "a Lamport clock ahead of all steps");
  bad = good;
  bad.message ^= 1;
  refuses(bad, "a number of ours");
  Bytes bytes = encode(good);
  bytes.push_back(0);
  EXPECT_FALSE(two.scribe.read_stamp({1}, bytes));
  bytes.resize(bytes.size() - 2);
  EXPECT_FALSE(two.scribe.read_stamp({1}, bytes));
}

TEST(Scribe, WritesSeveralRunsToOneFile) {
  std::ostringstream file;
  trace::JsonWriter writers[] = {trace::JsonWriter(file), trace::JsonWriter(file)};
  Notebook first(header(run_name("printer", 3)), {2}, writers[0], same_moment);
  Notebook second(header(run_name("a b\n", 1)), {2}, writers[1], same_moment);
  second.end(true);
  first.end(false, "a belief");
  EXPECT_EQ(file.str(),
            R"({"run":"printer@3","conclave-trace":1,"protocol":"ricart-agrawala","variant":"canonical",)"
            R"("world":"live","nodes":[1,2],"seed":0,"node":2})"
            "\n"
            R"({"run":"a%20b%0a@1","conclave-trace":1,"protocol":"ricart-agrawala","variant":"canonical",)"
            R"("world":"live","nodes":[1,2],"seed":0,"node":2})"
            "\n"
            R"({"run":"a%20b%0a@1","end":0,"t":77,"quiet":true})"
            "\n"
            R"({"run":"printer@3","end":0,"t":77,"quiet":false,"broken":"a belief"})"
            "\n");
}

}  // namespace
}  // namespace conclave::live
