#include "cli/roster.hpp"

#include <fmt/format.h>
#include <proto/conclave.pb.h>
#include <proto/rpc.pb.h>

#include <algorithm>
#include <future>

#include "cli/one_call.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
namespace etcd = etcdserverpb;

constexpr auto patience = 3s;        // for the list
constexpr auto short_patience = 1s;  // for a member that may be down

struct Heard {
  std::string endpoint = {};
  std::optional<etcd::StatusResponse> status = {};
  std::optional<conclavepb::StatusResponse> own = {};
};

Heard ask_one(const ServerFlags& servers, const std::string& endpoint) {
  Heard heard = {.endpoint = endpoint};
  auto status = call_once<etcd::StatusResponse>(servers, endpoint, "/etcdserverpb.Maintenance/Status",
                                                etcd::StatusRequest(), short_patience);
  if (!status) return heard;
  heard.status = std::move(*status);
  auto own = call_once<conclavepb::StatusResponse>(servers, endpoint, "/conclavepb.Conclave/Status",
                                                   conclavepb::StatusRequest(), short_patience);
  if (own) heard.own = std::move(*own);
  return heard;
}

// What we were told, and what the members say; all at once.
std::vector<Heard> ask_all(const ServerFlags& servers, const Roster& roster) {
  const auto given = endpoints_of(servers);
  std::set<std::string> endpoints(given.begin(), given.end());
  for (const RosterMember& member : roster.members)
    endpoints.insert(member.clients.begin(), member.clients.end());
  std::vector<std::future<Heard>> asked;
  for (const std::string& endpoint : endpoints)
    asked.push_back(std::async(std::launch::async, ask_one, std::cref(servers), endpoint));
  std::vector<Heard> all;
  for (std::future<Heard>& one : asked) all.push_back(one.get());
  return all;
}

// http://host:port as host:port.
std::string without_scheme(const std::string& url) {
  const std::size_t at = url.find("://");
  return at == std::string::npos ? url : url.substr(at + 3);
}

RosterMember* find_in(Roster& roster, std::uint64_t id) {
  const auto found = std::ranges::find(roster.members, id, &RosterMember::id);
  return found == roster.members.end() ? nullptr : &*found;
}

// What a conclave says of the others: it may reach whom we do not.
void learn(Roster& roster, const conclavepb::StatusResponse& own) {
  roster.is_conclave = true;
  roster.group = own.group();
  const bool leads = own.raft().role() == "leader";
  for (const conclavepb::Member& told : own.members()) {
    RosterMember* const member = find_in(roster, told.id());
    if (!member) continue;
    member->up = member->up || told.up();
    if (!leads && roster.leader != 0) continue;
    member->shall_vote = told.shall_vote();
    member->leaves = told.leaves();
    member->replaces = told.replaces();
  }
  for (const conclavepb::Follower& told : own.raft().followers()) {
    RosterMember* const member = find_in(roster, told.id());
    if (!member) continue;
    member->behind = told.lag();
    member->gets_snapshot = told.gets_snapshot();
  }
}

// A list that is not behind, if there is a leader to ask; else what somebody remembers.
std::expected<etcd::MemberListResponse, std::string> ask_list(const ServerFlags& servers, bool fresh,
                                                              std::string& by) {
  std::string why = "no endpoint is given";
  etcd::MemberListRequest request;
  request.set_linearizable(fresh);
  for (const std::string& endpoint : endpoints_of(servers)) {
    auto list = call_once<etcd::MemberListResponse>(servers, endpoint, "/etcdserverpb.Cluster/MemberList",
                                                    request, patience);
    if (list) {
      by = endpoint;
      return std::move(*list);
    }
    why = fmt::format("{} does not answer: {}", endpoint, in_words(list.error()));
  }
  return std::unexpected(why);
}

}  // namespace

const RosterMember* Roster::find(std::uint64_t id) const {
  const auto found = std::ranges::find(members, id, &RosterMember::id);
  return found == members.end() ? nullptr : &*found;
}

std::set<std::uint64_t> Roster::voters() const {
  std::set<std::uint64_t> ids;
  for (const RosterMember& member : members)
    if (member.votes) ids.insert(member.id);
  return ids;
}

std::set<std::uint64_t> Roster::up() const {
  std::set<std::uint64_t> ids;
  for (const RosterMember& member : members)
    if (member.up) ids.insert(member.id);
  return ids;
}

std::expected<Roster, std::string> look_at_members(const ServerFlags& servers) {
  Roster roster;
  auto list = ask_list(servers, true, roster.endpoint);
  if (!list) list = ask_list(servers, false, roster.endpoint);
  if (!list) return std::unexpected(list.error());
  for (const etcd::Member& told : list->members()) {
    RosterMember member = {
        .id = told.id(), .name = told.name(), .votes = !told.islearner(), .shall_vote = !told.islearner()};
    if (told.peerurls_size() > 0) member.address = without_scheme(told.peerurls(0));
    member.clients.assign(told.clienturls().begin(), told.clienturls().end());
    roster.members.push_back(std::move(member));
  }
  const std::vector<Heard> all = ask_all(servers, roster);
  std::uint64_t term = 0;
  for (const Heard& heard : all) {
    if (!heard.status) continue;
    const std::uint64_t id = heard.status->header().member_id();
    if (RosterMember* const member = find_in(roster, id)) member->up = true;
    if (heard.status->leader() != id || heard.status->raftterm() < term) continue;
    term = heard.status->raftterm();
    roster.leader = id;
    roster.endpoint = heard.endpoint;
  }
  for (const Heard& heard : all)
    if (heard.own) learn(roster, *heard.own);
  return roster;
}

ServerFlags with_all_members(const ServerFlags& servers, const Roster& roster) {
  ServerFlags all = servers;
  for (const RosterMember& member : roster.members)
    for (const std::string& url : member.clients) all.endpoints += "," + url;
  return all;
}

Standing standing_of(const std::set<std::uint64_t>& voters, const std::set<std::uint64_t>& up) {
  Standing standing = {.voters = voters};
  std::ranges::set_intersection(voters, up, std::inserter(standing.up, standing.up.end()));
  return standing;
}

}  // namespace conclave::cli
