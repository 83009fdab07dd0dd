// conclave registry: where processes of a group look each other up.
#include "catalogue/membership/discovery.hpp"
#include "cli/addresses.hpp"
#include "cli/terminal.hpp"
#include "cli/until_signal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

constexpr std::uint16_t usual_port = 7038;

struct Flags {
  std::string listen = fmt::format("127.0.0.1:{}", usual_port);
  std::string key_file;
};

int serve(const Flags& flags) {
  const auto listen = address_in(flags.listen, usual_port);
  if (!listen) return complain(listen.error());
  const auto key = key_in(flags.key_file);
  if (!key) return complain(key.error());
  boost::asio::io_context loop(1);
  const auto registry = catalogue::serve_registry(
      loop, *listen, *key, [](live::LogLevel, std::string_view text) { fmt::print(stderr, "{}\n", text); });
  if (!registry) return complain(registry.error() + "; --listen takes another address");
  fmt::print("registry at {}\n", in_words((*registry)->address()));
  std::fflush(stdout);
  run_until_signal(loop);
  return ok;
}

}  // namespace

void add_registry(CLI::App& app, Action& action) {
  CLI::App* registry = app.add_subcommand("registry", "A registry, through which processes find each other");
  registry->require_subcommand(1);
  registry->footer("Example:\n  conclave registry serve");
  auto flags = std::make_shared<Flags>();
  CLI::App* serving = registry->add_subcommand("serve", "Keep the lists of groups (UDP)");
  serving->add_option("--listen", flags->listen, fmt::format("host:port [127.0.0.1:{}]", usual_port));
  serving->add_option("--key-file", flags->key_file, "a secret that all processes share");
  serving->footer(
      "Example:\n  conclave registry serve --listen 0.0.0.0:7038\n"
      "  conclave discover shop --expect 3 --registry localhost:7038");
  serving->callback([flags, &action] { action = [flags] { return serve(*flags); }; });
}

}  // namespace conclave::cli
