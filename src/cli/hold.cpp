#include "cli/hold.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

#include "cli/guard_wire.hpp"
#include "cli/servers.hpp"
#include "cli/terminal.hpp"

namespace conclave::cli {

const char* const exit_statuses =
    "Exit status: that of the command, 128+N if signal N ended it; 1 lost, and the command was stopped;\n"
    "2 wrong usage; 124 not to be had in time; 125 no server answered; 126 the command cannot be run;\n"
    "127 there is no such command.\n\n";

namespace {

sigset_t signals_to_read() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) sigaddset(&set, number);
  return set;
}

// The signals that end a wait or are passed on to the command. Threads that are started later inherit that
// they are blocked; `Signals` reads them one by one.
void block_signals_to_read() {
  sigset_t set = signals_to_read();
  sigaddset(&set, SIGTTOU);  // taking the terminal back is no output
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

// Another thread's news, for `poll`.
class Wake {
 public:
  ~Wake() { close(file_); }
  void ring() const {
    const std::uint64_t one = 1;
    static_cast<void>(!write(file_, &one, sizeof one));
  }
  void hear() const {
    std::uint64_t times = 0;
    static_cast<void>(!read(file_, &times, sizeof times));
  }
  int file() const { return file_; }

 private:
  const int file_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

class Signals {
 public:
  ~Signals() { close(file_); }
  int file() const { return file_; }
  // 0: none
  int next() const {
    signalfd_siginfo which;
    return read(file_, &which, sizeof which) == sizeof which ? static_cast<int>(which.ssi_signo) : 0;
  }

 private:
  const sigset_t set_ = signals_to_read();
  const int file_ = signalfd(-1, &set_, SFD_NONBLOCK | SFD_CLOEXEC);
};

// The terminal's foreground: the command's while it runs, ours before and after.
class Foreground {
 public:
  void give_to(pid_t group) const {
    if (ours_) tcsetpgrp(STDIN_FILENO, group);
  }
  void take_back() const { give_to(getpgrp()); }
  bool ours() const { return ours_; }

 private:
  const bool ours_ = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
};

bool ends_a_wait(int signal) { return signal != SIGUSR1 && signal != SIGUSR2 && signal != 0; }

class Hold {
 public:
  Hold(Holding holding, std::optional<Guard> guard)
      : holding_(std::move(holding)), guard_(std::move(guard)) {}

  int run(const std::string& command) {
    if (const auto failed = take()) return *failed;
    const std::stop_callback when_lost(holding_.lost(), [&] { wake_.ring(); });
    const int status = guard_ ? run_command(command) : wait_for_end();
    if (!lost_) static_cast<void>(holding_.give_back());  // else it is not ours to give
    return status;
  }

 private:
  // ---- before

  std::optional<int> take() {
    std::expected<std::int64_t, Error> result;
    std::atomic<bool> done = false;
    std::jthread taking([&](const std::stop_token& stop) {
      result = holding_.take(stop);
      done = true;
      wake_.ring();
    });
    int signal = 0;
    pollfd files[] = {{signals_.file(), POLLIN, 0}, {wake_.file(), POLLIN, 0}};
    while (!done) {
      poll(files, 2, -1);
      wake_.hear();
      if (const int number = signals_.next(); ends_a_wait(number)) {
        signal = number;
        taking.request_stop();
      }
    }
    taking.join();
    if (result) fence_ = *result;
    if (signal != 0) return 128 + signal;
    if (result) return std::nullopt;
    if (result.error().kind != ErrorKind::timed_out) return complain_of(holding_.what, result.error());
    fmt::print(stderr, "conclave: {}\n", result.error().message);
    return timed_out;
  }

  // ---- without a command

  int wait_for_end() {
    fmt::print("{}\n", fence_);
    std::fflush(stdout);
    if (on_terminal(stderr))
      fmt::print(stderr, "{} {}; Ctrl-C gives it back\n", holding_.what, holding_.given);
    struct stat input {};
    const bool reads =
        fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
    pollfd files[] = {
        {signals_.file(), POLLIN, 0}, {wake_.file(), POLLIN, 0}, {reads ? STDIN_FILENO : -1, POLLIN, 0}};
    for (;;) {
      poll(files, 3, -1);
      wake_.hear();
      if (holding_.lost().stop_requested()) return tell_lost();
      if (const int number = signals_.next(); ends_a_wait(number)) return 128 + number;
      if (files[2].revents != 0 && input_ended()) return ok;
    }
  }

  static bool input_ended() {
    char ignored[4096];
    return read(STDIN_FILENO, ignored, sizeof ignored) <= 0;
  }

  int tell_lost() {
    lost_ = true;
    fmt::print(stderr, "conclave: {} was lost: {}\n", holding_.what,
               BootClock::now() < holding_.good_until() ? "the server says that its lease is gone"
                                                        : "its lease could not be renewed in time");
    return lost_it;
  }

  // ---- with a command

  // Killed when three fifths of the margin are over: the rest is for clocks that go differently.
  Term term() const {
    const auto until = holding_.good_until();
    return {until, until + holding_.margin() * 3 / 5};
  }

  int run_command(const std::string& command) {
    if (holding_.lost().stop_requested()) return tell_lost();
    Term told = term();
    guard_->run(fence_, told);
    // Often enough that a renewed term is known long before the old one ends.
    const int tick = static_cast<int>(
        std::chrono::duration_cast<std::chrono::milliseconds>(holding_.margin() / 4).count());
    pollfd files[] = {{signals_.file(), POLLIN, 0}, {wake_.file(), POLLIN, 0}, {guard_->file(), POLLIN, 0}};
    bool killed = false;
    for (;;) {
      poll(files, 3, tick);
      wake_.hear();
      while (const int number = signals_.next()) guard_->signal(number);
      if (const Term now = term(); now != told) guard_->renew(told = now);
      if (holding_.lost().stop_requested() && !lost_) {
        tell_lost();
        // Gone although there was time left: somebody else may have it now.
        if (BootClock::now() < told.stop_at && !std::exchange(killed, true)) guard_->kill();
      }
      // The guard is stopped, or stuck: then it is left to us.
      if (lost_ && BootClock::now() >= told.kill_at + holding_.margin() / 10) guard_->give_up();
      while (const auto report = guard_->next())
        if (const auto status = hear(*report, command)) return *status;
      if (guard_->gone()) return guard_died();
    }
  }

  std::optional<int> hear(const GuardReport& report, const std::string& command) {
    switch (report.kind) {
      case GuardReport::Kind::started: group_ = report.value; return std::nullopt;
      case GuardReport::Kind::stopped: stop_with_it(); return std::nullopt;
      case GuardReport::Kind::cannot:
        fmt::print(stderr, "conclave: cannot run '{}': {}\n", command, std::strerror(report.value));
        return report.value == ENOENT ? no_such_command : cannot_run;
      case GuardReport::Kind::ended: break;
    }
    foreground_.take_back();
    if (report.overdue && !lost_) tell_lost();
    if (lost_) return lost_it;
    return WIFSIGNALED(report.value) ? 128 + WTERMSIG(report.value) : WEXITSTATUS(report.value);
  }

  // Somebody pressed Ctrl-Z: the shell wants to see us stopped. The lease then runs out, and the guard ends
  // the command in time, unless we are continued before.
  void stop_with_it() const {
    if (!foreground_.ours()) return;
    foreground_.take_back();
    raise(SIGSTOP);
    foreground_.give_to(group_);
    guard_->signal(SIGCONT);
  }

  int guard_died() {
    kill_children(0);
    foreground_.take_back();
    if (lost_) return lost_it;
    fmt::print(stderr, "conclave: the process that guards the command was killed; so is the command\n");
    return no_service;
  }

  Holding holding_;
  std::optional<Guard> guard_;
  Signals signals_ = {};
  Wake wake_ = {};
  Foreground foreground_ = {};
  pid_t group_ = 0;
  std::int64_t fence_ = 0;
  bool lost_ = false;
};

}  // namespace

void add_hold_flags(CLI::App& verb, std::uint32_t& ttl, std::optional<double>& timeout) {
  verb.add_option("--ttl", ttl, "seconds after which a holder that is silent loses it")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--timeout", timeout, "give up if it cannot be had in so many seconds; else wait for ever")
      ->check(CLI::Range(0.0, 1e9));
}

int hold(const GuardedCommand& command, const std::function<std::expected<Holding, Error>()>& open) {
  block_signals_to_read();
  std::optional<Guard> guard;
  if (!command.words.empty()) {
    auto forked = Guard::fork(command);
    if (!forked) return complain(forked.error());
    guard.emplace(std::move(*forked));
  }
  auto holding = open();
  if (!holding) return complain_of("cannot connect", holding.error());
  return Hold(std::move(*holding), std::move(guard)).run(command.words.empty() ? "" : command.words.front());
}

}  // namespace conclave::cli
