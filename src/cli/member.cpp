// conclave member: who is in a cluster of the engine raft, and how that changes. Where etcd has the call, it
// is etcd's that is made, so these verbs work with etcd too.
#include <proto/conclave.pb.h>
#include <proto/rpc.pb.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/addresses.hpp"
#include "cli/one_call.hpp"
#include "cli/roster.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;
namespace etcd = etcdserverpb;

constexpr auto call_patience = 10s;  // servers wait 6 s until a change is committed
constexpr auto look_every = 500ms;

struct Flags {
  ServerFlags servers;
  std::uint64_t member = 0;
  std::string address;  // of who comes
  std::string client;   // … for its clients
  bool voter = false;
  bool dry_run = false;
  bool force = false;
  bool json = false;
  double timeout = 120;  // seconds
};

int fail(std::string_view what) {
  fmt::print(stderr, "conclave: {}\n", what);
  return property_failed;
}

void print_line(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

// ---- list

std::string part_of(const RosterMember& member) {
  if (member.leaves) return "leaves";
  if (member.replaces != 0)
    return fmt::format("takes the place of {} when it has caught up", member.replaces);
  if (member.votes) return "votes";
  return member.shall_vote ? "votes when it has caught up" : "learner";
}

int list(const Flags& flags) {
  const auto roster = look_at_members(flags.servers);
  if (!roster) return fail(roster.error());
  if (flags.json) {
    Json all = Json::array();
    for (const RosterMember& member : roster->members) {
      Json one = {
          {"id", member.id},           {"name", member.name},   {"address", member.address},
          {"clients", member.clients}, {"votes", member.votes}, {"shall_vote", member.shall_vote},
          {"leaves", member.leaves},   {"up", member.up},       {"leads", member.id == roster->leader}};
      if (member.replaces != 0) one["replaces"] = member.replaces;
      if (member.behind) one["behind"] = *member.behind;
      all.push_back(std::move(one));
    }
    fmt::print("{}\n", all.dump(2, ' ', false, Json::error_handler_t::replace));
    return ok;
  }
  using enum Table::Align;
  Table table({right, left, left, left, left, right});
  table.add({"member", "address", "clients", "part", "state", "behind"});
  table.add_rule();
  for (const RosterMember& member : roster->members)
    table.add({std::to_string(member.id), member.address, fmt::format("{}", fmt::join(member.clients, " ")),
               member.id == roster->leader ? paint("leads", Colour::bold) : part_of(member),
               member.up ? paint("up", Colour::green) : paint("down", Colour::red),
               member.behind ? with_commas(*member.behind) : ""});
  fmt::print("{}", table.to_string());
  const Standing now = standing_of(roster->voters(), roster->up());
  fmt::print("\n{} voters, quorum {}, {} up; {} may fail\n", now.voters.size(), now.quorum(), now.up.size(),
             now.tolerates());
  return ok;
}

// ---- before and after

struct Plan {
  Standing before;
  Standing after;
};

Json to_json(const Standing& standing) {
  return {{"voters", standing.voters},
          {"quorum", standing.quorum()},
          {"tolerates", standing.tolerates()},
          {"up", standing.up}};
}

std::string words_for(const Standing& standing) {
  return fmt::format("{} voters ({}), quorum {}, tolerates {}; up: {}", standing.voters.size(),
                     fmt::join(standing.voters, " "), standing.quorum(), standing.tolerates(),
                     standing.up.empty() ? "nobody" : fmt::format("{}", fmt::join(standing.up, " ")));
}

// A newcomer has no id yet, and is up when it votes.
Plan plan_of(const Roster& roster, std::uint64_t goes, bool comes) {
  constexpr std::uint64_t newcomer = UINT64_MAX;
  std::set<std::uint64_t> voters = roster.voters();
  std::set<std::uint64_t> up = roster.up();
  const Standing before = standing_of(voters, up);
  voters.erase(goes);
  if (comes) {
    std::uint64_t greatest = 0;
    for (const RosterMember& member : roster.members) greatest = std::max(greatest, member.id);
    const std::uint64_t id = roster.is_conclave ? greatest + 1 : newcomer;
    voters.insert(id);
    up.insert(id);
  }
  return {before, standing_of(voters, up)};
}

std::string objection(const Plan& plan) {
  if (!plan.before.decides())
    return fmt::format("only {} of {} voters are up: no change can be agreed on before there are {}",
                       plan.before.up.size(), plan.before.voters.size(), plan.before.quorum());
  if (!plan.after.decides())
    return fmt::format(
        "those who are up would be {} of {} voters, and {} are needed: start others first, or "
        "say --force",
        plan.after.up.size(), plan.after.voters.size(), plan.after.quorum());
  return {};
}

// Whether to go on; what to return, if not.
std::optional<int> weigh(const Flags& flags, const Plan& plan, std::string_view what) {
  const std::string no = objection(plan);
  const bool refused = !no.empty() && !flags.force;
  if (flags.json && (flags.dry_run || refused)) {
    Json json = {{"change", what},
                 {"dry_run", flags.dry_run},
                 {"before", to_json(plan.before)},
                 {"after", to_json(plan.after)}};
    if (!no.empty()) json["objection"] = no;
    print_line(json);
  } else if (!flags.json) {
    fmt::print("{}\n  before  {}\n  after   {}\n", what, words_for(plan.before), words_for(plan.after));
    std::fflush(stdout);
  }
  if (refused) return fail(no);
  if (flags.dry_run) return ok;
  return std::nullopt;
}

// ---- changes

template <class Response>
std::expected<Response, std::string> ask(const Flags& flags, const Roster& roster, std::string_view path,
                                         const google::protobuf::MessageLite& request) {
  auto answer = call_once<Response>(flags.servers, roster.endpoint, path, request, call_patience);
  if (answer) return std::move(*answer);
  return std::unexpected(fmt::format("{}: {}", roster.endpoint, in_words(answer.error())));
}

// How the newcomer is to be started.
std::string command_for(const Flags& flags, const Roster& roster, std::uint64_t id) {
  std::string members;
  for (const RosterMember& member : roster.members)
    if (member.address != flags.address) members += fmt::format("{}={},", member.id, member.address);
  const bool usual = roster.group.empty() || roster.group == "conclave";
  return fmt::format("conclave serve --id {} --members {}{}={} --join{}{} --data conclave-data-{}", id,
                     members, id, flags.address, usual ? "" : " --group " + roster.group,
                     flags.client.empty() ? "" : " --client " + flags.client, id);
}

void tell_of_newcomer(const Flags& flags, const Roster& roster, std::uint64_t id, Json json) {
  const std::string command = command_for(flags, roster, id);
  if (flags.json) {
    json["member"] = id;
    if (roster.is_conclave) json["command"] = command;
    return print_line(json);
  }
  if (roster.is_conclave)
    fmt::print("member {}; start it with (and --key-file or --tls-… as the others have):\n  {}\n", id,
               command);
  else
    fmt::print("member {:x}; start it as etcd's manual says\n", id);
  std::fflush(stdout);
}

int add(const Flags& flags) {
  if (const auto fine = address_in(flags.address); !fine) return complain(fine.error());
  const auto roster = look_at_members(flags.servers);
  if (!roster) return fail(roster.error());
  const std::string what =
      fmt::format("add {} {}", flags.address, flags.voter ? "as a voter" : "as a learner");
  if (const auto over = weigh(flags, plan_of(*roster, 0, flags.voter), what)) return *over;
  etcd::MemberAddRequest request;
  request.add_peerurls("http://" + flags.address);
  request.set_islearner(!flags.voter);
  const auto done = ask<etcd::MemberAddResponse>(flags, *roster, "/etcdserverpb.Cluster/MemberAdd", request);
  if (!done) return fail(done.error());
  tell_of_newcomer(flags, *roster, done->member().id(), {{"change", "add"}, {"voter", flags.voter}});
  if (flags.json) return ok;
  if (flags.voter && roster->is_conclave) fmt::print("it votes as soon as it has caught up\n");
  if (!flags.voter) fmt::print("when it has caught up: conclave member promote {}\n", done->member().id());
  return ok;
}

int say_done(const Flags& flags, std::string_view change, std::string_view words) {
  if (flags.json)
    print_line({{"change", change}, {"member", flags.member}, {"done", true}});
  else
    fmt::print("{}\n", words);
  return ok;
}

int remove(const Flags& flags) {
  const auto roster = look_at_members(flags.servers);
  if (!roster) return fail(roster.error());
  if (!roster->find(flags.member)) return complain(fmt::format("there is no member {}", flags.member));
  const Plan plan = plan_of(*roster, flags.member, false);
  if (const auto over = weigh(flags, plan, fmt::format("remove {}", flags.member))) return *over;
  std::expected<void, std::string> done;
  if (flags.force && roster->is_conclave) {
    conclavepb::RemoveMemberRequest request;
    request.set_member_id(flags.member);
    request.set_force(true);
    const auto answer =
        ask<conclavepb::RemoveMemberResponse>(flags, *roster, "/conclavepb.Conclave/RemoveMember", request);
    if (!answer) done = std::unexpected(answer.error());
  } else {
    etcd::MemberRemoveRequest request;
    request.set_id(flags.member);
    const auto answer =
        ask<etcd::MemberRemoveResponse>(flags, *roster, "/etcdserverpb.Cluster/MemberRemove", request);
    if (!answer) done = std::unexpected(answer.error());
  }
  if (!done) return fail(done.error());
  return say_done(flags, "remove",
                  fmt::format("member {} is removed; its process ends, its data stay", flags.member));
}

int promote(const Flags& flags) {
  const auto roster = look_at_members(flags.servers);
  if (!roster) return fail(roster.error());
  const RosterMember* const member = roster->find(flags.member);
  if (!member) return complain(fmt::format("there is no member {}", flags.member));
  if (member->votes) return fail(fmt::format("member {} votes already", flags.member));
  Plan plan = plan_of(*roster, 0, false);
  plan.after.voters.insert(flags.member);
  plan.after = standing_of(plan.after.voters, roster->up());
  if (const auto over = weigh(flags, plan, fmt::format("promote {}", flags.member))) return *over;
  etcd::MemberPromoteRequest request;
  request.set_id(flags.member);
  const auto done =
      ask<etcd::MemberPromoteResponse>(flags, *roster, "/etcdserverpb.Cluster/MemberPromote", request);
  if (!done) return fail(done.error());
  return say_done(flags, "promote", fmt::format("member {} votes", flags.member));
}

// ---- replace

std::string progress_of(const Roster& roster, std::uint64_t id) {
  const RosterMember* const member = roster.find(id);
  if (!member) return fmt::format("member {} is no member any more", id);
  if (!member->up) return fmt::format("member {} is not there yet", id);
  if (member->gets_snapshot) return fmt::format("member {} gets a snapshot", id);
  if (member->behind && *member->behind > 0)
    return fmt::format("member {} is {} entries behind", id, with_commas(*member->behind));
  return fmt::format("member {} has caught up", id);
}

int wait_for_replacement(const Flags& flags, ServerFlags servers, std::uint64_t id) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(flags.timeout);
  std::string said;
  for (;;) {
    const auto roster = look_at_members(servers);
    if (roster) {
      servers = with_all_members(flags.servers, *roster);
      const RosterMember* const member = roster->find(id);
      if (!member) return fail(fmt::format("member {} was removed again: it replaces nobody", id));
      if (member->votes && !roster->find(flags.member)) break;
      const std::string now = progress_of(*roster, id);
      if (now != said && !flags.json) fmt::print("  {}\n", now);
      std::fflush(stdout);
      said = now;
    }
    if (std::chrono::steady_clock::now() > end)
      return fail(
          fmt::format("{}; it takes the place of {} as soon as it has caught up. To call that off: "
                      "conclave member remove {}",
                      said.empty() ? "nobody answers" : said, flags.member, id));
    std::this_thread::sleep_for(look_every);
  }
  if (flags.json)
    print_line({{"change", "replace"}, {"member", id}, {"replaced", flags.member}, {"done", true}});
  else
    fmt::print("member {} has taken the place of {}\n", id, flags.member);
  return ok;
}

int replace(const Flags& flags) {
  if (const auto fine = address_in(flags.address); !fine) return complain(fine.error());
  const auto roster = look_at_members(flags.servers);
  if (!roster) return fail(roster.error());
  if (!roster->find(flags.member)) return complain(fmt::format("there is no member {}", flags.member));
  if (!roster->is_conclave)
    return fail("etcd has no such change; add a learner, promote it, and remove the other one");
  const Plan plan = plan_of(*roster, flags.member, true);
  const std::string what = fmt::format("replace {} by {}", flags.member, flags.address);
  if (const auto over = weigh(flags, plan, what)) return *over;
  conclavepb::ReplaceMemberRequest request;
  request.set_member_id(flags.member);
  request.set_address(flags.address);
  request.set_force(flags.force);
  const auto done =
      ask<conclavepb::ReplaceMemberResponse>(flags, *roster, "/conclavepb.Conclave/ReplaceMember", request);
  if (!done) return fail(done.error());
  tell_of_newcomer(flags, *roster, done->member_id(), {{"change", "replace"}, {"replaces", flags.member}});
  return wait_for_replacement(flags, with_all_members(flags.servers, *roster), done->member_id());
}

// ---- the command line

using Run = int (*)(const Flags&);

CLI::App* add_one(CLI::App& member, Action& action, const std::string& name, const std::string& about,
                  const std::shared_ptr<Flags>& flags, Run run) {
  CLI::App* verb = member.add_subcommand(name, about);
  add_server_flags(*verb, flags->servers);
  verb->add_flag("--json", flags->json, "for programs: a line for each thing that happened");
  verb->callback([flags, run, &action] { action = [flags, run] { return run(*flags); }; });
  return verb;
}

void add_change_flags(CLI::App& verb, Flags& flags) {
  verb.add_flag("--dry-run", flags.dry_run, "show voters, quorum and who is up before and after, and stop");
  verb.add_flag("--force", flags.force, "although those who are up could not go on afterwards");
}

}  // namespace

void add_member(CLI::App& app, Action& action) {
  CLI::App* member = app.add_subcommand("member", "the members of a cluster, and how they change");
  member->require_subcommand(1);
  member->footer(
      "Examples:\n"
      "  conclave member list\n"
      "  conclave member add d:7001 --client d:2379      # prints how to start it\n"
      "  conclave member promote 4                       # when it has caught up\n"
      "  conclave member replace 2 e:7001                # one change, once the newcomer has caught up\n"
      "  conclave member remove 3 --dry-run");

  const auto fresh = [] { return std::make_shared<Flags>(); };
  auto flags = fresh();
  add_one(*member, action, "list", "who votes, who learns, who is up", flags, list)
      ->footer("Example:\n  conclave member list --endpoints 127.0.0.1:2379");

  flags = fresh();
  CLI::App* verb = add_one(*member, action, "add", "a newcomer; it learns until it is promoted", flags, add);
  verb->add_option("HOST:PORT", flags->address, "where members reach it")->required();
  verb->add_option("--client", flags->client, "where it shall listen for clients: HOST:PORT");
  verb->add_flag("--voter", flags->voter, "it votes as soon as it has caught up");
  add_change_flags(*verb, *flags);
  verb->footer("Example:\n  conclave member add d:7001 --client d:2379 --voter");

  flags = fresh();
  verb =
      add_one(*member, action, "promote", "a learner that has caught up votes from now on", flags, promote);
  verb->add_option("ID", flags->member, "of the learner")->required();
  add_change_flags(*verb, *flags);
  verb->footer("Example:\n  conclave member promote 4");

  flags = fresh();
  verb = add_one(*member, action, "remove", "takes a member out for good; its process ends", flags, remove);
  verb->add_option("ID", flags->member, "of the member")->required();
  add_change_flags(*verb, *flags);
  verb->footer("Example:\n  conclave member remove 3 --dry-run");

  flags = fresh();
  verb =
      add_one(*member, action, "replace", "a newcomer takes a member's place, in one change", flags, replace);
  verb->add_option("OLD", flags->member, "id of the member that goes")->required();
  verb->add_option("HOST:PORT", flags->address, "where members reach the one that comes")->required();
  verb->add_option("--client", flags->client, "where it shall listen for clients: HOST:PORT");
  verb->add_option("--timeout", flags->timeout, "how long to wait until it is done (120)")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("SECONDS");
  add_change_flags(*verb, *flags);
  verb->footer(
      "Example:\n  conclave member replace 2 e:7001 --client e:2379\n\n"
      "Prints how to start the newcomer, then waits. The old member takes part until then; it may be dead.");
}

}  // namespace conclave::cli
