#include "desk/desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "core/ensure.hpp"
#include "desk/offer.hpp"
#include "rpc/name_number.hpp"

namespace conclave::desk {

namespace {

constexpr std::string_view lock_prefix = "lock/";
constexpr std::string_view election_prefix = "election/";
constexpr std::size_t most_callers = 100;  // with one lease for one name
static_assert(longest_client_name + election_prefix.size() <= live::longest_name);

// What a group tells when there is no desk any more.
live::GroupEvents deaf() {
  const auto ignore = [](const auto&...) {};
  return {.granted = ignore,
          .lost = ignore,
          .elected = ignore,
          .noted = ignore,
          .peer_up = ignore,
          .peer_down = ignore,
          .peer_evicted = ignore};
}

}  // namespace

Desk::Desk(rpc::Server& server, live::Group& group, Options options, live::Log log)
    : server_(server),
      group_(group),
      options_(std::move(options)),
      log_(std::move(log)),
      elects_(group.kind() == live::Group::Kind::elections),
      self_(group.status().self),
      leases_(server.loop(), self_, options_.leases, [this](const Leases::Gone& gone) { lease_ended(gone); }),
      lines_(options_.lines,
             {.ask = [this](const std::string& place) { ask(place); },
              .give_back = [this](const std::string& place) { give_back(place); },
              .later =
                  [this](std::function<void()> then) {
                    boost::asio::post(server_.loop(),
                                      [then = std::move(then), alive = std::weak_ptr(alive_)] {
                                        if (!alive.expired()) then();
                                      });
                  }},
             {.holds = [this](Claim& claim) { hold(claim); },
              .ended = [this](const Claim& claim) { claim_ended(claim); },
              .lost = [this](const Claim& claim, const std::string& why) { claim_lost(claim, why); },
              .stray_grant =
                  [this](const std::string& place) {
                    log_(live::LogLevel::debug, "grant_not_needed name=" + live::in_quotes(place));
                  }}),
      leaders_(options_.leaders) {
  look_at_the_group();
  hear_the_group();
  server_.on_disconnect([this](rpc::ConnectionId connection) { connection_gone(connection); });
  offer_leases();
  offer_locks();
  offer_elections();
  offer_status();
  offer_etcd_status();
  offer_pages();
}

Desk::~Desk() {
  close();
  server_.on_disconnect(nullptr);
  group_.listen(deaf());
}

void Desk::close() {
  closed_ = true;
  lines_.dismiss(server_stopped);
  for (const auto& [name, observers] : std::exchange(observers_, {}))
    for (const auto& [number, observer] : observers) observer->caller->refuse(server_stopped);
  for (const auto& [name, askings] : std::exchange(askings_, {}))
    for (const auto& [number, asking] : askings) asking->caller->refuse(server_stopped);
}

void Desk::look_at_the_group() {
  const live::GroupStatus now = group_.status();
  engine_ = now.engine;
  cluster_ = rpc::number_of_name(now.group);
  epoch_ = now.epoch;
  for (const live::MemberStatus& member : now.members) {
    if (member.self) continue;
    if (member.up) up_.insert(member.id);
    incarnations_[member.id] = member.incarnation;
  }
}

void Desk::hear_the_group() {
  group_.listen({
      .granted = [this](const std::string& name, std::uint64_t fence) { lines_.granted(name, fence); },
      .lost = [this](const std::string& name, const std::string& why) { lines_.lost(name, why); },
      .elected = [this](const std::string& name, std::optional<NodeId> leader) { elected(name, leader); },
      .noted = [this](NodeId from, live::ByteView note) { hear_note(from, note); },
      .peer_up = [this](NodeId peer) { peer_up(peer); },
      .peer_down = [this](NodeId peer) { peer_down(peer); },
      .peer_evicted = [this](NodeId peer) { peer_evicted(peer); },
  });
}

// A peer may have come back as another process, or have missed what was said while it was away. It is told
// all that is true now.
void Desk::peer_up(NodeId peer) {
  const std::uint64_t before = incarnations_[peer];
  look_at_the_group();
  up_.insert(peer);
  if (before != 0 && incarnations_[peer] != before) leaders_.forget(peer);
  send_note(peer, Anew{});
  for (const Leads* leads : leaders_.all_of(self_)) send_note(peer, *leads);
  leaders_changed();
}

// What its clients lead they may lead still.
void Desk::peer_down(NodeId peer) { up_.erase(peer); }

void Desk::peer_evicted(NodeId peer) {
  look_at_the_group();
  up_.erase(peer);
  leaders_.forget(peer);
  leaders_changed();
}

void Desk::hear_note(NodeId from, live::ByteView bytes) {
  const std::expected<Note, NoteError> note = decode_note(bytes);
  if (note && leaders_.take(from, *note)) return leaders_changed();
  ++stats_.notes_refused;
  log_(live::LogLevel::warning,
       fmt::format("note_refused from={} why={}", from.value,
                   live::in_quotes(note ? "it told too much" : describe(note.error()))));
}

// ---- names

std::string Desk::place_of(Kind kind, const std::string& name) {
  return std::string(kind == Kind::lock ? lock_prefix : election_prefix) + name;
}
Desk::Kind Desk::kind_of(const std::string& place) {
  return place.starts_with(lock_prefix) ? Kind::lock : Kind::election;
}
std::string Desk::name_of(const std::string& place) {
  return place.substr(kind_of(place) == Kind::lock ? lock_prefix.size() : election_prefix.size());
}

etcdserverpb::ResponseHeader Desk::header() const {
  etcdserverpb::ResponseHeader header;
  header.set_cluster_id(cluster_);
  header.set_member_id(self_.value);
  header.set_revision(static_cast<std::int64_t>(greatest_fence_));
  header.set_raft_term(epoch_);
  return header;
}

void Desk::when_promised(std::chrono::seconds time, std::move_only_function<void()> then) {
  if (time <= promised_) return then();
  ++waiting_for_promise_;
  group_.promise_longest_lease(time,
                               [this, time, then = std::move(then), alive = std::weak_ptr(alive_)]() mutable {
                                 if (alive.expired()) return;
                                 --waiting_for_promise_;
                                 promised_ = std::max(promised_, time);
                                 then();
                               });
}

// ---- what the lines ask of the group

void Desk::ask(const std::string& place) {
  if (!elects_) return group_.acquire(place);
  if (group_.leader(place) == self_) lines_.granted(place, ++wins_);
}

void Desk::give_back(const std::string& place) {
  if (!elects_) group_.release(place);
}

// ---- standing in line

bool Desk::check_line(Kind kind, const std::string& name, LeaseId lease, const std::string& value,
                      const CallerPtr& caller) {
  const auto refuse = [&](rpc::Code code, std::string text) {
    caller->refuse({code, std::move(text)});
    return false;
  };
  const std::string what = kind == Kind::lock ? "lock" : "election";
  if (name.empty()) return refuse(rpc::Code::invalid_argument, "the name of the " + what + " is empty");
  if (name.size() > longest_client_name)
    return refuse(rpc::Code::invalid_argument,
                  fmt::format("the name of the {} has {} bytes; at most {} are allowed", what, name.size(),
                              longest_client_name));
  if (value.size() > longest_value)
    return refuse(rpc::Code::invalid_argument, "etcdserver: request is too large");
  if (lease != 0 && !leases_.exists(lease))
    return refuse(rpc::Code::not_found, "etcdserver: requested lease not found");
  return true;
}

void Desk::turn_away(const CallerPtr& caller) {
  ++stats_.turned_away;
  caller->refuse({rpc::Code::resource_exhausted, "etcdserver: too many requests"});
}

void Desk::stand_in_line(Kind kind, const std::string& name, LeaseId lease, const std::string& value,
                         const CallerPtr& caller) {
  if (!check_line(kind, name, lease, value, caller)) return;
  const std::string place = place_of(kind, name);
  // No client names a lease like a call, so that a key is never somebody else's.
  const std::string id = place + (lease != 0 ? "/" + in_hex(lease) : "/call-" + in_hex(leases_.fresh_id()));
  if (Claim* mine = lines_.find(id)) {
    if (kind == Kind::election && mine->value != value) {
      if (!change_value(*mine, value)) return turn_away(caller);
    }
    if (mine->callers.size() >= most_callers) return turn_away(caller);
    if (mine->holds() && mine->callers.empty()) return answer(*mine, caller);
    wait_with(*mine, caller);
    if (mine->holds()) hold(*mine);  // it was granted to callers that had gone
    return;
  }
  if (!lines_.has_room(place) || value_bytes_ + value.size() > options_.value_bytes) return turn_away(caller);
  auto part = claimed_.take(caller->peer());
  if (!part) return turn_away(caller);
  Claim claim = {.id = id,
                 .place = place,
                 .lease = lease,
                 .connection = caller->peer().connection,
                 .client = caller->peer().address,
                 .value = value,
                 .part = std::move(*part)};
  if (lease != 0) return join_line(std::move(claim), caller);
  if (waiting_for_promise_ >= options_.lines.waiting_per_place) return turn_away(caller);
  when_promised(options_.silence, [this, claim = std::move(claim), caller]() mutable {
    if (caller->over()) return;
    if (!lines_.has_room(claim.place)) return turn_away(caller);
    join_line(std::move(claim), caller);
  });
}

void Desk::join_line(Claim claim, const CallerPtr& caller) {
  value_bytes_ += claim.value.size();
  if (claim.lease != 0)
    leases_.attach(claim.lease, claim.id);
  else
    bound_[claim.connection].insert(claim.id);
  wait_with(claim, caller);
  lines_.join(std::move(claim));
}

void Desk::wait_with(Claim& claim, const CallerPtr& caller) {
  claim.callers.push_back(caller);
  caller->on_gone([this, id = claim.id, caller = caller.get(), connection = claim.connection] {
    slices_.run(connection, [this, id, caller] {
      caller_gone(id, caller);
      return false;
    });
  });
}

void Desk::caller_gone(const std::string& id, const Caller* caller) {
  Claim* claim = lines_.find(id);
  if (claim == nullptr || claim->holds()) return;
  std::erase_if(claim->callers, [&](const CallerPtr& waiting) { return waiting.get() == caller; });
  if (claim->callers.empty()) lines_.end(id);
}

// Whoever waited may be gone, and the claim not yet ended.
void Desk::hold(Claim& claim) {
  const auto is_gone = [](const CallerPtr& caller) { return caller->over(); };
  if (!claim.callers.empty() && std::ranges::all_of(claim.callers, is_gone))
    return slices_.run(claim.connection, [this, id = claim.id] {
      const Claim* const still = lines_.find(id);
      if (still && !still->callers.empty()) lines_.end(id);
      return false;
    });
  greatest_fence_ = std::max(greatest_fence_, claim.fence);
  ++(kind_of(claim.place) == Kind::lock ? stats_.locks_granted : stats_.elections_won);
  if (kind_of(claim.place) == Kind::election) publish(claim);
  for (const CallerPtr& caller : std::exchange(claim.callers, {})) answer(claim, caller);
}

void Desk::answer(const Claim& claim, const CallerPtr& caller) {
  const auto fence = static_cast<std::int64_t>(claim.fence);
  if (kind_of(claim.place) == Kind::lock) {
    v3lockpb::LockResponse response;
    fill(response.mutable_header());
    response.mutable_header()->set_revision(fence);
    response.set_key(key_of(claim));
    return caller->answer(response);
  }
  v3electionpb::CampaignResponse response;
  fill(response.mutable_header());
  response.mutable_header()->set_revision(fence);
  v3electionpb::LeaderKey& key = *response.mutable_leader();
  key.set_name(name_of(claim.place));
  key.set_key(key_of(claim));
  key.set_rev(fence);
  key.set_lease(claim.lease);
  caller->answer(response);
}

// ---- the end of a claim

void Desk::forget_bonds(const Claim& claim) {
  value_bytes_ -= claim.value.size();
  if (claim.lease != 0) return leases_.detach(claim.lease, claim.id);
  const auto bound = bound_.find(claim.connection);
  if (bound == bound_.end()) return;
  bound->second.erase(claim.id);
  if (bound->second.empty()) bound_.erase(bound);
}

void Desk::claim_ended(const Claim& claim) {
  forget_bonds(claim);
  if (claim.holds() && kind_of(claim.place) == Kind::election) withdraw(claim);
  // Who still waits for it asked with a lease that is gone, or was unlocked by somebody else.
  const rpc::Status gone = kind_of(claim.place) == Kind::lock
                               ? rpc::Status{rpc::Code::unknown, "mutex: session is expired"}
                               : rpc::Status{rpc::Code::not_found, "etcdserver: requested lease not found"};
  for (const CallerPtr& caller : claim.callers) caller->refuse(gone);
}

// Its client is told by whatever it watches: its lease ends, or its connection does.
void Desk::claim_lost(const Claim& claim, const std::string& why) {
  ++stats_.lost;
  log_(live::LogLevel::warning,
       fmt::format("lost name={} client={} fence={} why={}", live::in_quotes(claim.place), claim.client,
                   claim.fence, live::in_quotes(why)));
  forget_bonds(claim);
  if (kind_of(claim.place) == Kind::election) withdraw(claim);
  if (claim.lease != 0)
    leases_.end(claim.lease, LeaseEnd::lost);
  else
    server_.disconnect(claim.connection);
}

void Desk::connection_gone(rpc::ConnectionId connection) {
  if (!bound_.contains(connection)) return;
  slices_.run(connection, [this, connection] {
    const auto bound = bound_.find(connection);
    if (bound == bound_.end()) return false;
    lines_.end(std::string(*bound->second.begin()));
    return true;
  });
}

}  // namespace conclave::desk
