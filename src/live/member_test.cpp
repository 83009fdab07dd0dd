#include "live/member.hpp"

#include <gtest/gtest.h>

#include "live/children.hpp"
#include "live/process_of.hpp"
#include "protocols/election/bully.hpp"
#include "protocols/election/chang_roberts.hpp"
#include "protocols/mutex/central_server.hpp"
#include "protocols/mutex/ricart_agrawala.hpp"
#include "protocols/mutex/token_ring.hpp"

namespace conclave::live {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

template <Protocol P>
Engine engine(std::string name) {
  return {
      .name = std::move(name),
      .process = [](NodeId self, const NodeSet& members, Surroundings& around) -> std::unique_ptr<Process> {
        return std::make_unique<ProcessOf<P>>(self, members, typename P::Setup{}, around);
      }};
}

// Members on one loop, over real sockets.
struct Village {
  boost::asio::io_context loop{1};
  Engine engine;
  MemberOptions usual;
  std::map<NodeId, std::unique_ptr<Member>> members;
  std::vector<std::pair<NodeId, std::uint64_t>> grants;  // in the order in which they came
  std::map<NodeId, std::uint64_t> inside;
  std::map<NodeId, std::string> lost;
  std::map<NodeId, std::optional<NodeId>> leader;

  Village(Engine which, std::uint32_t size) : engine(std::move(which)) {
    usual.links.group = "village";
    usual.links.key = "secret";
    usual.links.heartbeat = 20ms;
    usual.links.down_after = 150ms;
    usual.links.redial_most = 50ms;
    const std::vector<std::uint16_t> ports = free_ports(size).value();
    for (std::uint32_t i = 1; i <= size; ++i) usual.links.members.push_back({{i}, "127.0.0.1", ports[i - 1]});
    for (std::uint32_t i = 1; i <= size; ++i) start({i});
  }

  void start(NodeId id) {
    MemberOptions options = usual;
    options.links.self = id;
    auto member = Member::open(loop, options, engine, [](LogLevel, std::string_view) {});
    ASSERT_TRUE(member) << member.error();
    members[id] = std::move(*member);
    members[id]->listen(
        {.granted =
             [this, id](const std::string&, std::uint64_t fence) {
               EXPECT_TRUE(inside.empty()) << "two members inside";
               EXPECT_TRUE(grants.empty() || fence > grants.back().second) << fence;
               grants.emplace_back(id, fence);
               inside[id] = fence;
             },
         .lost =
             [this, id](const std::string&, const std::string& why) {
               inside.erase(id);
               lost[id] = why;
             },
         .elected = [this, id](const std::string&, std::optional<NodeId> who) { leader[id] = who; }});
  }
  // What only looks like a member: it has the key, and says what it likes.
  std::unique_ptr<Links> stand_in(NodeId id, std::vector<Refusal>& objections) {
    LinkOptions options = usual.links;
    options.self = id;
    options.algorithm = engine.name;
    auto opened = Links::open(loop, options,
                              {.message = [](NodeId, ByteView) {},
                               .up = [](NodeId, std::uint64_t) {},
                               .down = [](NodeId) {},
                               .broken_promise = [](NodeId, const std::string&) {},
                               .turned_away = {}},
                              [&](LogLevel, std::string_view line) {
                                if (line.find("code=impossible") != std::string_view::npos)
                                  objections.push_back({RefusalCode::impossible, std::string(line)});
                              });
    EXPECT_TRUE(opened) << opened.error();
    return opened ? std::move(*opened) : nullptr;
  }
  void kill(NodeId id) {
    members.erase(id);
    inside.erase(id);
    leader.erase(id);
  }
  void release(NodeId id) {
    inside.erase(id);
    members[id]->release("door");
  }
  template <class Condition>
  bool until(Condition&& condition, std::chrono::milliseconds patience = 10s) {
    const auto end = Clock::now() + patience;
    while (!condition() && Clock::now() < end) loop.run_one_for(10ms);
    return condition();
  }
  void run_for(std::chrono::milliseconds time) {
    until([] { return false; }, time);
  }
  NameStatus door(NodeId id) {
    for (const NameStatus& name : members[id]->status().names) {
      if (name.name == "door") return name;
    }
    return {};
  }
  // All members take this one for the leader.
  bool agreed(std::uint32_t id) const {
    return std::ranges::all_of(members, [&](auto& m) { return m.second->leader("king") == NodeId{id}; });
  }
  // Everybody asks again and again until this many grants have been seen.
  bool contend(std::size_t entries) {
    std::map<NodeId, bool> asked;
    return until([&] {
      for (auto& [id, member] : members) {
        if (inside.contains(id)) {
          release(id);
          asked[id] = false;
        }
        if (!asked[id] && grants.size() < entries) {
          asked[id] = true;
          member->acquire("door");
        }
      }
      return grants.size() >= entries && std::ranges::none_of(asked, [](auto& a) { return a.second; });
    });
  }
};

TEST(Member, GrantsALockToOneAtATime) {
  Village village(engine<mutex::RicartAgrawala>("ricart-agrawala"), 3);
  EXPECT_TRUE(village.contend(300)) << village.grants.size();
  for (std::uint32_t i = 1; i <= 3; ++i)
    EXPECT_GT(std::ranges::count(village.grants, NodeId{i}, &std::pair<NodeId, std::uint64_t>::first), 50);
}

TEST(Member, AServerRunsBesideTheGreatestMember) {
  Village village(engine<mutex::CentralServer>("central-server"), 3);
  EXPECT_TRUE(village.contend(300)) << village.grants.size();
}

TEST(Member, BlocksSafelyAndSaysForWhom) {
  Village village(engine<mutex::RicartAgrawala>("ricart-agrawala"), 3);
  ASSERT_TRUE(village.contend(6));
  village.kill({3});
  village.members[{1}]->acquire("door");
  village.run_for(400ms);
  EXPECT_TRUE(village.inside.empty());
  const NameStatus status = village.door({1});
  EXPECT_EQ(status.waits_for, std::vector{NodeId{3}});
  EXPECT_EQ(status.words, "waits for member 3, which is down");
  // The same member comes back as a new process, and the request that waited is served.
  village.start({3});
  EXPECT_TRUE(village.until([&] { return village.inside.contains({1}); })) << village.door({1}).words;
}

TEST(Member, GoesOnWithoutAnEvictedMember) {
  Village village(engine<mutex::RicartAgrawala>("ricart-agrawala"), 3);
  ASSERT_TRUE(village.contend(6));
  EXPECT_EQ(village.members[{1}]->evict({3}, 0).error(),
            "member 3 answers; stop its process before you evict it");
  village.kill({3});
  village.members[{1}]->acquire("door");
  ASSERT_TRUE(village.until([&] { return !village.members[{1}]->status().members[2].up; }));
  ASSERT_TRUE(village.members[{1}]->evict({3}, 0).has_value());
  EXPECT_TRUE(village.until([&] { return village.inside.contains({1}); })) << village.door({1}).words;
  EXPECT_FALSE(village.members[{1}]->evict({2}, 0).has_value()) << "one of three is no majority";
  village.release({1});
  // It comes back and counts again.
  village.start({3});
  EXPECT_TRUE(village.until([&] { return village.members[{1}]->status().members[2].up; }));
  village.members[{3}]->acquire("door");
  EXPECT_TRUE(village.until([&] { return village.inside.contains({3}); })) << village.door({3}).words;
}

TEST(Member, ARestartWhileSomebodyIsInsideWaitsForHim) {
  Village village(engine<mutex::RicartAgrawala>("ricart-agrawala"), 3);
  village.members[{1}]->acquire("door");
  ASSERT_TRUE(village.until([&] { return village.inside.contains({1}); }));
  village.kill({2});
  village.run_for(50ms);
  village.start({2});
  village.members[{2}]->acquire("door");
  village.run_for(500ms);
  EXPECT_EQ(village.grants.size(), 1u);
  village.release({1});
  EXPECT_TRUE(village.until([&] { return village.inside.contains({2}); })) << village.door({2}).words;
}

TEST(Member, WaitsOutTheLeasesOfAMemberThatDied) {
  Village village(engine<mutex::RicartAgrawala>("ricart-agrawala"), 3);
  bool known = false;
  village.members[{3}]->acquire("door");
  ASSERT_TRUE(village.until([&] { return village.inside.contains({3}); }));
  village.members[{3}]->promise_longest_lease(1500ms, [&] { known = true; });
  ASSERT_TRUE(village.until([&] { return known; }));
  const auto death = Clock::now();
  village.kill({3});
  village.run_for(50ms);
  village.start({3});
  village.members[{2}]->acquire("door");
  EXPECT_TRUE(village.until([&] { return village.inside.contains({2}); })) << village.door({2}).words;
  EXPECT_GE(Clock::now() - death, 1400ms);
}

TEST(Member, ALostTokenIsMadeAnewByTheOthers) {
  Engine ring = engine<mutex::TokenRing>("token-ring");
  ring.regenerates = true;
  Village village(ring, 3);
  village.members[{2}]->acquire("door");
  ASSERT_TRUE(village.until([&] { return village.inside.contains({2}); }));
  village.kill({2});  // with the token
  village.members[{1}]->acquire("door");
  EXPECT_TRUE(village.until([&] { return village.inside.contains({1}); })) << village.door({1}).words;
}

TEST(Member, OfTwoThatDoNotHearEachOtherOneStepsBack) {
  Engine ring = engine<mutex::TokenRing>("token-ring");
  ring.regenerates = true;
  Village village(ring, 3);
  village.members.clear();
  const auto whole = village.usual.links.via;
  for (std::uint32_t i : {2u, 3u}) village.start({i});
  village.usual.links.via[{2}] = {"127.0.0.1", free_ports(1).value()[0]};
  village.start({1});
  village.members[{1}]->acquire("door");
  village.members[{2}]->acquire("door");
  ASSERT_TRUE(village.until([&] { return village.inside.contains({2}); })) << village.door({2}).words;
  EXPECT_TRUE(village.members[{3}]->status().members[0].evicted);
  village.release({2});
  village.run_for(500ms);
  EXPECT_FALSE(village.inside.contains({1})) << "it came back although 2 does not hear it";
  EXPECT_EQ(village.door({1}).words, "this member was left out");
  EXPECT_EQ(village.members[{1}]->status().notes,
            std::vector<std::string>{
                "this member was left out, and comes back when it hears member 2, whom others hear"});
  // Another process in its place, with a whole link, serves again.
  village.kill({1});
  village.usual.links.via = whole;
  village.start({1});
  village.members[{1}]->acquire("door");
  EXPECT_TRUE(village.until([&] { return village.inside.contains({1}); })) << village.door({1}).words;
}

// A peer whose words the test chooses.
struct Puppet {
  std::unique_ptr<Links> links;
  Bytes word;
  std::size_t heard = 0;  // messages of the algorithm

  Puppet(Village& village, NodeId id) {
    LinkOptions options = village.usual.links;
    options.self = id;
    options.algorithm = village.engine.name;
    auto opened = Links::open(village.loop, options,
                              {.message =
                                   [this](NodeId, ByteView bytes) {
                                     heard += bytes.front() == static_cast<std::byte>(WordKind::inner);
                                   },
                               .up = [](NodeId, std::uint64_t) {},
                               .down = [](NodeId) {},
                               .broken_promise = [](NodeId, const std::string&) {},
                               .drained = {}},
                              [](LogLevel, std::string_view) {});
    EXPECT_TRUE(opened) << opened.error();
    links = std::move(*opened);
  }
  void ready(NodeId to, const Epoch& epoch, const NodeSet& members) {
    write_word(word, WordKind::ready, ReadyHead{"door", epoch, members, false});
    links->send(to, std::as_bytes(std::span(word)));
  }
  template <class Message>
  void say(NodeId to, const Epoch& epoch, const Message& message) {
    write_word(word, WordKind::inner, InnerHead{"door", epoch, false, {}});
    encode(message, word);
    links->send(to, std::as_bytes(std::span(word)));
  }
};

TEST(Member, WhatBelongsToAnEpochThatNeverBeganIsNotTakenForTheNext) {
  using Token = mutex::TokenRing::Message;
  Village village(engine<mutex::TokenRing>("token-ring"), 3);
  village.members.clear();
  village.usual.first_epoch = 100;
  village.start({3});
  Puppet one(village, {1});
  Puppet two(village, {2});
  const NodeSet all = NodeSet::range({1}, 3);
  const Epoch first = {200, {1}};
  const Epoch second = {203, {1}};
  one.ready({3}, first, all);
  ASSERT_TRUE(village.until([&] { return village.door({3}).phase == "gathering"; }));
  two.say({3}, first,
          Token{mutex::TokenRing::Token{mutex::Fence{5}, 0}});  // it began, and knows more than we
  village.run_for(50ms);
  one.ready({3}, second, all);
  two.ready({3}, second, all);
  ASSERT_TRUE(village.until([&] { return village.door({3}).phase == "idle"; })) << village.door({3}).phase;
  village.members[{3}]->acquire("door");
  village.run_for(200ms);
  EXPECT_TRUE(village.inside.empty()) << "a token of another epoch let it in";
  EXPECT_EQ(one.heard, 0u) << "a token of another epoch was passed on";
  two.say({3}, second, Token{mutex::TokenRing::Token{mutex::Fence{7}, 0}});
  EXPECT_TRUE(village.until([&] { return village.inside.contains({3}); }));
  EXPECT_EQ(village.inside[{3}], (second.counter << 20) + 8);
}

TEST(Member, ForgetsNamesThatNobodyWantsAndRemembersTheirFences) {
  Village village(engine<mutex::RicartAgrawala>("ricart-agrawala"), 3);
  village.members.clear();
  village.usual.forget_after = 200ms;
  for (std::uint32_t i = 1; i <= 3; ++i) village.start({i});
  ASSERT_TRUE(village.contend(9));
  EXPECT_TRUE(village.until([&] {
    return std::ranges::all_of(village.members, [](auto& m) { return m.second->status().names.empty(); });
  }));
  EXPECT_TRUE(village.contend(18));  // fences are compared there
}

TEST(Member, AnElectionFollowsTheLiving) {
  Engine ring = engine<election::ChangRoberts>("chang-roberts");
  ring.elects = true;
  Village village(ring, 3);
  village.members[{1}]->take_part("king");
  EXPECT_TRUE(village.until([&] { return village.agreed(3); }));
  village.kill({3});
  EXPECT_TRUE(village.until([&] { return village.agreed(2); }));
  village.start({3});
  EXPECT_TRUE(village.until([&] { return village.agreed(3); }));
}

TEST(Member, ItsEndIsNobodysNews) {
  Engine ring = engine<election::ChangRoberts>("chang-roberts");
  ring.elects = true;
  Village village(ring, 2);
  village.members[{1}]->take_part("king");
  EXPECT_TRUE(village.until([&] { return village.agreed(2); }));
  village.leader.clear();
  village.members.clear();
  EXPECT_TRUE(village.leader.empty()) << "somebody who was taken down told of the election's end";
}

TEST(Member, BullyLooksAfterItself) {
  Engine bully = engine<election::Bully>("bully");
  bully.elects = true;
  bully.in_epochs = false;
  Village village(bully, 3);
  for (auto& [id, member] : village.members) member->take_part("king");
  EXPECT_TRUE(village.until([&] { return village.agreed(3); }));
  village.kill({3});
  EXPECT_TRUE(village.until([&] { return village.agreed(2); }));
  village.start({3});
  EXPECT_TRUE(village.until([&] { return village.agreed(3); }))
      << "the greatest takes over when it comes back";
}

// Whoever has the key may break an algorithm by a lie that can be read; what cannot be read does not get so
// far.
TEST(Member, WhatCannotBeReadEndsTheLinkAndNotTheProcess) {
  const std::vector<std::string> words = {"",
                                          "\x63",
                                          "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                          "\x02x",
                                          "\x03",
                                          "\x05\x01\x63\x01\x01\x01",
                                          "\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                          "\x08",
                                          "\x09\x01\x63\x01\x63\x01"};
  for (const std::string& word : words) {
    Village village(engine<mutex::RicartAgrawala>("ricart-agrawala"), 3);
    village.kill({3});
    std::vector<Refusal> objections;
    const auto links = village.stand_in({3}, objections);
    links->send({1}, bytes_of(word));
    EXPECT_TRUE(village.until([&] { return !objections.empty(); })) << word.size();
    EXPECT_EQ(village.members.size(), 2u);
  }
}

}  // namespace
}  // namespace conclave::live
