// conclave evict: takes a member out that will not come back, so that nobody waits for it any longer.
#include <iostream>

#include "cli/desks.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

namespace pb = conclavepb;

struct Flags {
  std::uint32_t member = 0;
  ServerFlags servers;
  std::uint64_t incarnation = 0;
  bool yes = false;
};

int fail(std::string_view what) {
  fmt::print(stderr, "conclave: {}\n", what);
  return property_failed;
}

const pb::Member* find(const pb::StatusResponse& status, std::uint32_t id) {
  for (const pb::Member& member : status.members())
    if (member.id() == id) return &member;
  return nullptr;
}

void say_what(const pb::StatusResponse& status, const pb::Member& member) {
  fmt::print("member {} ({}) of group {} is {} for {}, incarnation {:x}\n", member.id(), member.address(),
             status.group(), member.up() ? "up" : "down", time_span(member.since_ms()), member.incarnation());
  if (member.up())
    fmt::print("{} it is up: its clients lose what they hold\n", paint("careful:", Colour::yellow));
  fmt::print(
      "After the eviction the others no longer wait for it. What its clients hold is free after the longest\n"
      "lease that it promised. This process of the member never takes part again; a later start may.\n");
}

// Asks a person, if there is one.
bool agreed(const Flags& flags) {
  if (flags.yes) return true;
  fmt::print("Evict it? [y/N] ");
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

int run(const Flags& flags) {
  std::string refused = "nobody was asked";
  // Any member but the one that goes can take it out.
  for (const Asked& asked : ask_status(flags.servers)) {
    if (!asked.status) {
      refused = fmt::format("{} does not answer: {}", asked.endpoint, asked.status.error());
      continue;
    }
    const pb::Member* member = find(*asked.status, flags.member);
    if (member == nullptr)
      return complain(fmt::format("{} knows no member {}", asked.endpoint, flags.member));
    if (member->evicted()) return fail(fmt::format("member {} is evicted already", flags.member));
    if (member->self()) {
      refused = fmt::format("{} is the member itself; ask another one with --endpoints", asked.endpoint);
      continue;
    }
    say_what(*asked.status, *member);
    if (!flags.yes && !on_terminal(stdin)) return complain("nobody is there to ask; say --yes");
    if (!agreed(flags)) return fail("nothing was done");
    pb::EvictRequest request;
    request.set_member_id(flags.member);
    // Unless told otherwise, the process that was just spoken of and no later one.
    request.set_incarnation(flags.incarnation != 0 ? flags.incarnation : member->incarnation());
    const auto done = ask_evict(flags.servers, asked.endpoint, request);
    if (!done) return fail(done.error());
    fmt::print("member {} is evicted; epoch {}\n", flags.member, done->epoch());
    return ok;
  }
  return fail(refused);
}

}  // namespace

void add_evict(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("evict", "takes out a member that will not come back");
  const auto flags = std::make_shared<Flags>();
  verb->add_option("MEMBER", flags->member, "its id")->required();
  add_server_flags(*verb, flags->servers);
  verb->add_option("--incarnation", flags->incarnation, "only if this is the process that runs, or last ran")
      ->type_name("N");
  verb->add_flag("--yes", flags->yes, "do not ask");
  verb->footer(
      "Example:\n"
      "  conclave evict 3 --endpoints 127.0.0.1:2379\n\n"
      "conclave status shows members, their incarnations and who waits for whom.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
