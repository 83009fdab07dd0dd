#include "cli/guard.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/guard_wire.hpp"

namespace conclave::cli {
namespace {

void send_order(int socket, const GuardOrder& order) {
  // Who cannot be told is dead, and so is the command; `next` says so.
  static_cast<void>(send(socket, &order, sizeof order, MSG_NOSIGNAL));
}

}  // namespace

std::expected<Guard, std::string> Guard::fork(const GuardedCommand& command) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return std::unexpected(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  // Should the guard itself be killed, what it left behind becomes ours.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t process = ::fork();
  if (process < 0) return std::unexpected(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (process == 0) {
    close(ends[0]);
    be_guard(ends[1], command);
  }
  close(ends[1]);
  return Guard(ends[0], process);
}

Guard::Guard(Guard&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), process_(other.process_), gone_(other.gone_) {}

Guard::~Guard() {
  if (socket_ < 0) return;
  close(socket_);
  waitpid(process_, nullptr, 0);
  kill_children(0);
}

void Guard::run(std::int64_t fence, const Term& term) const {
  send_order(socket_, {.kind = GuardOrder::Kind::run, .fence = fence, .term = term});
}
void Guard::renew(const Term& term) const {
  send_order(socket_, {.kind = GuardOrder::Kind::renew, .term = term});
}
void Guard::signal(int number) const {
  send_order(socket_, {.kind = GuardOrder::Kind::signal, .signal = number});
}
void Guard::give_up() const { ::kill(process_, SIGKILL); }
void Guard::kill() const { send_order(socket_, {.kind = GuardOrder::Kind::kill}); }

std::optional<GuardReport> Guard::next() {
  GuardReport report;
  const ssize_t got = recv(socket_, &report, sizeof report, MSG_DONTWAIT);
  if (got == sizeof report) return report;
  if (got >= 0 || (errno != EAGAIN && errno != EINTR)) gone_ = true;
  return std::nullopt;
}

}  // namespace conclave::cli
