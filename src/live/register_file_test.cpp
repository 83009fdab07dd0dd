#include "live/register_file.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "protocols/registers/bakery.hpp"
#include "protocols/registers/dijkstra.hpp"

namespace conclave::live {
namespace {

using namespace std::chrono_literals;
using registers::Bakery;
using registers::Dijkstra;

// A lock file that goes with the test.
class RegisterFileTest : public testing::Test {
 protected:
  RegisterFileTest() { std::filesystem::create_directory(folder_); }
  ~RegisterFileTest() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "lock").string(); }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("conclave_register_file_" + std::to_string(getpid()));
};

// Memory that the child processes see too.
struct Shared {
  std::atomic<int> ready = 0;
  std::uint64_t counter = 0;  // what the lock protects
};
Shared* share() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) Shared;
}

// A child that runs `body` and is gone afterwards, whatever happens.
template <class Body>
pid_t child(Body&& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  return pid;
}

int exit_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

template <class Condition>
bool soon(Condition&& condition) {
  for (int i = 0; i < 20'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

template <Withdraws P>
void hammer(const std::string& path) {
  Shared* shared = share();
  constexpr int processes = 3;
  constexpr std::uint64_t rounds = 1'000;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    children.push_back(child([&] {
      auto mine = open_register_lock<P>(path, processes);
      if (!mine) _exit(1);
      for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::scoped_lock guard(*mine);
        if (++shared->counter != mine->fence()) _exit(2);
      }
    }));
  }
  for (const pid_t pid : children) EXPECT_EQ(exit_of(pid), 0);
  EXPECT_EQ(shared->counter, processes * rounds);
}

TEST_F(RegisterFileTest, ProcessesLoseNoUpdatesByTheBakery) { hammer<Bakery>(path()); }
TEST_F(RegisterFileTest, ProcessesLoseNoUpdatesByDijkstrasAlgorithm) { hammer<Dijkstra>(path()); }

template <Withdraws P>
void kill_a_waiter(const std::string& path) {
  Shared* shared = share();
  auto holder = open_register_lock<P>(path, 3);
  ASSERT_TRUE(holder);
  holder->lock();
  const pid_t waiter = child([&] {
    auto mine = open_register_lock<P>(path, 3);
    shared->ready = 1;
    mine->lock();
  });
  ASSERT_TRUE(soon([&] { return shared->ready == 1; }));
  std::this_thread::sleep_for(20ms);
  kill(waiter, SIGKILL);
  exit_of(waiter);
  holder->unlock();
  // The dead one's request stands before ours, until we have waited long enough to look.
  EXPECT_TRUE(holder->try_lock_for(20s));
  EXPECT_FALSE(holder->seat().dead_holder());
  holder->unlock();
  auto successor = open_register_lock<P>(path, 3);
  ASSERT_TRUE(successor);
  EXPECT_TRUE(successor->try_lock());
  successor->unlock();
}

TEST_F(RegisterFileTest, WhoIsKilledWhileWaitingInTheBakeryIsClearedAway) { kill_a_waiter<Bakery>(path()); }
TEST_F(RegisterFileTest, WhoIsKilledWhileWaitingInDijkstrasAlgorithmIsClearedAway) {
  kill_a_waiter<Dijkstra>(path());
}

TEST_F(RegisterFileTest, WhoIsKilledInsideBlocksTheOthersUntilSomebodySaysOtherwise) {
  Shared* shared = share();
  const pid_t victim = child([&] {
    auto mine = open_register_lock<Bakery>(path(), 2);
    mine->lock();
    shared->ready = 1;
    for (;;) pause();
  });
  ASSERT_TRUE(soon([&] { return shared->ready == 1; }));
  auto mine = open_register_lock<Bakery>(path(), 2);
  ASSERT_TRUE(mine);
  EXPECT_FALSE(mine->seat().dead_holder());
  kill(victim, SIGKILL);
  exit_of(victim);
  EXPECT_FALSE(mine->try_lock_for(100ms));
  EXPECT_EQ(mine->seat().dead_holder(), NodeId{1});
  const auto third = open_register_lock<Bakery>(path(), 2);
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().find("died inside"), std::string::npos) << third.error();
  EXPECT_TRUE(mine->seat().clear_dead_holder());
  EXPECT_TRUE(mine->try_lock());
  mine->unlock();
}

TEST_F(RegisterFileTest, PlacesAreGivenBackOnClosing) {
  {
    const auto one = open_register_lock<Bakery>(path(), 1);
    ASSERT_TRUE(one);
    const auto two = open_register_lock<Bakery>(path(), 1);
    ASSERT_FALSE(two);
    EXPECT_EQ(two.error(), path() + ": all 1 places of the lock are taken");
  }
  EXPECT_TRUE(open_register_lock<Bakery>(path(), 1));
}

TEST_F(RegisterFileTest, SaysWhatIsWrongWithAFile) {
  const auto error = [&](std::uint32_t participants) {
    const auto opened = open_register_lock<Bakery>(path(), participants);
    return opened ? std::string("none") : opened.error();
  };
  EXPECT_EQ(error(0), path() + ": a lock is for at least one participant");
  EXPECT_EQ(error(5'000), path() + ": 5000 participants; a lock is for 1 to 1024");
  write("something else altogether, and longer than a header of sixty-four bytes would be");
  EXPECT_EQ(error(2), path() + ": is no lock of conclave");
  write("short");
  EXPECT_EQ(error(2), path() + ": is no lock of conclave");
  write(std::string(100, '\0'));
  EXPECT_EQ(error(2), path() + ": is no lock of conclave");

  std::filesystem::remove(path());
  ASSERT_EQ(error(2), "none");
  EXPECT_EQ(error(3), path() + ": is for 2 participants, not 3");
  const auto other = open_register_lock<Dijkstra>(path(), 2);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error(), path() + ": is a lock by Bakery, not by Dijkstra");
  std::filesystem::resize_file(path(), 300);
  EXPECT_NE(error(2).find("has 300 bytes"), std::string::npos) << error(2);

  std::filesystem::remove(path());
  ASSERT_EQ(error(2), "none");
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);
  file.put(9);
  file.close();
  EXPECT_EQ(error(2), path() + ": has format version 9; this program reads version 1");

  EXPECT_NE(open_register_lock<Bakery>("/nonexistent/lock", 2).error().find("cannot open"),
            std::string::npos);
  EXPECT_NE(open_register_lock<Bakery>("/tmp", 2).error().find("cannot open"), std::string::npos);
}

}  // namespace
}  // namespace conclave::live
