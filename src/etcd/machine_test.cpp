#include "etcd/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <concepts>
#include <filesystem>
#include <list>
#include <map>
#include <set>
#include <thread>

#include "live/children.hpp"

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;

// One member alone, with a directory of its own that outlives it.
class Machines : public testing::Test {
 protected:
  Machines() {
    std::string path = testing::TempDir() + "machine-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    folder = path;
    options.server.data = folder + "/data";
    options.server.patience = 50ms;
    options.server.heartbeat = 10ms;
    options.server.links = {.self = {1},
                            .members = {{{1}, "127.0.0.1", live::free_ports(1).value()[0]}},
                            .group = "test",
                            .algorithm = "raft"};
  }
  ~Machines() override {
    stop();
    std::filesystem::remove_all(folder);
  }

  void open() {
    auto opened = Machine::open(
        loop, options, [this](Machine::End, const std::string& why) { failure = why; },
        [](live::LogLevel, std::string_view) {});
    ASSERT_TRUE(opened) << opened.error();
    machine = std::move(*opened);
    machine->listen({.changed = {}, .restored = {}});
  }
  void stop() {
    machine.reset();
    loop.restart();
    loop.poll();
  }

  template <std::predicate Seen>
  void until(Seen&& seen) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!seen()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "waited in vain";
      loop.restart();
      loop.run_one_for(10ms);
    }
  }
  Machine::Outcome run(const kv::Command& command) {
    std::optional<Machine::Outcome> answer;
    machine->propose(command, [&](Machine::Outcome outcome) { answer = std::move(outcome); });
    EXPECT_FALSE(answer) << "nobody is called before propose has returned";
    until([&] { return answer.has_value(); });
    return answer ? std::move(*answer) : std::unexpected(timed_out);
  }
  std::string value_of(std::string_view key) {
    const auto found = machine->store().range({.key = key});
    return found && !found->kvs.empty() ? std::string(found->kvs[0]->value()) : "";
  }
  void put(std::string_view key, std::string_view value) {
    EXPECT_TRUE(run(kv::Put{.key = key, .value = value}));
  }

  boost::asio::io_context loop{1};
  std::string folder;
  MachineOptions options = {};
  std::unique_ptr<Machine> machine;
  std::string failure;
};

TEST_F(Machines, AnswersWhenTheCommandWasApplied) {
  open();
  const auto first = run(kv::Put{.key = "a", .value = "1"});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->revision, 2);
  EXPECT_EQ(value_of("a"), "1");
  const auto refused = run(kv::Put{.key = "a", .value = "2", .lease = 77});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), (rpc::Status{rpc::Code::not_found, "etcdserver: requested lease not found"}));
  EXPECT_EQ(run(kv::Put{}).error().message, "etcdserver: key is not provided");
}

TEST_F(Machines, KnowsAfterARestartWhatItAcknowledged) {
  open();
  for (int i = 0; i < 20; ++i) put("k" + std::to_string(i), std::to_string(i));
  const auto digest = machine->store().digest();
  stop();
  open();
  until([&] { return value_of("k19") == "19"; });
  EXPECT_EQ(machine->store().digest(), digest);
}

TEST_F(Machines, BeginsWithTheSnapshotThatItWrote) {
  options.snapshot_entries = 10;
  options.snapshot_piece = 64;
  options.server.keep_entries = 2;
  open();
  for (int i = 0; i < 35; ++i) put("k" + std::to_string(i), std::to_string(i));
  until([&] { return machine->stats().snapshots >= 3 && machine->server().status().snapshot_index >= 30; });
  const auto digest = machine->store().digest();
  stop();
  open();
  EXPECT_EQ(machine->stats().restored, 1u);
  until([&] { return value_of("k34") == "34"; });
  EXPECT_EQ(machine->store().digest(), digest);
  EXPECT_EQ(failure, "");
}

// What a command costs does not grow with the store.
TEST_F(Machines, WritesItsStateWhenTheLogHasGrownToAPartOfIt) {
  options.snapshot_bytes = 20'000;
  options.snapshot_part = 1;
  options.server.keep_entries = 0;
  open();
  const std::string value(1'000, 'v');
  const auto put_many = [&](int count) {
    for (int i = 0; i < count; ++i) put("k" + std::to_string(i), value);
    until([&] { return machine->stats().snapshots == 0 || machine->server().status().snapshot_index > 0; });
  };
  put_many(400);
  const auto while_young = machine->stats().snapshots;
  EXPECT_GE(while_young, 3u) << "the store was small";
  EXPECT_LE(while_young, 8u) << "each is due when the log has doubled the store";
  put_many(50);
  EXPECT_LE(machine->stats().snapshots, while_young + 1);
}

TEST_F(Machines, SharesARoundAmongThoseThatReadInOneTurn) {
  open();
  put("a", "1");
  int readable = 0;
  const std::uint64_t before = machine->stats().read_rounds;
  for (int i = 0; i < 100; ++i)
    machine->read([&](const rpc::Status& status) { readable += status.ok() ? 1 : 0; });
  EXPECT_EQ(readable, 0);
  until([&] { return readable == 100; });
  EXPECT_EQ(machine->stats().read_rounds, before + 1);
}

TEST_F(Machines, RenewsManyLeasesWithOneCommandAndEndsThoseThatNobodyRenews) {
  options.tick = 20ms;
  open();
  ASSERT_TRUE(run(kv::LeaseGrant{1, 1}));
  ASSERT_TRUE(run(kv::LeaseGrant{2, 60}));
  ASSERT_TRUE(run(kv::Put{.key = "a", .lease = 1}));
  std::vector<std::int64_t> ttls;
  const std::uint64_t before = machine->stats().proposals;
  for (const kv::LeaseId id : {2, 3})
    machine->renew(id, [&](const auto& ttl) { ttls.push_back(ttl.value_or(-1)); });
  until([&] { return ttls.size() == 2; });
  EXPECT_THAT(ttls, testing::UnorderedElementsAre(60, 0));
  EXPECT_LE(machine->stats().proposals, before + 2);  // a Tick may be the other
  until([&] { return machine->store().leases().find(1) == nullptr; });
  EXPECT_NE(machine->store().leases().find(2), nullptr);
  EXPECT_TRUE(machine->store().range({.key = "a"})->kvs.empty());
}

TEST_F(Machines, RenewsInTheLogOnlyWhatRuns) {
  options.tick = 20ms;
  open();
  ASSERT_TRUE(run(kv::LeaseGrant{1, 60}));
  const auto renewed = [&](kv::LeaseId id, int times) {
    std::vector<std::int64_t> ttls;
    for (int i = 0; i < times; ++i)
      machine->renew(id, [&](const auto& ttl) { ttls.push_back(ttl.value_or(-1)); });
    until([&] { return ttls.size() == static_cast<std::size_t>(times); });
    return std::set<std::int64_t>(ttls.begin(), ttls.end());
  };
  const auto runs = [&] { return machine->store().leases().find(1)->deadline != 0; };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(renewed(77, 10), std::set<std::int64_t>{0});
  EXPECT_EQ(machine->stats().renewal_entries, 0u);
  until(runs);
  EXPECT_EQ(renewed(1, 1000), std::set<std::int64_t>{60});
  EXPECT_EQ(machine->stats().renewal_entries, 1u);
  EXPECT_EQ(machine->stats().renewals, 2000u);
}

// However fast somebody renews: what the log gets has a rate.
TEST_F(Machines, TakesFewEntriesForRenewalsThatComeFast) {
  options.tick = 20ms;
  open();
  for (kv::LeaseId id = 1; id <= 20; ++id) ASSERT_TRUE(run(kv::LeaseGrant{id, 60}));
  std::size_t answered = 0;
  std::size_t asked = 0;
  const auto began = std::chrono::steady_clock::now();
  const auto end = began + 500ms;
  while (std::chrono::steady_clock::now() < end) {
    machine->renew(1 + static_cast<kv::LeaseId>(asked++ % 20), [&](const auto& ttl) {
      EXPECT_EQ(ttl, 60);
      ++answered;
    });
    until([&] { return answered + 15 >= asked; });
  }
  until([&] { return answered == asked; });
  EXPECT_GT(asked, 200u);
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_LE(machine->stats().renewal_entries, static_cast<std::uint64_t>(took / 10ms) + 1);
}

TEST_F(Machines, BoundsWhatIsRenewed) {
  options.most_renewals = 3;
  open();
  std::vector<std::string> said;
  for (int i = 0; i < 4; ++i)
    machine->renew(
        7, [&](const auto& ttl) { said.push_back(ttl ? std::to_string(*ttl) : ttl.error().message); });
  until([&] { return said.size() == 4; });
  EXPECT_EQ(said, (std::vector<std::string>{too_many_requests.message, "0", "0", "0"}));
  EXPECT_EQ(machine->stats().turned_away, 1u);
}

// Leases take memory as keys do: whoever grants them for ever meets the quota, and what is there goes on.
TEST_F(Machines, CountsLeasesInTheQuota) {
  options.tick = 5ms;
  options.quota_bytes = 50'000;
  open();
  std::size_t granted = 0;
  rpc::Status refused;
  for (; refused.ok() && granted < 10'000; ++granted)
    if (const auto answer = run(kv::LeaseGrant{static_cast<kv::LeaseId>(1 + granted), kv::max_ttl}); !answer)
      refused = answer.error();
  EXPECT_EQ(refused,
            (rpc::Status{rpc::Code::resource_exhausted, "etcdserver: mvcc: database space exceeded"}));
  EXPECT_GT(machine->store().bytes(), options.quota_bytes);
  EXPECT_EQ(machine->store().history().records(), 0u);
  EXPECT_FALSE(run(kv::Lock{"door", 1}));
  std::int64_t left = -1;
  machine->renew(2, [&](const auto& ttl) { left = ttl.value_or(-1); });
  until([&] { return left != -1; });
  EXPECT_EQ(left, kv::max_ttl);
  EXPECT_TRUE(run(kv::LeaseRevoke{1}));
  for (std::size_t id = 2; id < granted; ++id)
    ASSERT_TRUE(run(kv::LeaseRevoke{static_cast<kv::LeaseId>(id)}));
  EXPECT_TRUE(run(kv::Alarm{1, kv::AlarmKind::no_space, false}));
  EXPECT_TRUE(run(kv::LeaseGrant{1, 60}));
}

TEST_F(Machines, LeavesNothingOfWhatWasReplacedAndGoesOnAfterARestart) {
  options.tick = 10ms;
  options.history = {.age = 300ms, .grace = 100ms};
  const auto history_ends = [&] {
    until([&] { return value_of("a") == "19"; });
    until([&] { return machine->store().bytes() == machine->store().live_bytes(); });
    EXPECT_EQ(machine->store().history().records(), 1u);
  };
  open();
  for (int i = 0; i < 20; ++i) put("a", std::to_string(i));
  EXPECT_EQ(machine->store().history().records(), 20u);
  history_ends();
  for (int i = 0; i < 20; ++i) put("a", std::to_string(i));
  stop();
  // However many commands of clients wait: there is a place for its own.
  options.most_proposals = 0;
  open();
  history_ends();
  EXPECT_EQ(run(kv::Put{.key = "a"}).error(), too_many_requests);
  EXPECT_EQ(failure, "");
}

TEST_F(Machines, TakesPutsAgainWhenThereIsRoom) {
  options.tick = 5ms;
  options.quota_bytes = 100'000;
  open();
  const std::string value(1000, 'x');
  int count = 0;
  while (run(kv::Put{.key = "k" + std::to_string(count), .value = value}) && count < 10'000) ++count;
  EXPECT_LT(count, 1000);
  EXPECT_EQ(machine->store().alarms().size(), 1u);
  EXPECT_TRUE(run(kv::DeleteRange{.key = "k", .range_end = "l"}));
  until([&] { return machine->store().alarms().empty(); });
  EXPECT_TRUE(run(kv::Put{.key = "k", .value = value}));
}

// Who leads knows nothing of the watchers of others but what these say.
TEST_F(Machines, SparesWhatWatchersOfOthersNeed) {
  options.tick = 10ms;
  options.history = {.age = 1s, .grace = 1s};
  const auto ports = live::free_ports(3).value();
  options.server.links.members.clear();
  for (std::uint32_t id : {1u, 2u, 3u})
    options.server.links.members.push_back({{id}, "127.0.0.1", ports[id - 1]});
  std::map<std::uint32_t, std::unique_ptr<Machine>> all;
  for (std::uint32_t id : {1u, 2u, 3u}) {
    MachineOptions own = options;
    own.server.links.self = {id};
    own.server.data = folder + "/data" + std::to_string(id);
    auto opened = Machine::open(
        loop, own, [](Machine::End, const std::string&) {}, [](live::LogLevel, std::string_view) {});
    ASSERT_TRUE(opened) << opened.error();
    all[id] = std::move(*opened);
  }
  until([&] { return std::ranges::any_of(all, [](auto& one) { return one.second->server().leads(); }); });
  const auto follower = std::ranges::find_if(all, [](auto& one) { return !one.second->server().leads(); });
  kv::Watches& watches = follower->second->watches();
  ASSERT_TRUE(watches.create(1, 1, {.key = "a", .start_revision = 5}));  // and nobody tells it anything
  const auto compacted = [&] { return follower->second->store().history().compacted(); };
  std::uint64_t written = 0;
  const auto write_until = [&](const std::function<bool()>& seen) {
    until([&] {
      bool done = false;
      follower->second->propose(kv::Put{.key = "a"}, [&](const Machine::Outcome&) { done = true; });
      until([&] { return done; });
      ++written;
      return seen();
    });
  };
  const auto end = std::chrono::steady_clock::now() + 4s;
  write_until([&] { return std::chrono::steady_clock::now() > end; });
  EXPECT_GT(written, 10u);
  EXPECT_LT(compacted(), 5);
  EXPECT_GT(follower->second->compactor().stats().needs, 2u);
  watches.cancel(1, 1);
  write_until([&] { return compacted() > 5; });
  all.clear();
}

// The clock of the cluster stands while nobody leads: what was left of a lease is left after a restart.
TEST_F(Machines, EndsNoLeaseForTheTimeInWhichItDidNotRun) {
  options.tick = 20ms;
  open();
  ASSERT_TRUE(run(kv::LeaseGrant{1, 2}));
  until([&] { return machine->store().leases().clock_ms() >= 200; });
  stop();
  std::this_thread::sleep_for(2500ms);
  open();
  const auto began = std::chrono::steady_clock::now();
  until([&] { return machine->server().leads() && machine->store().leases().find(1) != nullptr; });
  const std::uint64_t then = machine->store().leases().clock_ms();
  EXPECT_LT(then, 1500u);
  until([&] { return machine->store().leases().find(1) == nullptr; });
  EXPECT_GT(std::chrono::steady_clock::now() - began + 100ms, std::chrono::milliseconds(2000 - then));
}

TEST_F(Machines, TurnsAwayWhatIsTooMuch) {
  options.most_proposals = 2;
  open();
  std::vector<Machine::Outcome> answers;
  for (int i = 0; i < 3; ++i)
    machine->propose(kv::Put{.key = "a"}, [&](Machine::Outcome one) { answers.push_back(std::move(one)); });
  until([&] { return answers.size() == 3; });
  EXPECT_EQ(std::ranges::count_if(answers, [](const auto& one) { return one.has_value(); }), 2);
  EXPECT_EQ(answers[0].error(), too_many_requests);  // it waited for nothing
  EXPECT_EQ(run(kv::Put{.key = "a", .value = std::string(1'600'000, 'x')}).error().message,
            "etcdserver: request is too large");
}

// Of three members one alone is no majority: nobody knows what will come of what it was told.
TEST_F(Machines, SaysAfterAWhileThatNobodyKnows) {
  for (std::uint32_t id : {2u, 3u})
    options.server.links.members.push_back({{id}, "127.0.0.1", live::free_ports(1).value()[0]});
  options.patience = 200ms;
  open();
  EXPECT_EQ(run(kv::Put{.key = "a"}).error(), timed_out);
  std::optional<rpc::Status> read;
  machine->read([&](const rpc::Status& status) { read = status; });
  until([&] { return read.has_value(); });
  EXPECT_EQ(*read, timed_out);
}

// Its questions wait for a leader that does not come, and its readers do not wait that long.
TEST_F(Machines, ReadersThatGaveUpKeepNobodyFromAsking) {
  const auto ports = live::free_ports(3).value();
  options.server.links.members.clear();
  for (std::uint32_t id : {1u, 2u, 3u})
    options.server.links.members.push_back({{id}, "127.0.0.1", ports[id - 1]});
  options.patience = 1ms;
  open();
  const auto read = [&] {
    std::optional<rpc::Status> told;
    machine->read([&](const rpc::Status& status) { told = status; });
    until([&] { return told.has_value(); });
    return *told;
  };
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read(), timed_out);
  EXPECT_EQ(machine->stats().read_rounds, 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read(), timed_out);
  EXPECT_EQ(machine->stats().read_rounds, 16u) << "and they are not gathered for ever";

  MachineOptions another = options;
  another.server.links.self = {2};
  another.server.data = folder + "/another";
  auto second = Machine::open(
      loop, another, [](Machine::End, const std::string&) {}, [](live::LogLevel, std::string_view) {});
  ASSERT_TRUE(second) << second.error();
  until([&] { return read().ok(); });
  EXPECT_GT(machine->stats().read_rounds, 16u);
}

TEST_F(Machines, ComparesItsStateWithTheOthersAndStopsIfItIsTheOneThatDiffers) {
  options.vouch_entries = 8;
  const auto ports = live::free_ports(3).value();
  options.server.links.members.clear();
  for (std::uint32_t id : {1u, 2u, 3u})
    options.server.links.members.push_back({{id}, "127.0.0.1", ports[id - 1]});
  std::map<std::uint32_t, std::unique_ptr<Machine>> all;
  std::map<std::uint32_t, std::string> failures;
  for (std::uint32_t id : {1u, 2u, 3u}) {
    MachineOptions own = options;
    own.server.links.self = {id};
    own.server.data = folder + "/data" + std::to_string(id);
    auto opened = Machine::open(
        loop, own, [&failures, id](Machine::End, const std::string& why) { failures[id] = why; },
        [](live::LogLevel, std::string_view) {});
    ASSERT_TRUE(opened) << opened.error();
    all[id] = std::move(*opened);
    all[id]->listen({.changed = {}, .restored = {}});
  }
  const auto write = [&](int times) {
    for (int i = 0; i < times; ++i) {
      bool done = false;
      all[1]->propose(kv::Put{.key = "a"}, [&](const Machine::Outcome&) { done = true; });
      until([&] { return done; });
    }
  };
  write(20);
  until([&] {
    return std::ranges::all_of(all, [](auto& one) { return one.second->stats().agreed_index >= 16; });
  });
  EXPECT_TRUE(failures.empty());
  // Something that is in no log: what a fault of its memory would look like.
  std::vector<kv::Event> events;
  const_cast<kv::History&>(all[2]->store().history()).put("stray", "", 0, events);
  write(20);
  until([&] { return !failures.empty(); });
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[2], testing::HasSubstr("is not that of the others"));
  const auto before = all[1]->stats().agreed_index;
  write(20);
  until([&] { return all[1]->stats().agreed_index > before && all[3]->stats().agreed_index > before; });
  EXPECT_EQ(failures.size(), 1u);
  all.clear();
}

// What is being written then was begun before.
TEST_F(Machines, WhoSavesTheStateIsNotGivenAnEarlierOne) {
  options.snapshot_piece = 1;  // a record in one turn of the loop
  open();
  kv::Txn txn;
  std::list<std::string> keys;
  for (int i = 0; i < 100; ++i) txn.success.push_back({kv::Put{.key = keys.emplace_back(std::to_string(i))}});
  EXPECT_TRUE(run(txn));
  int saved = 0;
  const auto count = [&](const std::expected<Machine::Saved, rpc::Status>& state) {
    EXPECT_TRUE(state);
    EXPECT_EQ(state->index, machine->store().applied().index);
    ++saved;
  };
  machine->save(count);
  for (int turns = 0; turns < 20; ++turns) {
    loop.restart();
    loop.run_one();
  }
  EXPECT_EQ(saved, 0);
  machine->save(count);
  until([&] { return saved == 2; });
  EXPECT_EQ(machine->stats().snapshots, 2u);
}

}  // namespace
}  // namespace conclave::etcd
