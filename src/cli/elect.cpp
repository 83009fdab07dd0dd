// conclave elect: a command that runs while this process is the leader.
#include "cli/hold.hpp"
#include "cli/servers.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

struct Flags {
  std::string name;
  std::string value;
  ServerFlags servers;
  std::uint32_t ttl = 10;
  std::optional<double> timeout;
};

int run(const Flags& flags, const std::vector<std::string>& command) {
  return hold({command, "CONCLAVE_ELECTION", flags.name}, [&]() -> std::expected<Holding, Error> {
    const auto client = connect_to(flags.servers);
    if (!client) return std::unexpected(client.error());
    const auto election = std::make_shared<Election>(*client, flags.name,
                                                     ElectionOptions{.ttl = std::chrono::seconds(flags.ttl)});
    return Holding{.what = fmt::format("election '{}'", flags.name),
                   .given = "is won",
                   .take =
                       [election, &flags](std::stop_token stop) {
                         return flags.timeout
                                    ? election->campaign_for(flags.value, seconds(*flags.timeout), stop)
                                    : election->campaign(flags.value, stop);
                       },
                   .give_back = [election] { return election->resign(); },
                   .lost = [election] { return election->lost(); },
                   .good_until = [election] { return election->good_until(); },
                   .margin = [election] { return election->margin(); }};
  });
}

}  // namespace

void add_elect(CLI::App& app, Action& action, const std::vector<std::string>& command) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("elect", "Stand for election, run a command while leading, resign at its end");
  verb->add_option("NAME", flags->name, "the election")->required();
  verb->add_option("VALUE", flags->value, "what others learn of the leader, such as its address")->required();
  add_hold_flags(*verb, flags->ttl, flags->timeout);
  add_server_flags(*verb, flags->servers);
  verb->footer(
      fmt::format("The command finds a number that grows from leader to leader in CONCLAVE_FENCE, and the "
                  "name of the election in\n"
                  "CONCLAVE_ELECTION. It is stopped before the leadership can be lost, as by conclave lock. "
                  "Without a command the\n"
                  "fence is printed, and this process leads until a signal comes or, if the input is a pipe, "
                  "until that ends.\n\n"
                  "{}"
                  "Examples:\n"
                  "  conclave elect scheduler \"$(hostname):8080\" -- ./scheduler\n"
                  "  conclave elect scheduler standby --ttl 5 --timeout 60 -- ./scheduler\n"
                  "  conclave leader scheduler --watch",
                  exit_statuses));
  verb->callback([flags, &action, &command] { action = [flags, &command] { return run(*flags, command); }; });
}

}  // namespace conclave::cli
