// What `lock` and `elect` have in common: wait for something that stands on a lease, keep it while a command
// runs or until a signal comes, give it back.
#pragma once
#include <CLI/CLI.hpp>
#include <conclave/client.hpp>
#include <functional>

#include "cli/guard.hpp"

namespace conclave::cli {

struct Holding {
  std::string what = {};   // "lock 'printer'"
  std::string given = {};  // "is held"
  std::function<std::expected<std::int64_t, Error>(std::stop_token)> take = {};
  std::function<std::expected<void, Error>()> give_back = {};
  std::function<std::stop_token()> lost = {};
  std::function<BootClock::time_point()> good_until = {};
  std::function<BootClock::duration()> margin = {};
};

// Exit status, beside those of every verb and the command's own.
inline constexpr int lost_it = 1;
inline constexpr int timed_out = 124;
inline constexpr int cannot_run = 126;
inline constexpr int no_such_command = 127;

// Makes the holding once the guard stands, because the guard must be forked before there are threads.
int hold(const GuardedCommand& command, const std::function<std::expected<Holding, Error>()>& open);

// --ttl and --timeout, in seconds.
void add_hold_flags(CLI::App& verb, std::uint32_t& ttl, std::optional<double>& timeout);
inline std::chrono::nanoseconds seconds(double number) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(number));
}
// For the help of both verbs.
extern const char* const exit_statuses;

}  // namespace conclave::cli
