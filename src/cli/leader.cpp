// conclave leader: who won an election.
#include <nlohmann/json.hpp>

#include "cli/servers.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

struct Flags {
  std::string name;
  ServerFlags servers;
  bool watch = false;
  bool json = false;
};

void print(const Flags& flags, const Leader& leader) {
  if (flags.json) {
    const nlohmann::ordered_json line = {{"election", flags.name},
                                         {"value", leader.value},
                                         {"fence", leader.fence},
                                         {"version", leader.version},
                                         {"lease", fmt::format("{:x}", leader.lease)}};
    fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}\n", leader.value);
  }
  std::fflush(stdout);
}

int run(const Flags& flags) {
  const auto client = connect_to(flags.servers);
  if (!client) return complain_of("cannot connect", client.error());
  const Election election(*client, flags.name);
  const std::string what = fmt::format("election '{}'", flags.name);
  if (flags.watch) {
    const auto ended = election.observe([&](const Leader& leader) { print(flags, leader); }, {});
    return ended ? ok : complain_of(what, ended.error());
  }
  const auto leader = election.leader();
  if (!leader) return complain_of(what, leader.error());
  if (!*leader) {
    fmt::print(stderr, "conclave: nobody leads {}\n", what);
    return property_failed;
  }
  print(flags, **leader);
  return ok;
}

}  // namespace

void add_leader(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("leader", "Who leads: what the winner of an election stood for");
  verb->add_option("NAME", flags->name, "the election")->required();
  verb->add_flag("--watch", flags->watch,
                 "go on: a line for every new leader, and for everything it proclaims");
  verb->add_flag("--json", flags->json, "value, fence, version and lease, one object per line");
  add_server_flags(*verb, flags->servers);
  verb->footer(
      "Exit status: 0 somebody leads, 1 nobody does, 2 wrong usage, 125 no server answered.\n\n"
      "Examples:\n"
      "  conclave leader scheduler\n"
      "  conclave leader scheduler --watch --json --endpoints a:2379,b:2379");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
