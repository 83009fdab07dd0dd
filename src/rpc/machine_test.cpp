// What a machine has for a server: descriptors and memory, counted as the kernel says it.
#include "rpc/machine.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

namespace conclave::rpc {
namespace {

class FakeMachine : public testing::Test {
 protected:
  FakeMachine() {
    std::string name = testing::TempDir() + "rpc_machine_XXXXXX";
    root = mkdtemp(name.data());
  }
  ~FakeMachine() override { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text << '\n';
  }
  std::string root;
};

TEST_F(FakeMachine, HasItsMemoryWithoutGroups) {
  EXPECT_EQ(machine_memory(root), machine_memory("/no/such/root"));
  EXPECT_GT(machine_memory(root), std::size_t{64} << 20);
}

TEST_F(FakeMachine, HasNoMoreThanAnyGroupAroundIt) {
  write("/proc/self/cgroup", "0::/system.slice/conclave.service");
  write("/sys/fs/cgroup/system.slice/conclave.service/memory.max", "max");
  EXPECT_EQ(machine_memory(root), machine_memory("/no/such/root"));
  write("/sys/fs/cgroup/system.slice/memory.max", "50000000");
  EXPECT_EQ(machine_memory(root), 50'000'000u);
  write("/sys/fs/cgroup/system.slice/conclave.service/memory.max", "40000000");
  EXPECT_EQ(machine_memory(root), 40'000'000u);
}

TEST_F(FakeMachine, KnowsTheFirstVersionOfGroups) {
  write("/proc/self/cgroup", "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc");
  write("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "60000000");
  EXPECT_EQ(machine_memory(root), 60'000'000u);
}

TEST(Machine, GivesClientsAShareWithinBounds) {
  EXPECT_EQ(memory_for_clients(std::size_t{512} << 20), std::size_t{128} << 20);
  EXPECT_EQ(memory_for_clients(std::size_t{64} << 30), std::size_t{256} << 20);
  EXPECT_EQ(memory_for_clients(std::size_t{16} << 20), std::size_t{32} << 20);
}

TEST(Machine, KeepsDescriptorsBackForDiskAndPeers) {
  EXPECT_EQ(descriptors_for_clients(20'000), 20'000u - 256);
  EXPECT_EQ(descriptors_for_clients(256), 128u);
  EXPECT_EQ(descriptors_for_clients(1), 1u);
}

TEST(Machine, RaisesTheSoftLimitToTheHardOne) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 200) GTEST_SKIP() << "few descriptors here";
  const rlimit low = {100, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_descriptors(), before.rlim_max);
  rlimit after = {};
  getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace conclave::rpc
