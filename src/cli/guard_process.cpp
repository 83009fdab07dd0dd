// The guard: one thread, which waits for orders, for children, and for the deadline.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "cli/guard_wire.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

// What a command that ended by itself left running is asked to end, and killed this much later.
constexpr auto patience_with_leftovers = 500ms;

// The parent of a process, from /proc; 0 if it is gone.
pid_t parent_of(const char* process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const std::size_t name_ends = line.rfind(')');  // the name may contain anything
  if (name_ends == std::string::npos || name_ends + 4 >= line.size()) return 0;
  return static_cast<pid_t>(std::strtol(line.c_str() + name_ends + 4, nullptr, 10));
}

std::vector<pid_t> children() {
  std::vector<pid_t> result;
  DIR* const all = opendir("/proc");
  if (all == nullptr) return result;
  while (const dirent* const entry = readdir(all)) {
    const pid_t process = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (process > 0 && parent_of(entry->d_name) == getpid()) result.push_back(process);
  }
  closedir(all);
  return result;
}

class GuardProcess {
 public:
  GuardProcess(int socket, const GuardedCommand& command) : socket_(socket), command_(command) {}

  [[noreturn]] void live() {
    pollfd files[] = {{socket_, POLLIN, 0}, {children_, POLLIN, 0}, {timer_, POLLIN, 0}};
    for (;;) {
      poll(files, 3, -1);
      if (files[2].revents != 0) look_at_clock();
      if (files[1].revents != 0) look_at_children();
      if (files[0].revents != 0) take_order();
    }
  }

 private:
  static sigset_t only_children() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    return set;
  }

  void report(GuardReport::Kind kind, int value) const {
    const GuardReport report = {kind, value, overdue_};
    static_cast<void>(send(socket_, &report, sizeof report, MSG_NOSIGNAL));
  }

  // ---- orders

  void take_order() {
    GuardOrder order;
    const ssize_t got = recv(socket_, &order, sizeof order, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != sizeof order) return kill_all();  // our parent is gone, and nobody renews the lease
    switch (order.kind) {
      case GuardOrder::Kind::run: return run(order);
      case GuardOrder::Kind::renew: return set_term(order.term);
      case GuardOrder::Kind::signal: return pass_on(order.signal);
      case GuardOrder::Kind::kill: overdue_ = true; return kill_all();
    }
  }

  void pass_on(int number) const {
    if (child_ == 0) return;
    const bool for_all = number != SIGUSR1 && number != SIGUSR2;
    ::kill(for_all ? -child_ : child_, number);
  }

  // Who was asked to stop is not told otherwise.
  void set_term(const Term& term) {
    if (asked_to_stop_) return;
    term_ = term;
    ring_at(term.stop_at);
  }

  void ring_at(BootClock::time_point at) const {
    const auto since = std::max<BootClock::duration>(1ns, at.time_since_epoch());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
    const itimerspec when = {{}, {seconds.count(), (since - seconds).count()}};
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  // ---- the command

  void run(const GuardOrder& order) {
    if (BootClock::now() >= order.term.stop_at) {  // our parent was stopped before it could say so
      overdue_ = true;
      report(GuardReport::Kind::ended, 0);
      _exit(0);
    }
    set_term(order.term);
    setenv(command_.name_variable.c_str(), command_.name.c_str(), 1);
    setenv("CONCLAVE_FENCE", std::to_string(order.fence).c_str(), 1);
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0) return fail(errno);
    const pid_t guard = getpid();
    child_ = fork();
    if (child_ < 0) return fail(errno);
    if (child_ == 0) become_command(guard, failure[1]);
    setpgid(child_, child_);  // as the command does: whoever is first
    close(failure[1]);
    int error = 0;
    const bool failed = read(failure[0], &error, sizeof error) == sizeof error;
    close(failure[0]);
    if (failed) return fail(error);
    report(GuardReport::Kind::started, child_);
  }

  [[noreturn]] void fail(int error) const {
    report(GuardReport::Kind::cannot, error);
    _exit(0);
  }

  [[noreturn]] void become_command(pid_t guard, int failure) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) _exit(1);  // it died before we asked
    setpgid(0, 0);
    if (in_foreground_) tcsetpgrp(STDIN_FILENO, getpid());
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    std::vector<char*> words;
    for (const std::string& word : command_.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int error = errno;
    static_cast<void>(!write(failure, &error, sizeof error));
    _exit(127);
  }

  // ---- its end

  void look_at_clock() {
    std::uint64_t times = 0;
    static_cast<void>(!read(timer_, &times, sizeof times));
    if (child_ == 0) return;
    const auto now = BootClock::now();
    if (now < term_.stop_at && !asked_to_stop_) return ring_at(term_.stop_at);
    if (now >= term_.kill_at) {
      overdue_ = overdue_ || !status_;
      return kill_all();
    }
    if (!asked_to_stop_) ask_to_stop();
    ring_at(term_.kill_at);
  }

  // A stopped process must go on to hear it.
  void ask_to_stop() {
    asked_to_stop_ = true;
    overdue_ = !status_;
    ::kill(-child_, SIGTERM);
    ::kill(-child_, SIGCONT);
  }

  void look_at_children() {
    signalfd_siginfo which;
    static_cast<void>(!read(children_, &which, sizeof which));
    for (;;) {
      int status = 0;
      const pid_t process = waitpid(-1, &status, WNOHANG | WUNTRACED);
      if (process < 0) return end();  // nobody is left
      if (process == 0) return;
      if (process != child_) continue;
      if (WIFSTOPPED(status)) {
        report(GuardReport::Kind::stopped, WSTOPSIG(status));
      } else {
        status_ = status;
        clear_leftovers();
      }
    }
  }

  // The command ended; what it started must not go on without the lock.
  void clear_leftovers() {
    ::kill(-child_, SIGTERM);
    ::kill(-child_, SIGCONT);
    for (const pid_t process : children()) ::kill(process, SIGTERM);
    asked_to_stop_ = true;
    const auto enough = BootClock::now() + patience_with_leftovers;
    term_.kill_at = std::min(term_.kill_at, enough);
    ring_at(term_.kill_at);
  }

  void kill_all() {
    if (child_ > 0) {
      ::kill(-child_, SIGKILL);
      if (const auto status = kill_children(child_)) status_ = status;
    }
    end();
  }

  [[noreturn]] void end() const {
    if (child_ > 0) report(GuardReport::Kind::ended, status_.value_or(0));
    _exit(0);
  }

  const int socket_;
  const GuardedCommand& command_;
  const sigset_t child_signals_ = only_children();
  const int children_ = signalfd(-1, &child_signals_, SFD_NONBLOCK | SFD_CLOEXEC);
  const int timer_ = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  // We were started from the shell's foreground, so the command shall be there.
  const bool in_foreground_ = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgid(getppid());
  pid_t child_ = 0;
  Term term_ = {};
  bool asked_to_stop_ = false;
  bool overdue_ = false;
  std::optional<int> status_ = {};  // of the command, once it ended
};

}  // namespace

std::optional<int> kill_children(pid_t of) {
  std::optional<int> found;
  for (;;) {
    for (const pid_t process : children()) ::kill(process, SIGKILL);
    int status = 0;
    const pid_t process = waitpid(-1, &status, 0);
    if (process < 0 && errno != EINTR) return found;
    if (process == of) found = status;
  }
}

void be_guard(int socket, const GuardedCommand& command) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  std::signal(SIGCHLD, SIG_DFL);  // who ignores it is not told what became of children
  GuardProcess guard(socket, command);
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "conclave-guard");
  guard.live();
}

}  // namespace conclave::cli
