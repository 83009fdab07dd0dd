// conclave transfer: another member leads.
#include <proto/rpc.pb.h>

#include <nlohmann/json.hpp>

#include "cli/one_call.hpp"
#include "cli/roster.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

namespace etcd = etcdserverpb;

constexpr std::chrono::seconds patience{10};

struct Flags {
  ServerFlags servers;
  std::uint64_t member = 0;  // 0: whoever is up and has most of the log
  bool json = false;
};

int fail(std::string_view what) {
  fmt::print(stderr, "conclave: {}\n", what);
  return property_failed;
}

std::uint64_t best_heir(const Roster& roster) {
  std::uint64_t best = 0;
  std::uint64_t least = UINT64_MAX;
  for (const RosterMember& member : roster.members) {
    const std::uint64_t behind = member.behind.value_or(0);
    if (member.id == roster.leader || !member.votes || !member.up || member.leaves || behind >= least)
      continue;
    best = member.id;
    least = behind;
  }
  return best;
}

int run(const Flags& flags) {
  const auto roster = look_at_members(flags.servers);
  if (!roster) return fail(roster.error());
  if (roster->leader == 0) return fail("nobody leads, or the leader cannot be reached");
  const std::uint64_t to = flags.member != 0 ? flags.member : best_heir(*roster);
  if (to == 0) return fail("there is no other voter that is up");
  const RosterMember* const heir = roster->find(to);
  if (!heir) return complain(fmt::format("there is no member {}", to));
  if (!heir->votes) return complain(fmt::format("member {} does not vote, so it cannot lead", to));
  etcd::MoveLeaderRequest request;
  request.set_targetid(to);
  const auto done = call_once<etcd::MoveLeaderResponse>(
      flags.servers, roster->endpoint, "/etcdserverpb.Maintenance/MoveLeader", request, patience);
  if (!done) return fail(fmt::format("{}: {}", roster->endpoint, in_words(done.error())));
  if (flags.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"leader", to}, {"before", roster->leader}}.dump());
  else
    fmt::print("member {} leads; before it was {}\n", to, roster->leader);
  return ok;
}

}  // namespace

void add_transfer(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("transfer", "another member leads");
  const auto flags = std::make_shared<Flags>();
  verb->add_option("ID", flags->member, "who shall lead; without, whoever is best prepared");
  add_server_flags(*verb, flags->servers);
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer(
      "Example:\n"
      "  conclave transfer 2\n\n"
      "Before a machine is stopped this saves its clients an election. Returns when the other one leads.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
