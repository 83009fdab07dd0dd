// What tests of real processes share: a child whose lines we read, and ports for it.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace conclave::live {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

// Machines that build and test at once are slow. So nothing here must happen fast, only in the end.
constexpr auto soon = 60s;

inline void let_pass(milliseconds time) { std::this_thread::sleep_for(time); }

inline sockaddr_in local(std::uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Whether no other test has it, for as long as this process lives. Tests run side by side, and a port is free
// until whoever it was chosen for listens.
inline bool reserve(std::uint16_t port) {
  const std::string folder = "/tmp/conclave-test-ports";  // as in harness.py
  mkdir(folder.c_str(), 0777);
  const int place = open((folder + "/" + std::to_string(port)).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (place >= 0 && flock(place, LOCK_EX | LOCK_NB) == 0) return true;  // it stays open
  close(place);
  return false;
}

// Below the ports that the kernel gives to those who dial.
inline std::uint16_t free_port() {
  static unsigned next = static_cast<unsigned>(getpid());
  for (;;) {
    const auto port = static_cast<std::uint16_t>(12'000 + next++ % 18'000);
    if (!reserve(port)) continue;
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = local(port);
    const bool free = bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(probe);
    if (free) return port;
  }
}

// A child whose standard input and output are ours.
class Process {
 public:
  explicit Process(std::vector<std::string> command) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    id_ = fork();
    if (id_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nobody behind
      dup2(in[0], 0);
      dup2(out[1], 1);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Process() {
    if (id_ > 0) kill(SIGKILL);
    ::close(to_);
    ::close(from_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void tell(const std::string& line) const {
    if (id_ < 0) return;  // it was killed
    const std::string text = line + "\n";
    EXPECT_EQ(write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  pid_t id() const { return id_; }
  void signal(int number) const { ::kill(id_, number); }
  // Its last line may be missing after this, as after any kill -9.
  void kill(int number) {
    ::kill(id_, number);
    waitpid(std::exchange(id_, -1), nullptr, 0);
  }
  // Its exit status, if it ends by itself.
  int wait_for_end() {
    int status = 0;
    waitpid(std::exchange(id_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // The next line that has not been looked at; empty if none comes.
  std::string next_line(Clock::time_point deadline) {
    for (;;) {
      const std::size_t end = text_.find('\n', seen_);
      if (end != std::string::npos) {
        const std::string line = text_.substr(seen_, end - seen_);
        seen_ = end + 1;
        return line;
      }
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
      pollfd readable = {from_, POLLIN, 0};
      if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) <= 0) return {};
      char buffer[8192];
      const ssize_t got = read(from_, buffer, sizeof buffer);
      if (got <= 0) return {};
      text_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  // Skips to the first line that contains the words.
  bool says(const std::string& words, Clock::duration within = soon) {
    const auto deadline = Clock::now() + within;
    for (;;) {
      const std::string line = next_line(deadline);
      if (line.empty()) return false;
      if (line.find(words) != std::string::npos) return true;
    }
  }
  const std::string& text() const { return text_; }

 private:
  pid_t id_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string text_;
  std::size_t seen_ = 0;
};

}  // namespace conclave::live
