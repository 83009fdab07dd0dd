// The client against a real etcd.
#include <gtest/gtest.h>

#include <atomic>
#include <conclave/client.hpp>
#include <mutex>
#include <system_error>
#include <thread>

#include "../etcd.hpp"

namespace conclave {
namespace {

using namespace std::chrono_literals;

double seconds_since(BootClock::time_point begin) {
  return std::chrono::duration<double>(BootClock::now() - begin).count();
}

class ClientOfEtcd : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    etcd = std::make_unique<Etcd>();
    // It is up when it grants.
    const auto lease = Lease::grant(client({.call_timeout = 30s}), 60s);
    ASSERT_TRUE(lease) << lease.error().message;
  }
  static void TearDownTestSuite() { etcd.reset(); }
  static Client client(Options options = {}) {
    if (options.endpoints.empty()) options.endpoints = {etcd->endpoint()};
    return connect(options).value();
  }
  static int etcdctl(const std::string& words) {
    return std::system(("ETCDCTL_API=3 timeout 20 etcdctl --endpoints=" + etcd->endpoint() + " " + words +
                        " >/dev/null 2>&1")
                           .c_str());
  }
  static inline std::unique_ptr<Etcd> etcd;
};

// Waits until the token is fired; false: it was not, in that time.
bool fired_within(const std::stop_token& token, std::chrono::nanoseconds time) {
  const auto end = BootClock::now() + time;
  while (!token.stop_requested() && BootClock::now() < end) std::this_thread::sleep_for(5ms);
  return token.stop_requested();
}

// ---- leases

TEST_F(ClientOfEtcd, KeepsALeaseForLongerThanItsTime) {
  const auto lease = Lease::grant(client(), 2s);
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->ttl(), 2s);
  EXPECT_FALSE(fired_within(lease->lost(), 3500ms));
  EXPECT_TRUE(lease->alive());
  EXPECT_GT(lease->good_until(), BootClock::now());
}

TEST_F(ClientOfEtcd, WarnsBeforeALeaseEndsThatCannotBeRenewed) {
  const auto lease = Lease::grant(client(), 2s);
  ASSERT_TRUE(lease);
  etcd->signal(SIGSTOP);
  const auto stopped = BootClock::now();
  const bool warned = fired_within(lease->lost(), 5s);
  const double after = seconds_since(stopped);
  etcd->signal(SIGCONT);
  EXPECT_TRUE(warned);
  EXPECT_LT(after, 1.6);  // the ttl less a quarter, counted from a renewal before the stop
  EXPECT_GT(after, 0.5);
  EXPECT_FALSE(lease->alive());
}

TEST_F(ClientOfEtcd, IsToldAtTheNextRenewalThatALeaseIsGone) {
  auto lease = Lease::grant(client(), 6s);
  ASSERT_TRUE(lease);
  char id[32];
  std::snprintf(id, sizeof id, "%llx", static_cast<unsigned long long>(lease->id()));
  ASSERT_EQ(etcdctl(std::string("lease revoke ") + id), 0);
  EXPECT_TRUE(fired_within(lease->lost(), 3s));
  EXPECT_TRUE(lease->revoke()) << "what is gone need not be revoked";
}

TEST_F(ClientOfEtcd, RevokesALeaseThatIsNoLongerNeeded) {
  const Client us = client();
  std::string id;
  {
    const auto lease = Lease::grant(us, 60s);
    ASSERT_TRUE(lease);
    char hex[32];
    std::snprintf(hex, sizeof hex, "%llx", static_cast<unsigned long long>(lease->id()));
    id = hex;
    EXPECT_EQ(etcdctl("lease list | grep -q " + id), 0);
  }
  // etcdctl's own connection may be faster than ours.
  const auto end = BootClock::now() + 5s;
  while (etcdctl("lease list | grep -q " + id) == 0 && BootClock::now() < end) {
  }
  EXPECT_NE(etcdctl("lease list | grep -q " + id), 0);
}

// ---- locks

TEST_F(ClientOfEtcd, LocksInTheMannerOfTheStandard) {
  Mutex ours(client(), "standard", {.ttl = 2s});
  Mutex theirs(client(), "standard", {.ttl = 2s});
  {
    const std::unique_lock hold(ours);
    EXPECT_TRUE(ours.held());
    EXPECT_FALSE(theirs.try_lock());
    const auto begin = BootClock::now();
    EXPECT_FALSE(theirs.try_lock_for(700ms));
    EXPECT_GE(seconds_since(begin), 0.7);
    EXPECT_LT(seconds_since(begin), 3);
  }
  EXPECT_FALSE(ours.held());
  EXPECT_TRUE(theirs.try_lock());
  theirs.unlock();
  const std::unique_lock hold(theirs, std::chrono::steady_clock::now() + 5s);
  EXPECT_TRUE(hold.owns_lock());
  EXPECT_GT(theirs.fence(), ours.fence());
}

TEST_F(ClientOfEtcd, AnAttemptThatWasGivenUpLeavesNothingBehind) {
  Mutex ours(client(), "given up", {.ttl = 60s});
  Mutex theirs(client(), "given up", {.ttl = 60s});
  Mutex third(client(), "given up", {.ttl = 60s});
  ASSERT_TRUE(ours.acquire());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(theirs.try_lock());
  ASSERT_TRUE(ours.release());
  // Had an attempt left its key, it would stand before this one for a minute.
  const auto fence = third.acquire_for(5s);
  ASSERT_TRUE(fence) << fence.error().message;
  EXPECT_GT(*fence, ours.fence());
}

TEST_F(ClientOfEtcd, StopsWaitingWhenAsked) {
  Mutex ours(client(), "patience", {.ttl = 2s});
  Mutex theirs(client(), "patience", {.ttl = 2s});
  ASSERT_TRUE(ours.acquire());
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(200ms);
    stop.request_stop();
  });
  const auto fence = theirs.acquire(stop.get_token());
  ASSERT_FALSE(fence);
  EXPECT_EQ(fence.error().kind, ErrorKind::stopped);
}

TEST_F(ClientOfEtcd, ThreadsThatShareAMutexExcludeEachOther) {
  Mutex mutex(client(), "shared", {.ttl = 2s});
  int inside = 0;  // not atomic: the thread sanitizer watches
  int entries = 0;
  std::int64_t last = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        const std::unique_lock hold(mutex);
        EXPECT_EQ(++inside, 1);
        EXPECT_GT(mutex.fence(), last);
        last = mutex.fence();
        ++entries;
        --inside;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(entries, 20);
}

// Each holder has a greater fence than the one before: those that found the lock free, and those that waited.
TEST_F(ClientOfEtcd, FencesGrowFromHolderToHolder) {
  std::atomic<int> inside = 0;
  std::vector<std::int64_t> fences;  // written by holders
  std::vector<std::jthread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      Mutex mutex(client(), "fences", {.ttl = 5s});
      for (int k = 0; k < 15; ++k) {
        const auto fence = mutex.acquire();
        ASSERT_TRUE(fence) << fence.error().message;
        EXPECT_EQ(++inside, 1);
        fences.push_back(*fence);
        --inside;
        ASSERT_TRUE(mutex.release());
      }
    });
  }
  threads.clear();
  ASSERT_EQ(fences.size(), 90u);
  EXPECT_EQ(std::ranges::adjacent_find(fences, std::greater_equal()), fences.end());
}

TEST_F(ClientOfEtcd, LosesALockInTimeWhenTheServerDoesNotAnswer) {
  Mutex mutex(client(), "silence", {.ttl = 2s});
  ASSERT_TRUE(mutex.acquire());
  etcd->signal(SIGSTOP);
  const bool warned = fired_within(mutex.lost(), 5s);
  const auto left = mutex.good_until() + mutex.margin() - BootClock::now();
  etcd->signal(SIGCONT);
  EXPECT_TRUE(warned);
  EXPECT_GT(left, 200ms) << "the warning comes before the lease can end";
  EXPECT_FALSE(mutex.held());
  const auto released = mutex.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().kind, ErrorKind::lost);
  ASSERT_TRUE(mutex.acquire_for(10s)) << "and it can be had again";
}

TEST_F(ClientOfEtcd, ALeaseThatEndsWhileWaitingIsReplaced) {
  Mutex ours(client(), "queue", {.ttl = 60s});
  Mutex theirs(client(), "queue", {.ttl = 2s});
  Mutex third(client(), "queue", {.ttl = 2s});
  ASSERT_TRUE(ours.acquire());
  std::expected<std::int64_t, Error> fence;
  std::jthread waiting([&] { fence = theirs.acquire_for(20s); });
  std::this_thread::sleep_for(300ms);
  ASSERT_EQ(
      etcdctl("get --prefix queue/ --keys-only --sort-by=CREATE | grep queue/ | tail -1 | cut -d/ -f2 | "
              "ETCDCTL_API=3 xargs timeout 20 etcdctl --endpoints=" +
              etcd->endpoint() + " lease revoke"),
      0);
  std::this_thread::sleep_for(1s);  // until a renewal was answered
  ASSERT_TRUE(ours.release());
  waiting.join();
  ASSERT_TRUE(fence) << fence.error().message;
  EXPECT_TRUE(theirs.held());
  EXPECT_FALSE(third.try_lock()) << "it really is held";
}

TEST_F(ClientOfEtcd, RefusesToWaitOnItsOwnThread) {
  const Client us = client();
  Mutex mutex(us, "own thread", {.ttl = 2s});
  ASSERT_TRUE(mutex.acquire());
  std::atomic<int> kind = -1;
  const std::stop_callback callback(mutex.lost(), [&] {
    const auto released = mutex.release();
    kind = released ? -2 : static_cast<int>(released.error().kind);
  });
  etcd->signal(SIGSTOP);
  fired_within(mutex.lost(), 5s);
  etcd->signal(SIGCONT);
  const auto end = BootClock::now() + 5s;
  while (kind == -1 && BootClock::now() < end) std::this_thread::sleep_for(5ms);
  EXPECT_EQ(kind, static_cast<int>(ErrorKind::misuse));
}

// ---- servers that are not there

TEST(ClientOfNobody, SaysWhoDidNotAnswer) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
  Mutex mutex(connect({.endpoints = {nobody}, .call_timeout = 300ms}).value(), "x");
  const auto begin = BootClock::now();
  const auto fence = mutex.acquire();
  ASSERT_FALSE(fence);
  EXPECT_EQ(fence.error().kind, ErrorKind::unreachable);
  EXPECT_TRUE(fence.error().message.contains(nobody)) << fence.error().message;
  EXPECT_LT(seconds_since(begin), 5);
  EXPECT_THROW(mutex.lock(), std::system_error);
}

TEST(ClientOfNobody, RefusesNonsense) {
  EXPECT_EQ(connect({}).error().kind, ErrorKind::invalid);
  EXPECT_EQ(connect({.endpoints = {"no port"}}).error().kind, ErrorKind::invalid);
  EXPECT_EQ(connect({.endpoints = {"a:1"}, .authority = "/nonexistent"}).error().kind, ErrorKind::invalid);
  const Client us = connect({.endpoints = {"127.0.0.1:1"}}).value();
  EXPECT_EQ(Mutex(us, "").acquire().error().kind, ErrorKind::invalid);
  EXPECT_EQ(Mutex(us, std::string(5000, 'x')).acquire().error().kind, ErrorKind::invalid);
  EXPECT_EQ(Mutex(us, "x", {.ttl = -1s}).acquire().error().kind, ErrorKind::invalid);
  EXPECT_EQ(Mutex(us, "x").release().error().kind, ErrorKind::misuse);
  EXPECT_EQ(Lease::grant(us, 0s).error().kind, ErrorKind::invalid);
  EXPECT_EQ(Election(us, "x").proclaim("y").error().kind, ErrorKind::misuse);
}

TEST_F(ClientOfEtcd, GoesOnToTheNextEndpoint) {
  Mutex mutex(client({.endpoints = {"127.0.0.1:" + std::to_string(free_port()), etcd->endpoint()}}), "next");
  EXPECT_TRUE(mutex.acquire_for(10s));
}

// Another etcd does not know the lease: to ask it is to hear that the lease is gone.
TEST_F(ClientOfEtcd, ALeaseThatTheNextServerDoesNotKnowIsLost) {
  auto first = std::make_unique<Etcd>();
  {
    const auto up = Lease::grant(client({.endpoints = {first->endpoint()}, .call_timeout = 30s}), 60s);
    ASSERT_TRUE(up);
  }
  Mutex mutex(client({.endpoints = {first->endpoint(), etcd->endpoint()}}), "fail-over", {.ttl = 30s});
  ASSERT_TRUE(mutex.acquire());
  EXPECT_FALSE(fired_within(mutex.lost(), 1s));
  first.reset();
  EXPECT_TRUE(fired_within(mutex.lost(), 5s)) << "at once, and not after a third of the ttl";
  EXPECT_FALSE(mutex.release());
  EXPECT_TRUE(mutex.acquire_for(10s));
}

// ---- elections

TEST_F(ClientOfEtcd, Elects) {
  Election ours(client(), "boss", {.ttl = 2s});
  Election theirs(client(), "boss", {.ttl = 2s});
  EXPECT_EQ(ours.leader().value(), std::nullopt);
  const auto fence = ours.campaign("me");
  ASSERT_TRUE(fence) << fence.error().message;
  EXPECT_TRUE(ours.leading());
  const auto leader = theirs.leader().value();
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->value, "me");
  EXPECT_EQ(leader->fence, *fence);
  const auto in_vain = theirs.campaign_for("you", 300ms);
  ASSERT_FALSE(in_vain);
  EXPECT_EQ(in_vain.error().kind, ErrorKind::timed_out);
  ASSERT_TRUE(ours.proclaim("still me"));
  EXPECT_EQ(theirs.leader().value()->value, "still me");
  ASSERT_TRUE(ours.resign());
  EXPECT_FALSE(ours.leading());
  EXPECT_EQ(ours.proclaim("nobody").error().kind, ErrorKind::misuse);
  const auto next = theirs.campaign_for("you", 10s);
  ASSERT_TRUE(next);
  EXPECT_GT(*next, *fence);
}

TEST_F(ClientOfEtcd, TellsWhoLeads) {
  Election ours(client(), "watched", {.ttl = 2s});
  Election theirs(client(), "watched", {.ttl = 2s});
  const Election watcher(client(), "watched");
  std::mutex mutex;
  std::vector<std::string> seen;
  std::jthread watching([&](const std::stop_token& stop) {
    const auto ended = watcher.observe(
        [&](const Leader& leader) {
          const std::lock_guard lock(mutex);
          seen.push_back(leader.value);
        },
        stop);
    EXPECT_TRUE(ended) << ended.error().message;
  });
  const auto wait_for = [&](const std::string& value) {
    const auto end = BootClock::now() + 10s;
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        if (!seen.empty() && seen.back() == value) return true;
      }
      if (BootClock::now() >= end) return false;
      std::this_thread::sleep_for(5ms);
    }
  };
  ASSERT_TRUE(ours.campaign("one"));
  EXPECT_TRUE(wait_for("one"));
  ASSERT_TRUE(ours.proclaim("two"));
  EXPECT_TRUE(wait_for("two"));
  ASSERT_TRUE(ours.resign());
  ASSERT_TRUE(theirs.campaign("three"));
  EXPECT_TRUE(wait_for("three"));
  watching.request_stop();
  watching.join();
  EXPECT_EQ(seen, (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(ClientOfEtcd, ALeaderLearnsInTimeThatItMayNotBeOneAnyLonger) {
  Election election(client(), "silent boss", {.ttl = 2s});
  ASSERT_TRUE(election.campaign("me"));
  etcd->signal(SIGSTOP);
  EXPECT_TRUE(fired_within(election.lost(), 1900ms));
  etcd->signal(SIGCONT);
  EXPECT_FALSE(election.leading());
  EXPECT_EQ(election.proclaim("me again").error().kind, ErrorKind::lost);
}

}  // namespace
}  // namespace conclave
