#include "live/children.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

namespace conclave::live {
namespace {

std::unexpected<std::string> failed(const char* what) {
  return std::unexpected(std::string(what) + ": " + std::strerror(errno));
}

// In the child, between fork and exec: nothing here may allocate.
[[noreturn]] void become(const char* program, char* const* arguments, pid_t parent, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it went away before it could be noticed
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(program, arguments);
  ::_exit(127);
}

}  // namespace

Children::~Children() {
  kill_all();
  for (Child& child : children_) {
    if (!child.gone) ::waitpid(child.id, nullptr, 0);
  }
}

std::expected<void, std::string> Children::start(const std::vector<std::string>& arguments,
                                                 const std::string& said, const std::string& program) {
  const int output = ::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (output < 0) return failed(said.c_str());
  const std::string path = program.empty() ? "/proc/self/exe" : program;
  std::string name = program.empty() ? "conclave" : program;
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers = {name.data()};
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id == 0) become(path.c_str(), pointers.data(), parent, output);
  const int error = errno;
  ::close(output);
  errno = error;
  if (id < 0) return failed("cannot start a process");
  children_.push_back({id});
  return {};
}

void Children::kill(std::size_t nth) {
  Child& child = children_.at(nth);
  if (child.gone) return;
  ::kill(child.id, SIGKILL);
  ::waitpid(child.id, nullptr, 0);
  child.gone = true;
  child.departure = {false, SIGKILL};
}

void Children::pause(std::size_t nth) {
  if (!children_.at(nth).gone) ::kill(children_[nth].id, SIGSTOP);
}

void Children::resume(std::size_t nth) {
  if (!children_.at(nth).gone) ::kill(children_[nth].id, SIGCONT);
}

std::optional<Departure> Children::departure(std::size_t nth) {
  collect(nobody);
  const Child& child = children_.at(nth);
  return child.gone ? std::optional(child.departure) : std::nullopt;
}

// True if somebody failed.
bool Children::collect(std::size_t spared) {
  bool failure = false;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& child = children_[i];
    int status = 0;
    if (child.gone || ::waitpid(child.id, &status, WNOHANG) != child.id) continue;
    child.gone = true;
    child.departure =
        WIFEXITED(status) ? Departure{true, WEXITSTATUS(status)} : Departure{false, WTERMSIG(status)};
    failure = failure || (i != spared && (!child.departure.exited || child.departure.status != 0));
  }
  return failure;
}

void Children::kill_all() {
  for (const Child& child : children_) {
    if (!child.gone) ::kill(child.id, SIGKILL);
  }
}

std::vector<Departure> Children::wait(std::chrono::milliseconds patience, std::chrono::milliseconds grace,
                                      std::size_t spared) {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + patience;
  while (!std::ranges::all_of(children_, &Child::gone)) {
    if (collect(spared)) deadline = std::min(deadline, Clock::now() + grace);
    if (Clock::now() > deadline) kill_all();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::vector<Departure> departures;
  for (const Child& child : children_) departures.push_back(child.departure);
  return departures;
}

std::expected<std::vector<std::uint16_t>, std::string> free_ports(std::size_t count) {
  std::vector<std::uint16_t> ports;
  std::vector<int> sockets;
  std::expected<void, std::string> problem;
  // All are open at a time, so that the system gives no port twice.
  while (ports.size() < count && problem) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      problem = failed("socket");
      break;
    }
    sockets.push_back(socket);
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket, plain, size) != 0 || ::getsockname(socket, plain, &size) != 0)
      problem = failed("bind");
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int socket : sockets) ::close(socket);
  if (!problem) return std::unexpected(problem.error());
  return ports;
}

}  // namespace conclave::live
