// Runs a command that must not outlive a lease: a small process between us and the command, which holds the
// deadline itself. When it does not hear from us in time, because we are stopped, stuck or dead, it ends the
// command and everything that the command started.
//
//   conclave lock ──socket── guard ── command ── whatever it starts
//
// The guard is forked before there are other threads, leads a process group of its own so that nothing meant
// for us or for the command stops it, and adopts orphans, so that nobody below it escapes.
#pragma once
#include <sys/types.h>

#include <conclave/client.hpp>
#include <expected>
#include <optional>
#include <string>
#include <vector>

namespace conclave::cli {

struct GuardedCommand {
  std::vector<std::string> words = {};
  std::string name_variable = {};  // CONCLAVE_LOCK=…; CONCLAVE_FENCE is set beside it
  std::string name = {};
};

// When the command is asked to stop, and when it is killed.
struct Term {
  BootClock::time_point stop_at = {};
  BootClock::time_point kill_at = {};
  bool operator==(const Term&) const = default;
};

struct GuardReport {
  enum class Kind : int {
    started,  // value: its process id, which is its group's too
    cannot,   // it cannot be run; value: errno
    stopped,  // it is stopped; value: the signal
    ended,    // nothing of it is left; value: as from waitpid
  };
  Kind kind = Kind::started;
  int value = 0;
  bool overdue = false;  // it was ended because the deadline came
};

class Guard {
 public:
  static std::expected<Guard, std::string> fork(const GuardedCommand& command);
  Guard(Guard&& other) noexcept;
  Guard& operator=(Guard&&) = delete;
  ~Guard();  // the command ends, at once

  void run(std::int64_t fence, const Term& term) const;
  void renew(const Term& term) const;
  void signal(int number) const;  // to the command's group; SIGUSR1 and SIGUSR2 to the command alone
  void kill() const;              // at once
  void give_up() const;           // the guard itself, which does not do its duty; the command dies with it

  int file() const { return socket_; }
  // The next report that is there to be read. `gone`: there will be none.
  std::optional<GuardReport> next();
  bool gone() const { return gone_; }

 private:
  Guard(int socket, pid_t process) : socket_(socket), process_(process) {}
  int socket_;
  pid_t process_;
  bool gone_ = false;
};

}  // namespace conclave::cli
