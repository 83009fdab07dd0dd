// conclave: distributed coordination, from the command line.
#include <algorithm>
#include <exception>

#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  using namespace conclave::cli;
  CLI::App app(
      "conclave: distributed coordination. Every classic algorithm, written once, run in a fault-injecting\n"
      "simulator, explored by a model checker, compared with the literature, and shown step by step.",
      "conclave");
  app.set_version_flag("--version", "conclave " CONCLAVE_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  conclave catalogue\n"
      "  conclave compare\n"
      "  conclave sim ricart-agrawala --nodes 3 --entries 1 --diagram\n"
      "  conclave sim maekawa --seeds 1000\n"
      "  conclave check maekawa --property ND\n"
      "  conclave scenario maekawa-deadlock\n"
      "  conclave lock nightly-backup -- ./backup.sh\n\n"
      "Every verb has --help. Exit status: 0 fine, 1 a property failed, 2 wrong usage.");
  // What stands after "--" is somebody else's command, and not to be read as options of ours.
  const std::string_view verb_given = argc > 1 ? argv[1] : "";
  const bool runs_command = verb_given == "lock" || verb_given == "elect";
  char** const end = runs_command ? std::find(argv, argv + argc, std::string_view("--")) : argv + argc;
  const std::vector<std::string> command(std::min(end + 1, argv + argc), argv + argc);
  if (end != argv + argc && command.empty()) return complain("there is no command after --");
  Action action;
  add_catalogue(app, action);
  add_sim(app, action);
  add_check(app, action);
  add_compare(app, action);
  add_accept(app, action);
  add_trace(app, action);
  add_scenario(app, action);
  add_live(app, action);
  add_bench(app, action);
  add_serve(app, action);
  add_status(app, action);
  add_history(app, action);
  add_evict(app, action);
  add_member(app, action);
  add_transfer(app, action);
  add_snapshot(app, action);
  add_lock(app, action, command);
  add_elect(app, action, command);
  add_leader(app, action);
  add_discover(app, action);
  add_registry(app, action);
  add_time(app, action);
  add_tour(app, action);
  try {
    app.parse(static_cast<int>(end - argv), argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::string verb;
    for (const CLI::App* sub : app.get_subcommands()) verb = " " + sub->get_name();
    return complain(fmt::format("{}; see conclave{} --help", error.what(), verb));
  }
  try {
    return action();
  } catch (const std::exception& error) {
    fmt::print(stderr, "conclave: internal error: {}\n", error.what());
    return 70;
  }
}
