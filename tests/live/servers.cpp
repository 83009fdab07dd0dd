#include "cluster/server.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "faulty_disk.hpp"
#include "left_behind.hpp"
#include "live/children.hpp"
#include "protocols/raft/raft.hpp"
#include "storage/starts.hpp"

namespace conclave::cluster {
namespace {

using namespace std::chrono_literals;

// Servers of one cluster, each with a disk, on one loop. Their machine is a list of words.
class Servers : public testing::Test {
 protected:
  struct One {
    std::unique_ptr<Server> server = {};
    std::vector<std::string> words = {};
    std::map<std::uint64_t, std::string> ours = {};  // of them, by what `propose` returned
    std::map<std::uint64_t, std::expected<NodeId, BookError>> answers = {};
    std::string unknown = {};  // a word that its version does not know
    std::set<std::uint64_t> skip = {};
    std::string stopped = {};
    std::string expelled = {};
    unsigned restored = 0;
    Bytes arriving = {};
  };

  Servers() {
    std::string path = testing::TempDir() + "servers-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    folder = path;
    const auto ports = live::free_ports(7).value();
    for (std::uint32_t id = 1; id <= 7; ++id) places.push_back({{id}, "127.0.0.1", ports[id - 1]});
  }
  ~Servers() override {
    storage::faulty::heal();
    all.clear();
    loop.restart();
    loop.poll();
    std::filesystem::remove_all(folder);
  }

  void open(std::uint32_t id, std::vector<live::Peer> members, bool join = false) {
    One& one = all[id];
    ServerOptions options = {.join = join,
                             .data = folder + "/" + std::to_string(id),
                             .heartbeat = 10ms,
                             .patience = patience,
                             .keep_entries = 0,
                             .skip = one.skip};
    options.links = {.self = {id}, .members = std::move(members), .group = "test", .algorithm = "raft"};
    options.links.key = "a key of this test";
    options.links.knock_after = 200ms;
    options.links.rest = 20ms;
    auto opened = Server::open(
        loop, options,
        {.acceptable = [](NodeId, const Payload& word) { return word.size() > 0 && word.bytes()[0] != '?'; },
         .state_comes =
             [&one](bool begins, std::span<const std::uint8_t> bytes) {
               if (begins) one.arriving.clear();
               one.arriving.insert(one.arriving.end(), bytes.begin(), bytes.end());
               return true;
             },
         .state_is_there =
             [&one](std::uint64_t, std::uint64_t) {
               return decode<std::vector<std::string>>(one.arriving).has_value();
             },
         .applied =
             [&one](std::uint64_t, std::uint64_t, const Payload& word, std::uint64_t mine) {
               std::string text(word.bytes().begin(), word.bytes().end());
               if (text.starts_with('!') || text == one.unknown) return std::string("no word");
               if (mine != 0) one.ours.emplace(mine, text);
               one.words.push_back(std::move(text));
               return std::string();
             },
         .stopped = [&one](const std::string& why) { one.stopped = why; },
         .restored =
             [&one](std::uint64_t, const Bulk& state) {
               one.words = decode<std::vector<std::string>>(state.whole().bytes()).value();
               ++one.restored;
             },
         .answered = [&one](std::uint64_t serial,
                            std::expected<NodeId, BookError> done) { one.answers.emplace(serial, done); },
         .expelled = [&one](const std::string& why) { one.expelled = why; }},
        [this](live::LogLevel, std::string_view line) { (said += line) += '\n'; });
    ASSERT_TRUE(opened) << opened.error();
    one.server = std::move(*opened);
  }
  void open_three() {
    const std::vector<live::Peer> three(places.begin(), places.begin() + 3);
    for (std::uint32_t id = 1; id <= 3; ++id) open(id, three);
    until([&] { return leader() && server(leader()).book().founded; });
  }
  void close(std::uint32_t id) {
    all.erase(id);
    loop.restart();
    loop.poll();
  }

  template <std::predicate Seen>
  void until(Seen&& seen) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!seen()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "waited in vain";
      loop.restart();
      loop.run_one_for(10ms);
    }
  }
  // The disk of one stands still until this was seen.
  template <std::predicate Seen>
  void while_disk_stands_still(std::uint32_t id, Seen&& seen) {
    storage::faulty::stall(folder + "/" + std::to_string(id));
    until(seen);
    EXPECT_TRUE(storage::faulty::stalls());
    storage::faulty::heal();
  }
  std::uint64_t propose(std::uint32_t at, const std::string& word) {
    return server(at).propose(payload(word));
  }
  bool has(std::uint32_t at, const std::string& word) {
    return std::ranges::count(all.at(at).words, word) > 0;
  }
  std::string data(std::uint32_t id) const { return folder + "/" + std::to_string(id); }
  Server& server(std::uint32_t id) { return *all.at(id).server; }
  // Whoever leads and can still be heard.
  std::uint32_t leader() {
    std::uint32_t found = 0;
    std::uint64_t term = 0;
    for (auto& [id, one] : all) {
      if (!one.server || !one.expelled.empty() || !one.server->leads() || one.server->term() < term) continue;
      found = id;
      term = one.server->term();
    }
    return found;
  }
  std::expected<NodeId, BookError> change(std::uint32_t at, const BookChange& change) {
    const std::uint64_t serial = server(at).change(change);
    until([&] { return all.at(at).answers.contains(serial); });
    return all.at(at).answers.at(serial);
  }
  void write(const std::string& word) {
    const std::uint32_t at = leader();
    propose(at, word);
    until([&] { return !all.at(at).words.empty() && all.at(at).words.back() == word; });
  }
  // A process with the key in the place of member 3, which says what it likes.
  struct Liar {
    std::unique_ptr<live::Links> links = {};
    void say(std::uint32_t to, const raft::Raft::Message& message) const {
      links->send({to}, live::bytes_of(encode(message)));
    }
  };
  Liar lie_as_three() {
    const std::vector<live::Peer> three(places.begin(), places.begin() + 3);
    live::LinkOptions options = {.self = {3},
                                 .members = three,
                                 .group = server(1).group(),
                                 .algorithm = "raft/3",
                                 .key = "a key of this test",
                                 .epoch = 77,
                                 .list = live::MemberList::changing};
    auto opened = live::Links::open(loop, options,
                                    {.message = [](NodeId, live::ByteView) {},
                                     .up = [](NodeId, std::uint64_t) {},
                                     .down = [](NodeId) {},
                                     .broken_promise = [](NodeId, const std::string&) {}},
                                    [](live::LogLevel, std::string_view) {});
    EXPECT_TRUE(opened) << opened.error();
    return {std::move(*opened)};
  }
  std::uint64_t objections(std::uint32_t at) { return server(at).status().peers.at({3}).link.objections; }
  void open_two_of_three() {
    const std::vector<live::Peer> three(places.begin(), places.begin() + 3);
    for (std::uint32_t id = 1; id <= 2; ++id) open(id, three);
    until([&] { return leader() && server(leader()).book().founded; });
  }

  bool votes(std::uint32_t id) { return leader() && server(leader()).book().voters.contains({id}); }

  boost::asio::io_context loop{1};
  std::string folder;
  std::chrono::milliseconds patience{100};
  std::vector<live::Peer> places;
  std::string said;  // by all
  std::map<std::uint32_t, One> all;
};

TEST_F(Servers, WriteDownWithWhomTheyBegin) {
  open_three();
  until([&] { return server(1).book() == server(3).book() && server(1).status().committed >= 4; });
  EXPECT_EQ(server(2).book().greatest, NodeId{3});
  EXPECT_EQ(server(2).book().find({1})->port, places[0].port);
  server(1).introduce("one", {"http://somewhere:1"});
  until([&] { return server(3).book().find({1})->name == "one"; });
  EXPECT_NE(server(3).book().find({1})->data, 0u);
}

TEST_F(Servers, TakeInANewcomerWhichVotesWhenItHasCaughtUp) {
  open_three();
  write("before");
  const auto follower = leader() == 1 ? 2u : 1u;
  ASSERT_EQ(change(follower, Enter{.host = "127.0.0.1", .port = places[3].port, .votes = true}), NodeId{4});
  until([&] { return server(leader()).book().learners.contains({4}); });
  open(4, {places[3]}, true);  // it knows nobody
  until([&] { return votes(4); });
  write("after");
  until([&] { return all.at(4).words == std::vector<std::string>{"before", "after"}; });
}

TEST_F(Servers, BringANewcomerASnapshotWithTheBook) {
  open_three();
  for (int i = 0; i < 20; ++i) write(std::to_string(i));
  const std::uint32_t lead = leader();
  Bytes state = server(lead).capture();
  const Bytes machine = encode(all.at(lead).words);
  state.insert(state.end(), machine.begin(), machine.end());
  server(lead).compact(Payload(state));
  ASSERT_TRUE(change(lead, Enter{.host = "127.0.0.1", .port = places[3].port}));
  open(4, {places[3]}, true);
  until([&] { return all.at(4).restored == 1 && all.at(4).words.size() == 20; });
  until([&] { return server(4).book() == server(lead).book(); });
}

TEST_F(Servers, ReplaceAMemberThatIsDead) {
  open_three();
  const std::uint32_t dead = leader() == 3 ? 2u : 3u;
  close(dead);
  write("without it");
  ASSERT_EQ(change(leader(), Enter{.host = "127.0.0.1", .port = places[3].port, .replaces = {dead}}),
            NodeId{4});
  open(4, {places[3]}, true);
  until([&] { return votes(4) && !server(leader()).book().contains({dead}); });
  EXPECT_EQ(server(leader()).book().voters.size(), 3u);
  open(dead, {places[0], places[1], places[2]});  // its disk knows nothing of that
  until([&] { return !all.at(dead).expelled.empty(); });
}

TEST_F(Servers, LetTheLeaderGo) {
  open_three();
  const std::uint32_t old = leader();
  ASSERT_TRUE(change(old, Leave{{old}}));
  until([&] { return leader() != 0 && leader() != old && !server(leader()).book().contains({old}); });
  until([&] { return !all.at(old).expelled.empty(); });
  write("goes on");
}

TEST_F(Servers, BelieveTheDiskAndNotTheCommandLine) {
  open_three();
  ASSERT_TRUE(change(leader(), Enter{.host = "127.0.0.1", .port = places[3].port, .votes = true}));
  open(4, {places[3]}, true);
  until([&] { return votes(4); });
  ASSERT_TRUE(change(leader(), Leave{{1}}));
  until([&] { return all.at(1).expelled.size() > 0 && votes(4) && !votes(1); });
  for (std::uint32_t id = 1; id <= 4; ++id) close(id);
  for (std::uint32_t id = 2; id <= 4; ++id) open(id, {places[0], places[id - 1]});
  until([&] { return leader() != 0 && server(leader()).book().founded; });
  EXPECT_EQ(server(leader()).book().voters, (NodeSet{{2}, {3}, {4}}));
  EXPECT_EQ(change(leader(), Enter{.host = "elsewhere", .port = 1}), NodeId{5});
}

TEST_F(Servers, RefuseAMemberWhoseDiskIsEmpty) {
  open_three();
  for (std::uint32_t id = 1; id <= 3; ++id) server(id).introduce("member", {});
  until([&] {
    return std::ranges::all_of(server(leader()).book().members,
                               [](const auto& one) { return one.second.data != 0; });
  });
  const std::uint32_t lost = leader() == 1 ? 2u : 1u;
  close(lost);
  std::filesystem::remove_all(folder + "/" + std::to_string(lost));
  open(lost, {places[0], places[1], places[2]});
  until([&] { return all.at(lost).expelled.contains("has lost its data"); });
}

TEST_F(Servers, RefuseAMemberWhoseDirectoryIsAnOlderCopy) {
  namespace fs = std::filesystem;
  patience = 1s;  // only a leader that heard it knows what the follower had
  open_three();
  const std::uint32_t follower = leader() == 3 ? 2 : 3;
  const std::string data = this->data(follower);
  const auto has = [&](const std::string& word) { return Servers::has(follower, word); };
  const std::vector<live::Peer> three(places.begin(), places.begin() + 3);
  write("early");
  until([&] { return has("early"); });
  close(follower);
  fs::copy(data, data + "-copy", fs::copy_options::recursive);
  open(follower, three);
  until([&] { return has("early"); });
  write("late");
  // It may apply what its own disk has yet to write; the leader counts it when it has.
  const auto is_known_to_have_it = [&] {
    const auto leading = server(leader()).status();
    return has("late") && leading.peers.at({follower}).match == leading.last_index;
  };
  until(is_known_to_have_it);
  // What it has comes back with it, and it is welcome …
  close(follower);
  open(follower, three);
  until(is_known_to_have_it);
  EXPECT_EQ(all.at(follower).expelled, "");
  // … unless it is less than it had.
  close(follower);
  fs::remove_all(data);
  fs::rename(data + "-copy", data);
  open(follower, three);
  until([&] { return !all.at(follower).expelled.empty(); });
  EXPECT_NE(all.at(follower).expelled.find("has lost its data"), std::string::npos);
}

// Alone, with commands of a process whose clock was in the year 2100.
TEST_F(Servers, GoOnAfterAProcessWhoseClockWasAhead) {
  const std::uint64_t then = 4'102'444'800'000'000;
  leave_behind(data(1), {{then, 0, payload("a")}, {then + 1, 0, payload("b")}});
  open(1, {places[0]});
  until([&] { return leader() == 1; });
  const std::uint64_t ours = propose(1, "c");
  until([&] { return all.at(1).ours.contains(ours); });
  EXPECT_EQ(all.at(1).words, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(all.at(1).ours, (std::map<std::uint64_t, std::string>{{ours, "c"}}));
}

// A clock that is set back, or says the same at each start: numbers of the log come again for who asks it.
TEST_F(Servers, AnswerOnlyWhatTheyProposedThemselves) {
  const auto now = std::chrono::system_clock::now().time_since_epoch() + 1s;
  const auto again =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  std::vector<log::Propose> earlier;
  for (std::uint64_t i = 1; i <= 40; ++i)
    earlier.push_back({again + i, 0, payload("old " + std::to_string(i))});
  leave_behind(data(1), earlier);
  open(1, {places[0]});
  std::map<std::uint64_t, std::string> asked;  // while the log is read again
  for (int i = 1; i <= 20; ++i) {
    const std::string word = "new " + std::to_string(i);
    asked.emplace(propose(1, word), word);
  }
  until([&] { return all.at(1).ours.size() >= 20; });
  EXPECT_EQ(all.at(1).ours, asked);
  EXPECT_EQ(all.at(1).words.size(), 60u);
  EXPECT_EQ(all.at(1).expelled, "");
}

TEST_F(Servers, NumberTheirCommandsAboveThoseOfEarlierProcesses) {
  std::uint64_t before = 0;
  for (int start = 1; start <= 3; ++start) {
    open(1, {places[0]});
    until([&] { return leader() == 1; });
    const std::uint64_t serial = propose(1, std::to_string(start));
    EXPECT_GT(serial, before + (1ull << 39));
    before = serial;
    until([&] { return all.at(1).ours.contains(serial); });
    close(1);
  }
  // Without the file, as in a directory of an earlier version, the log says enough.
  std::filesystem::remove(data(1) + "/" + storage::starts_file);
  open(1, {places[0]});
  until([&] { return leader() == 1; });
  const std::uint64_t serial = propose(1, "after it was lost");
  EXPECT_GT(serial, before);
  until([&] { return all.at(1).ours.contains(serial); });
}

// The log has it at every start: to end would be no way out.
TEST_F(Servers, StopAtAnEntryThatTheyCannotApply) {
  const std::uint64_t at = leave_behind(data(1), {{1, 0, payload("a")}, {2, 0, payload("!")}}) + 1;
  for (int start = 0; start < 2; ++start) {
    open(1, {places[0]});
    until([&] { return !all.at(1).stopped.empty(); });
    EXPECT_NE(all.at(1).stopped.find("--skip-entry " + std::to_string(at)), std::string::npos)
        << all.at(1).stopped;
    EXPECT_EQ(server(1).status().stopped_at, at);
    propose(1, "b");
    until([&] { return server(1).status().committed > at && server(1).status().open_proposals == 0; });
    EXPECT_EQ(all.at(1).words, std::vector<std::string>{"a"}) << "nothing is applied after it";
    close(1);
  }
  all[1].skip = {at};
  open(1, {places[0]});
  until([&] { return has(1, "b"); });
  EXPECT_EQ(all.at(1).words, (std::vector<std::string>{"a", "b", "b"}));
  EXPECT_EQ(all.at(1).stopped, "");
  EXPECT_EQ(server(1).status().stopped_at, 0u);
}

TEST_F(Servers, StopAtAChangeOfTheMembersThatTheyCannotRead) {
  const std::uint64_t at = leave_behind(data(1), {{1, 1, payload("nonsense")}, {2, 0, payload("a")}});
  open(1, {places[0]});
  until([&] { return server(1).status().stopped_at == at; });
  close(1);
  all[1].skip = {at};
  open(1, {places[0]});
  until([&] { return has(1, "a") && server(1).book().founded; });
}

// It would end no leases.
TEST_F(Servers, DoNotLeadWhileTheyApplyNothing) {
  open_three();
  const std::uint32_t old = leader();
  for (const std::uint32_t id : {old, old % 3 + 1}) all.at(id).unknown = "new";
  const std::uint32_t knows = 6 - old - (old % 3 + 1);
  propose(old, "new");
  until([&] { return has(knows, "new") && !all.at(old).stopped.empty() && leader() == knows; });
  propose(knows, "after");
  until([&] { return has(knows, "after"); });
  EXPECT_FALSE(has(old, "after"));
}

// Nobody leads any more who could remember what it had; but the log has what it said since, and it did not.
class OlderCopies : public Servers {
 protected:
  void put_back_an_older_copy_of_three() {
    namespace fs = std::filesystem;
    open_three();
    write("early");
    until([&] { return has(3, "early"); });
    close(3);
    fs::copy(data(3), data(3) + "-copy", fs::copy_options::recursive);
    open(3, {places[0], places[1], places[2]});
    until([&] { return has(3, "early"); });
    const std::uint64_t late = propose(3, "late");
    until([&] { return all.at(3).ours.contains(late) && has(1, "late") && has(2, "late"); });
    for (std::uint32_t id = 1; id <= 3; ++id) close(id);
    fs::remove_all(data(3));
    fs::rename(data(3) + "-copy", data(3));
  }
  void expect_expelled() {
    open(3, {places[0], places[1], places[2]});
    until([&] { return !all.at(3).expelled.empty(); });
    EXPECT_NE(all.at(3).expelled.find("commands under its name that it did not give"), std::string::npos)
        << all.at(3).expelled;
    EXPECT_TRUE(all.at(3).ours.empty());
  }
};

TEST_F(OlderCopies, FindCommandsThatTheyDidNotGive) {
  put_back_an_older_copy_of_three();
  for (std::uint32_t id = 1; id <= 2; ++id) open(id, {places[0], places[1], places[2]});
  until([&] { return leader() != 0; });
  expect_expelled();
}

TEST_F(OlderCopies, FindThemInASnapshot) {
  put_back_an_older_copy_of_three();
  for (std::uint32_t id = 1; id <= 2; ++id) open(id, {places[0], places[1], places[2]});
  until([&] { return leader() != 0 && has(leader(), "late"); });
  for (std::uint32_t id = 1; id <= 2; ++id) {
    until([&] { return has(id, "late"); });
    Bytes state = server(id).capture();
    const Bytes machine = encode(all.at(id).words);
    state.insert(state.end(), machine.begin(), machine.end());
    server(id).compact(Payload(state));
  }
  expect_expelled();
  EXPECT_EQ(all.at(3).restored, 1u);
}

TEST_F(Servers, FollowWhatTheOthersCommitWhileADiskStandsStill) {
  open_three();
  write("before");
  const std::uint32_t lead = leader();
  const std::uint32_t slow = lead == 1 ? 2u : 1u;
  until([&] { return all.at(slow).words.size() == 1; });
  int sent = 0;
  while_disk_stands_still(slow, [&] {
    if (sent < 3) propose(lead, std::to_string(++sent));  // more it gets only when it answers
    return all.at(slow).words.size() == 4;
  });
  write("after");
  until([&] { return all.at(slow).words.back() == "after"; });
  EXPECT_EQ(leader(), lead);
}

TEST_F(Servers, DeposeALeaderWhoseDiskStandsStill) {
  open_three();
  write("before");
  const std::uint32_t old = leader();
  bool sent = false;
  while_disk_stands_still(old, [&] {
    if (!std::exchange(sent, true)) propose(old, "meanwhile");
    return !server(old).leads() && leader() != 0 && leader() != old;
  });
  write("after");
  until([&] { return all.at(old).words == std::vector<std::string>{"before", "meanwhile", "after"}; });
}

TEST_F(Servers, SayThatADiskHasNoRoomAndThatItHasRoomAgain) {
  open(1, {places[0]});
  until([&] { return leader() && server(1).book().founded; });
  write("before");
  storage::faulty::fail(storage::faulty::Call::write, 1, 3, ENOSPC);
  propose(1, "after");
  until([&] { return said.find("event=disk_waits why=\"cannot write") != std::string::npos; });
  EXPECT_EQ(said.find("event=disk_goes_on"), std::string::npos);
  until([&] { return said.find("event=disk_goes_on") != std::string::npos; });
  until([&] { return all.at(1).words.back() == "after"; });
}

// Whatever is sent to leader and follower, they go on.
TEST_F(Servers, ObjectToWhatNobodySaysWhoKeepsTheRules) {
  open_two_of_three();
  const Liar liar = lie_as_three();
  const auto term = [&] { return raft::Term{server(leader()).term()}; };
  const auto huge = raft::Index{1ull << 40};
  using raft::Raft;
  const std::vector<std::function<Raft::Message()>> lies = {
      [&] { return raft::AppendReply{.term = term(), .matched = huge}; },
      [&] {
        return Raft::Append{.term = term(), .entries = {{{1ull << 50}, {}, {}}}};
      },
      [&] {
        return Raft::InstallSnapshot{.term = term(), .about = {.last = {term(), huge}}, .size = 1};
      },
      [&] { return raft::RequestVote{.term = {~0ull}}; },
      [&] {
        return Raft::Forward{.oldest = 1, .commands = {{{1}, 1, 0, {}}}};
      },
      [&] {
        return Raft::Forward{.oldest = 1, .commands = {{{3}, 1, 0, Payload(Bytes{'?'})}}};
      },
      [&] {
        return Raft::Forward{.oldest = 1, .commands = {{{3}, 1, 1, Payload(Bytes{0xff})}}};
      },
      [&] {
        return Raft::Forward{.oldest = 1, .commands = {{{3}, 1, 9, Payload(Bytes{'w'})}}};
      },
      [&] { return Raft::ForwardWish{log::Reconfigure{.voters = {{3}}}}; },
  };
  for (const auto& lie : lies) {
    const std::uint64_t before = objections(leader());
    until([&] {
      return server(leader()).status().peers.at({3}).link.state == live::LinkStatus::State::connected;
    });
    liar.say(leader(), lie());
    until([&] { return objections(leader()) > before; });
  }
  write("goes on");
  until([&] { return all.at(1).words == all.at(2).words; });
  EXPECT_EQ(all.at(1).words, std::vector<std::string>{"goes on"});
}

TEST_F(Servers, TakeNoStateThatTheyCannotRead) {
  open_two_of_three();
  const Liar liar = lie_as_three();
  write("before");
  const std::uint32_t follower = leader() == 1 ? 2 : 1;
  until([&] {
    return server(follower).status().peers.at({3}).link.state == live::LinkStatus::State::connected;
  });
  const raft::Term later = {server(leader()).term() + 5};
  const raft::Position last = {later, {1'000}};
  liar.say(follower,
           raft::Raft::InstallSnapshot{.term = later,
                                       .about = {.last = last, .configuration = {.voters = {{1}, {2}, {3}}}},
                                       .size = 3,
                                       .part = Payload(Bytes{1, 2, 3})});
  until([&] { return objections(follower) == 1; });
  EXPECT_EQ(all.at(follower).restored, 0u);
  write("after");
  until([&] { return all.at(follower).words == std::vector<std::string>{"before", "after"}; });
}

}  // namespace
}  // namespace conclave::cluster
