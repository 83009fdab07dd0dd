#include "storage/starts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "faulty_disk.hpp"

namespace conclave::storage {
namespace {

namespace fs = std::filesystem;

class StartsTest : public testing::Test {
 protected:
  StartsTest() {
    std::string path = testing::TempDir() + "starts-XXXXXX";
    EXPECT_NE(::mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  ~StartsTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Directory> open(DirectoryOptions options = {.reserve_bytes = 0}) {
    auto directory = Directory::open(folder_ + "/data", options);
    EXPECT_TRUE(directory) << directory.error().text;
    return std::move(*directory);
  }
  // Of a process that begins, and ends.
  std::uint64_t begin(std::uint64_t least = 1) { return begin_start(*open(), least).value(); }
  std::string file() const { return folder_ + "/data/" + starts_file; }
  std::string text() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string folder_;
};

TEST_F(StartsTest, AreCountedFromOne) {
  EXPECT_EQ(last_start(*open()), 0u);
  EXPECT_EQ(begin(), 1u);
  EXPECT_EQ(begin(), 2u);
  EXPECT_EQ(last_start(*open()), 2u);
}

TEST_F(StartsTest, BeginWhereTheyAreTold) {
  EXPECT_EQ(begin(8192), 8192u);
  EXPECT_EQ(begin(8192), 8193u) << "what was said last counts more";
  EXPECT_EQ(begin(), 8194u);
}

TEST_F(StartsTest, ThatAreDamagedAreRefused) {
  begin();
  const std::string whole = text();
  for (std::size_t at = 0; at <= whole.size(); ++at) {
    std::string bad = whole;
    if (at < whole.size())
      bad[at] = static_cast<char>(bad[at] ^ 1);
    else
      bad.resize(whole.size() / 2);
    std::ofstream(file(), std::ios::trunc) << bad;
    const auto read = last_start(*open());
    ASSERT_FALSE(read) << at;
    EXPECT_EQ(read.error().kind, FailureKind::damaged);
    EXPECT_NE(read.error().text.find(file()), std::string::npos) << read.error().text;
    EXPECT_FALSE(begin_start(*open(), 1)) << "and the file is left as it is";
  }
}

TEST_F(StartsTest, OfAnotherDirectoryAreRefused) {
  begin();
  fs::rename(file(), folder_ + "/of another");
  fs::remove_all(folder_ + "/data");
  begin();
  fs::rename(folder_ + "/of another", file());
  EXPECT_FALSE(last_start(*open()));
}

// Whatever the disk answers, and when: a number is given once, or not at all.
TEST_F(StartsTest, AreOnTheDiskBeforeAnybodyHearsOfThem) {
  std::uint64_t last = begin();
  const auto directory = open();
  const std::vector<std::function<void()>> faults = {
      [] { faulty::fail(faulty::Call::open, 2, 1, EIO); },
      [] { faulty::fail(faulty::Call::write, 1, 1, ENOSPC); },
      [] { faulty::fail(faulty::Call::rename, 1, 1, EIO); },
      [] { faulty::fail_sync(1, EIO); },
      [] { faulty::fail_sync(2, EIO); },  // of the directory
  };
  for (const auto& fault : faults) {
    fault();
    EXPECT_FALSE(begin_start(*directory, 1));
    faulty::heal();
    const auto next = begin_start(*directory, 1);
    ASSERT_TRUE(next) << next.error().text;
    EXPECT_GT(*next, last);
    last = *next;
  }
}

}  // namespace
}  // namespace conclave::storage
