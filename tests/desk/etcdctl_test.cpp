// The real etcdctl at a desk.
#include <sys/wait.h>

#include <cstdio>
#include <thread>

#include "desks.hpp"

namespace conclave::desk {
namespace {

class Etcdctl : public Desks {
 protected:
  Etcdctl() { open({.client_urls = {{NodeId{1}, {"http://127.0.0.1:2379"}}}}); }

  // Runs it in a thread while the loop serves it; what it printed.
  std::string run(const std::string& arguments) {
    std::string output;
    loop.restart();
    auto work = boost::asio::make_work_guard(loop);
    std::thread user([&] {
      const std::string command =
          "ETCDCTL_API=3 timeout 20 etcdctl --endpoints=http://127.0.0.1:" + std::to_string(at(1).port) +
          " " + arguments + " 2>&1";
      FILE* pipe = popen(command.c_str(), "r");
      char buffer[512];
      while (fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
      exit_status = WEXITSTATUS(pclose(pipe));
      boost::asio::post(loop, [this] { loop.stop(); });
    });
    loop.run();
    user.join();
    return output;
  }
  int exit_status = 0;
};

TEST_F(Etcdctl, GrantsKeepsAndRevokesLeases) {
  const std::string granted = run("lease grant 60");
  ASSERT_TRUE(granted.contains("granted with TTL(60s)")) << granted;
  const std::string id = granted.substr(6, granted.find(' ', 6) - 6);
  EXPECT_TRUE(run("lease keep-alive --once " + id).contains("lease " + id + " keepalived with TTL(60)"));
  const LeaseId lease = std::stoll(id, nullptr, 16);
  locked(lock(to(1), "a", lease));
  const std::string left = run("lease timetolive --keys " + id);
  EXPECT_TRUE(
      left.contains("granted with TTL(60s), remaining(59s), attached keys([a/" + in_hex(lease) + "])"))
      << left;
  EXPECT_TRUE(run("lease list").contains(id));
  EXPECT_TRUE(run("lease revoke " + id).contains("lease " + id + " revoked"));
  EXPECT_EQ(hall.holder("lock/a"), std::nullopt);
  EXPECT_TRUE(run("lease timetolive " + id).contains("lease " + id + " already expired"));
  EXPECT_TRUE(run("lease keep-alive --once " + id).contains("requested lease not found"));
  EXPECT_TRUE(run("lease revoke " + id).contains("requested lease not found"));
  EXPECT_NE(exit_status, 0);
  EXPECT_TRUE(run("lease grant 9000000001").contains("too large lease TTL"));
}

// It renews every third of the time; the stream tells it when the group took away what hung on the lease.
TEST_F(Etcdctl, LearnsAtOnceThatALeaseIsLost) {
  const LeaseId lease = grant(to(1), 3000);
  locked(lock(to(1), "a", lease));
  boost::asio::steady_timer timer(loop, 1500ms);
  timer.async_wait([&](const boost::system::error_code&) { hall.lose("lock/a"); });
  const auto begin = std::chrono::steady_clock::now();
  const std::string output = run("lease keep-alive " + in_hex(lease));
  EXPECT_TRUE(output.contains("expired or revoked")) << output;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST_F(Etcdctl, ShowsMembersAndStatus) {
  const std::string listed = run("member list");
  EXPECT_TRUE(listed.contains("1, started, member-1, http://hall:1, http://127.0.0.1:2379, false")) << listed;
  EXPECT_TRUE(run("endpoint status").contains("1, 3.5.0"));
}

TEST_F(Etcdctl, IsToldThatThereIsNoStore) {
  EXPECT_TRUE(run("put a b").contains("the engine hall has no key-value store"));
  EXPECT_NE(exit_status, 0);
}

}  // namespace
}  // namespace conclave::desk
