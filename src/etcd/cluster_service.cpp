// Who the members are, and how that changes: etcd's Cluster service, and who leads.
//
// A change is first in the members' book, which gives newcomers their ids; then the leader brings Raft's
// configuration in line with it. Whoever asked is answered when that is done.
#include <fmt/format.h>

#include <algorithm>

#include "etcd/front.hpp"
#include "rpc/address.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;
using cluster::BookError;

namespace {

using namespace std::chrono_literals;

const rpc::Status not_leader = {rpc::Code::failed_precondition, "etcdserver: not leader"};
const rpc::Status bad_transferee = {rpc::Code::failed_precondition, "etcdserver: bad leader transferee"};
const rpc::Status bad_urls = {rpc::Code::invalid_argument, "etcdserver: given member URLs are invalid"};
const rpc::Status member_not_found = {rpc::Code::not_found, "etcdserver: member not found"};
const rpc::Status unhealthy = {rpc::Code::unavailable, "etcdserver: unhealthy cluster"};
const rpc::Status too_few_started = {rpc::Code::failed_precondition,
                                     "etcdserver: re-configuration failed due to not enough started members"};
const rpc::Status not_in_sync = {
    rpc::Code::failed_precondition,
    "etcdserver: can only promote a learner member which is in sync with leader"};

constexpr auto look_every = 50ms;
// A learner that is in sync votes long before; etcd's client waits 5 s.
constexpr auto promote_patience = 2s;
constexpr std::size_t most_changes = 64;

rpc::Status status_of(BookError error) {
  switch (error) {
    case BookError::not_founded: return unhealthy;
    case BookError::no_such_member: return member_not_found;
    case BookError::address_taken:
      return {rpc::Code::failed_precondition, "etcdserver: Peer URLs already exists"};
    case BookError::not_a_learner:
      return {rpc::Code::failed_precondition, "etcdserver: can only promote a learner member"};
    case BookError::too_many:
      return {rpc::Code::failed_precondition, "etcdserver: too many learner members in cluster"};
    case BookError::no_voter_left: return too_few_started;
    case BookError::is_replaced:
      return {rpc::Code::failed_precondition, "somebody else is about to take this member's place"};
    case BookError::malformed: return bad_urls;
  }
  return {rpc::Code::unknown, std::string(cluster::describe(error))};
}

// http://host:port or https://host:port, and nothing behind it.
std::optional<live::Address> address_in_url(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    url.remove_prefix(scheme.size());
    if (url.ends_with('/')) url.remove_suffix(1);
    const auto parsed = rpc::parse_address(std::string(url));
    if (!parsed) return std::nullopt;
    return live::Address{parsed->host, static_cast<std::uint16_t>(std::stoul(parsed->port))};
  }
  return std::nullopt;
}

// A member has one address for members here.
std::optional<live::Address> address_in(const google::protobuf::RepeatedPtrField<std::string>& urls) {
  return urls.size() == 1 ? address_in_url(urls.Get(0)) : std::nullopt;
}

// Ids are numbers of 32 bits; 0 is nobody.
NodeId id_in(std::uint64_t id) { return {id <= UINT32_MAX ? static_cast<std::uint32_t>(id) : 0}; }

bool is_majority(const NodeSet& voters, const std::function<bool(NodeId)>& is_up) {
  const auto up = std::ranges::count_if(voters, is_up);
  return static_cast<std::uint32_t>(up) > voters.size() / 2;
}

}  // namespace

void Front::offer_cluster() {
  const std::string service = "/etcdserverpb.Cluster/";
  const std::string json = "/v3/cluster/member/";
  offer<pb::MemberListRequest>(service + "MemberList", json + "list",
                               [this](const auto& request, const CallerPtr& caller) {
                                 if (!request.linearizable())
                                   return answer_members<pb::MemberListResponse>(caller);
                                 machine_.read([this, caller](const rpc::Status& status) {
                                   if (!status.ok()) return caller->refuse(status);
                                   answer_members<pb::MemberListResponse>(caller);
                                 });
                               });
  offer<pb::MemberAddRequest>(
      service + "MemberAdd", json + "add",
      [this](const auto& request, const CallerPtr& caller) { member_add(request, caller); }, false,
      rpc::Access::operators);
  offer<pb::MemberRemoveRequest>(
      service + "MemberRemove", json + "remove",
      [this](const auto& request, const CallerPtr& caller) {
        member_remove(request.id(), false, [this, caller](std::expected<NodeId, rpc::Status> done) {
          done ? answer_members<pb::MemberRemoveResponse>(caller) : caller->refuse(done.error());
        });
      },
      false, rpc::Access::operators);
  offer<pb::MemberUpdateRequest>(
      service + "MemberUpdate", json + "update",
      [this](const auto& request, const CallerPtr& caller) { member_update(request, caller); }, false,
      rpc::Access::operators);
  offer<pb::MemberPromoteRequest>(
      service + "MemberPromote", json + "promote",
      [this](const auto& request, const CallerPtr& caller) { member_promote(request, caller); }, false,
      rpc::Access::operators);
  offer<pb::MoveLeaderRequest>(
      "/etcdserverpb.Maintenance/MoveLeader", "/v3/maintenance/transfer-leadership",
      [this](const auto& request, const CallerPtr& caller) { move_leader(request, caller); }, false,
      rpc::Access::operators);
  offer<conclavepb::ReplaceMemberRequest>(
      "/conclavepb.Conclave/ReplaceMember", "/conclave/member/replace",
      [this](const auto& request, const CallerPtr& caller) { replace_member(request, caller); }, false,
      rpc::Access::operators);
  offer<conclavepb::RemoveMemberRequest>(
      "/conclavepb.Conclave/RemoveMember", "/conclave/member/remove",
      [this](const auto& request, const CallerPtr& caller) {
        member_remove(
            request.member_id(), request.force(), [caller](std::expected<NodeId, rpc::Status> done) {
              done ? caller->answer(conclavepb::RemoveMemberResponse()) : caller->refuse(done.error());
            });
      },
      false, rpc::Access::operators);
}

// ---- what is told

void Front::tell_member(NodeId id, pb::Member& told) const {
  told.set_id(id.value);
  const cluster::Book& book = machine_.server().book();
  const cluster::BookMember* const member = book.find(id);
  if (!member) return;
  const bool tls = machine_.options().server.links.tls.wanted();
  told.set_name(member->name);
  told.add_peerurls((tls ? "https://" : "http://") + live::in_words({member->host, member->port}));
  told.set_islearner(!book.voters.contains(id));
  for (const std::string& url : member->clients) told.add_clienturls(url);
}

void Front::add_members(google::protobuf::RepeatedPtrField<pb::Member>& told) const {
  for (const auto& [id, member] : machine_.server().book().members) tell_member(id, *told.Add());
}

template <class Response>
void Front::answer_members(const CallerPtr& caller) const {
  Response response;
  head(response.mutable_header(), 0);
  add_members(*response.mutable_members());
  caller->answer(response);
}

// ---- what is refused

bool Front::is_up(const cluster::ServerStatus& now, NodeId id) const {
  const auto peer = now.peers.find(id);
  return id == self_ ||
         (peer != now.peers.end() && peer->second.link.state == live::LinkStatus::State::connected);
}

// A change that those who are up could not agree to, or after which they could not agree to anything. A
// newcomer votes only when it has caught up, and is up then.
rpc::Status Front::objection(const NodeSet& voters_then, NodeId newcomer) const {
  const cluster::ServerStatus now = machine_.server().status();
  const auto up = [&](NodeId id) { return id == newcomer || is_up(now, id); };
  if (!now.leader || !is_majority(now.voters, up)) return unhealthy;
  if (voters_then.empty() || !is_majority(voters_then, up)) return too_few_started;
  return {};
}

// ---- what is changed

void Front::member_add(const pb::MemberAddRequest& request, const CallerPtr& caller) {
  const auto address = address_in(request.peerurls());
  if (!address) return caller->refuse(bad_urls);
  const bool learner = request.islearner();
  if (const rpc::Status no = objection(machine_.server().status().voters, {}); !no.ok())
    return caller->refuse(no);
  await({.change = cluster::Enter{.host = address->host, .port = address->port, .votes = !learner},
         .is_done =
             [this](NodeId id) {
               const cluster::Book& book = machine_.server().book();
               return book.learners.contains(id) || book.voters.contains(id);
             },
         .then =
             [this, caller, learner](std::expected<NodeId, rpc::Status> added) {
               if (!added) return caller->refuse(added.error());
               pb::MemberAddResponse response;
               head(response.mutable_header(), 0);
               tell_member(*added, *response.mutable_member());
               response.mutable_member()->set_islearner(learner);
               add_members(*response.mutable_members());
               caller->answer(response);
             }});
}

void Front::member_remove(std::uint64_t number, bool force, Changed then) {
  const NodeId id = id_in(number);
  if (!machine_.server().book().contains(id)) return then(std::unexpected(member_not_found));
  const NodeSet voters = machine_.server().status().voters;
  if (voters.contains(id) && !force) {
    if (const rpc::Status no = objection(voters.without(id), {}); !no.ok()) return then(std::unexpected(no));
  }
  await({.change = cluster::Leave{id},
         .is_done =
             [this](NodeId gone) {
               return !machine_.server().book().contains(gone) || (gone == self_ && machine_.is_expelled());
             },
         .then = std::move(then)});
}

void Front::member_update(const pb::MemberUpdateRequest& request, const CallerPtr& caller) {
  const auto address = address_in(request.peerurls());
  if (!address) return caller->refuse(bad_urls);
  await({.change = cluster::Move{id_in(request.id()), address->host, address->port},
         .then = [this, caller](std::expected<NodeId, rpc::Status> done) {
           done ? answer_members<pb::MemberUpdateResponse>(caller) : caller->refuse(done.error());
         }});
}

// The leader knows at once whether the learner is in sync. Others ask for the change, and take that back if
// nothing comes of it.
void Front::member_promote(const pb::MemberPromoteRequest& request, const CallerPtr& caller) {
  const NodeId id = id_in(request.id());
  const cluster::Server& server = machine_.server();
  const cluster::BookMember* const member = server.book().find(id);
  if (!member) return caller->refuse(member_not_found);
  const bool votes = server.book().voters.contains(id);
  if (!votes && server.leads() && !server.has_caught_up(id)) return caller->refuse(not_in_sync);
  await({.change = cluster::Promote{id},
         .is_done = [this](NodeId one) { return machine_.server().book().voters.contains(one); },
         .late = not_in_sync,
         .patience = promote_patience,
         .then =
             [this, caller, id, was_to_vote = member->votes](std::expected<NodeId, rpc::Status> done) {
               if (done) return answer_members<pb::MemberPromoteResponse>(caller);
               if (done.error() == not_in_sync && !was_to_vote)
                 machine_.server().change(cluster::Promote{id, false});
               caller->refuse(done.error());
             }});
}

// Answers when the newcomer has its id; when it has caught up, it takes the other's place.
void Front::replace_member(const conclavepb::ReplaceMemberRequest& request, const CallerPtr& caller) {
  const NodeId id = id_in(request.member_id());
  const auto address = address_in_url("http://" + request.address());
  if (!address) return caller->refuse(bad_urls);
  const NodeSet voters = machine_.server().status().voters;
  NodeSet then = voters.without(id);
  const NodeId newcomer = {UINT32_MAX};
  then.insert(newcomer);
  if (const rpc::Status no = objection(then, newcomer); !no.ok() && !request.force())
    return caller->refuse(no);
  await(
      {.change = cluster::Enter{.host = address->host, .port = address->port, .votes = true, .replaces = id},
       .then = [caller](std::expected<NodeId, rpc::Status> added) {
         if (!added) return caller->refuse(added.error());
         conclavepb::ReplaceMemberResponse response;
         response.set_member_id(added->value);
         caller->answer(response);
       }});
}

// Answers when the other one leads.
void Front::move_leader(const pb::MoveLeaderRequest& request, const CallerPtr& caller) {
  cluster::Server& server = machine_.server();
  const NodeId to = id_in(request.targetid());
  if (!server.leads()) return caller->refuse(not_leader);
  if (!server.status().voters.contains(to)) return caller->refuse(bad_transferee);
  if (to != self_) server.transfer(to);
  await({.is_done = [this](NodeId heir) { return machine_.server().leader() == heir; },
         .then =
             [this, caller](std::expected<NodeId, rpc::Status> done) {
               if (!done) return caller->refuse(done.error());
               pb::MoveLeaderResponse response;
               head(response.mutable_header(), machine_.store().revision());
               caller->answer(response);
             },
         .member = to});
}

// ---- waiting until it is so

void Front::await(Change change) {
  if (!machine_.trouble().ok()) return change.then(std::unexpected(machine_.trouble()));
  if (changes_.size() >= most_changes) return change.then(std::unexpected(too_many_requests));
  if (change.change) change.serial = machine_.server().change(*change.change);
  const auto patience = change.patience == 0ms ? machine_.options().patience : change.patience;
  change.deadline = std::chrono::steady_clock::now() + patience;
  changes_.push_back(std::move(change));
  if (changes_.size() == 1) look_at_changes();
}

void Front::change_answered(std::uint64_t serial, const std::expected<NodeId, BookError>& done) {
  const auto found = std::ranges::find(changes_, serial, &Change::serial);
  if (found == changes_.end()) return;
  found->serial = 0;
  if (done) {
    found->member = *done;
    return look_at_changes();
  }
  Change refused = std::move(*found);
  changes_.erase(found);
  refused.then(std::unexpected(status_of(done.error())));
}

void Front::look_at_changes() {
  const auto now = std::chrono::steady_clock::now();
  std::list<Change> over;
  for (auto one = changes_.begin(); one != changes_.end();) {
    const auto next = std::next(one);
    const bool done = one->serial == 0 && (!one->is_done || one->is_done(one->member));
    if (!done && one->deadline > now) {
      one = next;
      continue;
    }
    if (done) one->late = {};
    over.splice(over.end(), changes_, one);
    one = next;
  }
  for (Change& change : over) {
    if (change.late.ok())
      change.then(change.member);
    else
      change.then(std::unexpected(change.late));
  }
  if (changes_.empty()) return;
  change_timer_.expires_after(look_every);
  change_timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) look_at_changes();
  });
}

}  // namespace conclave::etcd
