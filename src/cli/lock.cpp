// conclave lock: a lock around a command.
#include "cli/hold.hpp"
#include "cli/servers.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

struct Flags {
  std::string name;
  ServerFlags servers;
  std::uint32_t ttl = 10;
  std::optional<double> timeout;
};

int run(const Flags& flags, const std::vector<std::string>& command) {
  return hold({command, "CONCLAVE_LOCK", flags.name}, [&]() -> std::expected<Holding, Error> {
    const auto client = connect_to(flags.servers);
    if (!client) return std::unexpected(client.error());
    const auto mutex =
        std::make_shared<Mutex>(*client, flags.name, MutexOptions{.ttl = std::chrono::seconds(flags.ttl)});
    return Holding{.what = fmt::format("lock '{}'", flags.name),
                   .given = "is held",
                   .take =
                       [mutex, &flags](std::stop_token stop) {
                         return flags.timeout ? mutex->acquire_for(seconds(*flags.timeout), stop)
                                              : mutex->acquire(stop);
                       },
                   .give_back = [mutex] { return mutex->release(); },
                   .lost = [mutex] { return mutex->lost(); },
                   .good_until = [mutex] { return mutex->good_until(); },
                   .margin = [mutex] { return mutex->margin(); }};
  });
}

}  // namespace

void add_lock(CLI::App& app, Action& action, const std::vector<std::string>& command) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand(
      "lock", "Take a lock of a conclave group or of etcd, run a command while it is held, release it");
  verb->add_option("NAME", flags->name, "the lock")->required();
  add_hold_flags(*verb, flags->ttl, flags->timeout);
  add_server_flags(*verb, flags->servers);
  verb->footer(fmt::format(
      "With a command: conclave lock NAME [OPTIONS] -- COMMAND ARGUMENTS…\n\n"
      "The command finds a fencing token in CONCLAVE_FENCE, which grows from holder to holder, and the name "
      "of the\n"
      "lock in CONCLAVE_LOCK. It is stopped before the lock can be lost: SIGTERM when a quarter of the ttl "
      "is left,\n"
      "SIGKILL when a tenth is, even if this process is stopped or killed; so is everything that it started. "
      "A second\n"
      "process sees to that; if both are stopped while the command runs on, or the whole machine stands "
      "still, it\n"
      "may overlap with the next holder until they go on: what it writes to should refuse an older fence. "
      "SIGINT,\n"
      "SIGTERM, SIGHUP and SIGQUIT are passed on to its process group, SIGUSR1 and SIGUSR2 to the command.\n"
      "Without a command the fence is printed, and the lock is held until a signal comes or, if the input is "
      "a pipe,\n"
      "until that ends.\n\n"
      "{}"
      "Examples:\n"
      "  conclave lock nightly-backup -- ./backup.sh\n"
      "  conclave lock deploy --timeout 0 -- ./deploy.sh || echo somebody else is at it\n"
      "  conclave lock printer --ttl 30 --endpoints a:2379,b:2379,c:2379 -- sh -c 'print --token "
      "$CONCLAVE_FENCE'",
      exit_statuses));
  verb->callback([flags, &action, &command] { action = [flags, &command] { return run(*flags, command); }; });
}

}  // namespace conclave::cli
