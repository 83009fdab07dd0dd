// One process at a time, one version, one owner.
#include "storage/directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "journal.hpp"
#include "storage/crc32c.hpp"

namespace conclave::storage {
namespace {

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DirectoryTest : public testing::Test {
 protected:
  cli::TemporaryFolder folder_;
  const std::string path_ = folder_.file("deep/data");
};

TEST_F(DirectoryTest, IsMadeOnceAndOpenedAgain) {
  std::uint64_t id = 0;
  {
    const auto made = Directory::open(path_, {.stamp = "cluster 7 member 2", .reserve_bytes = 4096});
    ASSERT_TRUE(made) << made.error().text;
    EXPECT_TRUE((*made)->is_new());
    id = (*made)->id();
    EXPECT_EQ(std::filesystem::file_size(path_ + "/RESERVE"), 4096u);
  }
  const auto again = Directory::open(path_);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_FALSE((*again)->is_new());
  EXPECT_EQ((*again)->id(), id);
  EXPECT_EQ((*again)->stamp(), "cluster 7 member 2");
}

TEST_F(DirectoryTest, IsOfOneProcessAndSaysOfWhich) {
  const auto first = Directory::open(path_);
  ASSERT_TRUE(first);
  const auto second = Directory::open(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, FailureKind::in_use);
  EXPECT_NE(second.error().text.find("process " + std::to_string(getpid())), std::string::npos)
      << second.error().text;
  EXPECT_EQ(text_of(path_ + "/LOCK"), std::to_string(getpid()) + "\n") << "who was refused changed nothing";
}

TEST_F(DirectoryTest, IsFreeWhenItsProcessIsGone) {
  const pid_t child = fork();
  if (child == 0) {
    const auto held = Directory::open(path_);
    _exit(held ? 0 : 1);  // without giving it back
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(Directory::open(path_));
}

TEST_F(DirectoryTest, OfSomebodyElseIsRefused) {
  ASSERT_TRUE(Directory::open(path_, {.stamp = "member 1"}));
  const auto other = Directory::open(path_, {.stamp = "member 2"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, FailureKind::wrong_stamp);
  EXPECT_NE(other.error().text.find("\"member 1\""), std::string::npos);
}

TEST_F(DirectoryTest, OfAnotherVersionIsRefused) {
  ASSERT_TRUE(Directory::open(path_));
  write_text(path_ + "/VERSION", "conclave data, format 2\nwhatever comes\n");
  const auto later = Directory::open(path_);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().kind, FailureKind::wrong_version);
  EXPECT_NE(later.error().text.find("format 2"), std::string::npos) << later.error().text;
}

TEST_F(DirectoryTest, WithAVersionThatNobodyWroteIsRefused) {
  ASSERT_TRUE(Directory::open(path_, {.stamp = "x"}));
  const auto with_stamp = [](const std::string& stamp) {
    const std::string text = "conclave data, format 1\ndirectory 0123456789abcdef\nstamp " + stamp + "\n";
    return text + fmt::format("crc32c {:08x}\n", crc32c(std::as_bytes(std::span(text))));
  };
  write_text(path_ + "/VERSION", with_stamp(std::string(most_stamp_bytes, 'x')));
  EXPECT_TRUE(Directory::open(path_));
  for (const std::string& text :
       {with_stamp(std::string(most_stamp_bytes + 1, 'x')), std::string("\nstamp \n")}) {
    write_text(path_ + "/VERSION", text);
    const auto opened = Directory::open(path_);
    ASSERT_FALSE(opened) << text;
    EXPECT_EQ(opened.error().kind, FailureKind::damaged);
  }
}

TEST_F(DirectoryTest, WithAnyChangedByteInItsVersionIsRefused) {
  ASSERT_TRUE(Directory::open(path_, {.stamp = "x"}));
  const std::string text = text_of(path_ + "/VERSION");
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write_text(path_ + "/VERSION", changed);
    const auto opened = Directory::open(path_);
    ASSERT_FALSE(opened) << changed;
    EXPECT_TRUE(opened.error().kind == FailureKind::damaged ||
                opened.error().kind == FailureKind::wrong_version);
  }
  for (std::size_t size = 0; size < text.size(); ++size) {
    write_text(path_ + "/VERSION", text.substr(0, size));
    ASSERT_FALSE(Directory::open(path_)) << size;
  }
  write_text(path_ + "/VERSION", text);
  EXPECT_TRUE(Directory::open(path_));
}

TEST_F(DirectoryTest, WithFilesOfSomethingElseIsLeftAlone) {
  std::filesystem::create_directories(path_);
  write_text(path_ + "/thesis.tex", "years of work");
  const auto opened = Directory::open(path_);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().text.find("thesis.tex"), std::string::npos) << opened.error().text;
  EXPECT_FALSE(std::filesystem::exists(path_ + "/LOCK"));
}

TEST_F(DirectoryTest, ThatWasBegunAndNeverFinishedIsBegunAnew) {
  std::filesystem::create_directories(path_);
  write_text(path_ + "/LOCK", "");
  write_text(path_ + "/VERSION.new", "concl");
  const auto opened = Directory::open(path_);
  ASSERT_TRUE(opened) << opened.error().text;
  EXPECT_TRUE((*opened)->is_new());
}

TEST_F(DirectoryTest, CannotBeMadeWhereAFileStands) {
  write_text(folder_.file("deep"), "a file");
  const auto opened = Directory::open(path_);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, FailureKind::io);
}

TEST_F(DirectoryTest, KeepsSpaceBackUntilItIsAsked) {
  const auto opened = Directory::open(path_, {.reserve_bytes = 1 << 20});
  ASSERT_TRUE(opened);
  Directory& directory = **opened;
  EXPECT_TRUE(directory.has_reserve());
  const auto before = directory.free_bytes();
  ASSERT_TRUE(directory.release_reserve());
  EXPECT_FALSE(directory.has_reserve());
  EXPECT_FALSE(std::filesystem::exists(path_ + "/RESERVE"));
  ASSERT_TRUE(before && directory.free_bytes());
  ASSERT_TRUE(directory.take_reserve());
  EXPECT_TRUE(directory.has_reserve());
}

}  // namespace
}  // namespace conclave::storage
