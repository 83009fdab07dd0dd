// A writing process is killed at any moment, again and again: nothing that it said was durable is missing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <random>
#include <thread>

#include "cli/temporary_folder.hpp"
#include "storage/segmented_log.hpp"

namespace conclave::storage {
namespace {

// A writer, and the pipe on which it says what is durable.
class Writer {
 public:
  Writer(const std::string& directory, const char* way) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(STORAGE_WRITER, STORAGE_WRITER, directory.c_str(), way, nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  ~Writer() {
    if (process_ > 0 && !dead_) kill();
    ::close(pipe_);
  }

  // The next number it says; none if it is dead or says nothing for ten seconds.
  std::optional<std::uint64_t> next() const {
    pollfd ready = {.fd = pipe_, .events = POLLIN};
    std::uint64_t number = 0;
    if (::poll(&ready, 1, 10'000) != 1 || ::read(pipe_, &number, sizeof number) != sizeof number)
      return std::nullopt;
    return number;
  }
  void kill() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, &status_, 0);
    dead_ = true;
  }
  bool was_killed() const { return WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL; }

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
  int status_ = 0;
  bool dead_ = false;
};

class Killed : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(BothWays, Killed, testing::Values("inline", "flusher"));

TEST_P(Killed, WriterLosesNothingThatItSaidWasDurable) {
  const cli::TemporaryFolder folder;
  const std::string data = folder.file("data");
  std::mt19937_64 random(20);
  std::uint64_t said = 0;
  int killed_while_writing = 0;
  for (int round = 0; round < 60 || (killed_while_writing < 20 && round < 400); ++round) {
    Writer writer(data, GetParam());
    const auto found = writer.next();
    ASSERT_TRUE(found) << "round " << round << ": the writer did not start";
    ASSERT_GE(*found, said) << "round " << round;
    said = *found;
    for (auto count = random() % 40; count > 0; --count)
      if (const auto number = writer.next()) said = std::max(said, *number);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    writer.kill();
    ASSERT_TRUE(writer.was_killed()) << "it ended by itself";
    const std::uint64_t before = said;
    while (const auto number = writer.next()) said = std::max(said, *number);
    killed_while_writing += said > before;
  }
  EXPECT_GE(killed_while_writing, 20) << "so many had more to say than we had heard";

  auto directory = Directory::open(data, {.reserve_bytes = 0});
  ASSERT_TRUE(directory);
  std::uint64_t last = 0;
  auto log = SegmentedLog::open(**directory, {}, [&](const Replayed& record) {
    const auto number = read_number<std::uint64_t>(record.bytes.data());
    ASSERT_EQ(number, record.tag);
    ASSERT_EQ(record.bytes.size(), 8 + number * 7919 % 8192);
    for (const std::byte byte : record.bytes.subspan(8)) ASSERT_EQ(byte, static_cast<std::byte>(number));
    if (last != 0) {
      ASSERT_EQ(number, last + 1);
    }
    last = number;
  });
  ASSERT_TRUE(log) << log.error().text;
  EXPECT_GE(last, said);
}

}  // namespace
}  // namespace conclave::storage
