// etcd's Lock and Election services. A line is keys in the store; here stands who waits for which of them.
#include <limits>

#include "core/ensure.hpp"
#include "etcd/front.hpp"
#include "etcd/translate.hpp"

namespace conclave::etcd {

namespace lock_pb = v3lockpb;
namespace election_pb = v3electionpb;

namespace {

const rpc::Status session_expired = {rpc::Code::unknown, "mutex: session is expired"};
const rpc::Status not_leading = {rpc::Code::unknown, "election: not leader"};
const rpc::Status nobody_leads = {rpc::Code::unknown, "election: no leader"};
const rpc::Status leader_missing = {rpc::Code::unknown, "\"leader\" field must be provided"};
constexpr std::size_t most_under_way = 256;    // commands about places, at a time
constexpr std::size_t renewed_at_once = 1000;  // sessions
constexpr std::size_t part_bytes = 256;        // of a name, which is kept in several places

// Whoever stands under a long name takes more.
std::size_t parts_for(const std::string& name) { return 1 + name.size() / part_bytes; }

}  // namespace

void Front::offer_lines() {
  offer<lock_pb::LockRequest>(
      "/v3lockpb.Lock/Lock", "/v3/lock/lock",
      [this](const auto& request, const CallerPtr& caller) { lock(request, caller); });
  offer<lock_pb::UnlockRequest>(
      "/v3lockpb.Lock/Unlock", "/v3/lock/unlock",
      [this](const auto& request, const CallerPtr& caller) { unlock(request, caller); });
  const std::string service = "/v3electionpb.Election/";
  const std::string json = "/v3/election/";
  offer<election_pb::CampaignRequest>(
      service + "Campaign", json + "campaign",
      [this](const auto& request, const CallerPtr& caller) { campaign(request, caller); });
  offer<election_pb::ProclaimRequest>(
      service + "Proclaim", json + "proclaim",
      [this](const auto& request, const CallerPtr& caller) { proclaim(request, caller); });
  offer<election_pb::ResignRequest>(
      service + "Resign", json + "resign",
      [this](const auto& request, const CallerPtr& caller) { resign(request, caller); });
  offer<election_pb::LeaderRequest>(
      service + "Leader", json + "leader",
      [this](const auto& request, const CallerPtr& caller) { leader(request, caller); });
  offer<election_pb::LeaderRequest>(
      service + "Observe", json + "observe",
      [this](const auto& request, const CallerPtr& caller) { observe(request, caller); }, true);
}

void Front::lock(const lock_pb::LockRequest& request, const CallerPtr& caller) {
  stand_in_line(Kind::lock, request.name(), request.lease(), {}, caller);
}

void Front::campaign(const election_pb::CampaignRequest& request, const CallerPtr& caller) {
  stand_in_line(Kind::election, request.name(), request.lease(), request.value(), caller);
}

// As with etcd, a key that is not there is unlocked already.
void Front::unlock(const lock_pb::UnlockRequest& request, const CallerPtr& caller) {
  run<lock_pb::UnlockResponse, kv::DeleteResult>(kv::DeleteRange{.key = request.key()}, caller,
                                                 [](auto&, const auto&) {});
}

// ---- standing in line

void Front::stand_in_line(Kind kind, const std::string& name, kv::LeaseId lease, const std::string& value,
                          const CallerPtr& caller) {
  auto part = waiting_.take(caller->peer(), parts_for(name));
  if (!part) return caller->refuse(too_many_requests);
  Waiter waiter = {.kind = kind,
                   .caller = caller,
                   .name = name,
                   .lease = lease,
                   .is_session = lease == 0,
                   .part = std::move(*part)};
  if (lease != 0) return take_place(std::move(waiter), value);
  begin_session(caller, [this, waiter = std::move(waiter), value](kv::LeaseId session) mutable {
    waiter.lease = session;
    take_place(std::move(waiter), value);
  });
}

void Front::take_place(Waiter waiter, const std::string& value) {
  waiter.key = kv::key_in_line(waiter.name, waiter.lease);
  want(waiter);
  const rpc::ConnectionId whose = waiter.caller->peer().connection;
  in_turn(whose, [this, waiter = std::move(waiter), value]() mutable {
    if (waiter.caller->over()) {
      leave(std::move(waiter), false);
      return false;
    }
    const std::string name = waiter.name;  // the command borrows it
    const kv::Command command = waiter.kind == Kind::lock
                                    ? kv::Command(kv::Lock{name, waiter.lease})
                                    : kv::Command(kv::Campaign{name, waiter.lease, value});
    machine_.propose(command, [this, waiter = std::move(waiter)](const Machine::Outcome& outcome) mutable {
      placed(std::move(waiter), outcome);
      turn_is_over();
    });
    return true;
  });
}

void Front::placed(Waiter waiter, const Machine::Outcome& outcome) {
  if (!outcome) {
    const CallerPtr caller = waiter.caller;
    leave(std::move(waiter), false);
    return caller->refuse(outcome.error());
  }
  const auto& place = std::get<kv::PlaceInLine>(outcome->result);
  line_times_.note_client(place.key, waiter.caller->peer().address);
  // A place that was there before belongs to an earlier call of the same client.
  if (waiter.caller->over()) return leave(std::move(waiter), place.fence == outcome->revision);
  if (place.is_first) return served(waiter, place.fence);
  wait(std::move(waiter));
}

void Front::wait(Waiter waiter) {
  const kv::WaiterId id = next_waiter_++;
  waiter.caller->on_gone([this, id, connection = waiter.caller->peer().connection] {
    slices_.run(connection, [this, id] {
      give_up(id);
      return false;
    });
  });
  const Waiter& waits = waiters_.emplace(id, std::move(waiter)).first->second;
  std::vector<kv::Turn> turns;
  machine_.lines().wait(waits.name, waits.key, id, turns);
  call_up(turns);
}

std::optional<Front::Waiter> Front::forget(kv::WaiterId id) {
  auto found = waiters_.extract(id);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

// Whose turn it is may be gone, and the place not yet given up.
void Front::call_up(const std::vector<kv::Turn>& turns) {
  for (const kv::Turn& turn : turns) {
    auto waiter = forget(turn.waiter);
    if (!waiter) continue;
    if (!turn.place) {
      const rpc::Status gone = waiter->kind == Kind::lock ? session_expired : lease_not_found;
      const CallerPtr caller = waiter->caller;
      leave(std::move(*waiter), false);
      caller->refuse(gone);
    } else if (waiter->caller->over()) {
      leave(std::move(*waiter), true);
    } else {
      served(*waiter, turn.place->create());
    }
  }
}

void Front::served(const Waiter& waiter, kv::Revision fence) {
  if (!waiter.is_session) {
    const auto wanted = wanted_.find(waiter.key);
    ensure(wanted != wanted_.end(), "a place is wanted as long as a call is not answered");
    wanted->second.is_given_up = false;
    if (--wanted->second.calls == 0) wanted_.erase(wanted);
  }
  if (waiter.kind == Kind::lock) {
    lock_pb::LockResponse response;
    head(response.mutable_header(), fence);
    response.set_key(waiter.key);
    return waiter.caller->answer(response);
  }
  election_pb::CampaignResponse response;
  head(response.mutable_header(), fence);
  election_pb::LeaderKey& key = *response.mutable_leader();
  key.set_name(waiter.name);
  key.set_key(waiter.key);
  key.set_rev(fence);
  key.set_lease(waiter.lease);
  waiter.caller->answer(response);
}

void Front::give_up(kv::WaiterId id) {
  machine_.lines().leave(id);
  if (auto waiter = forget(id)) leave(std::move(*waiter), true);
}

// ---- commands about places
//
// A client may want very many places at once, or leave them, and others have something to say meanwhile: few
// of these commands are under way at a time, and connections take turns.

void Front::in_turn(rpc::ConnectionId whose, std::move_only_function<bool()> begin) {
  errands_[whose].push_back(std::move(begin));
  take_turns();
}

void Front::take_turns() {
  if (std::exchange(taking_turns_, true)) return;  // what one begins may ask for another
  while (under_way_ < most_under_way && !errands_.empty()) {
    auto next = errands_.upper_bound(last_turn_);
    if (next == errands_.end()) next = errands_.begin();
    last_turn_ = next->first;
    auto begin = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty()) errands_.erase(next);
    if (begin()) ++under_way_;
  }
  taking_turns_ = false;
}

void Front::turn_is_over() {
  --under_way_;
  take_turns();
}

// ---- places that are left

// A place that is wanted again is not left: who comes back with the same lease finds it, and may hold it.
void Front::want(const Waiter& waiter) {
  if (waiter.is_session) return;
  Wanted& wanted = wanted_[waiter.key];
  ++wanted.calls;
  wanted.is_left = false;
}

// The place goes with the last who wants it here, if one of those who left had it.
void Front::leave(Waiter waiter, bool had_it) {
  if (waiter.is_session) return end_session(waiter.lease);
  const auto wanted = wanted_.find(waiter.key);
  ensure(wanted != wanted_.end(), "a place is wanted as long as a call is not answered");
  Wanted& place = wanted->second;
  place.is_given_up |= had_it;
  if (--place.calls > 0) return;
  if (!place.is_given_up) {
    wanted_.erase(wanted);
    return;
  }
  place.is_left = true;
  in_turn(waiter.caller->peer().connection,
          [this, key = std::move(waiter.key), part = std::move(waiter.part)]() mutable {
            const auto left = wanted_.find(key);
            if (left == wanted_.end() || !left->second.is_left) return false;
            wanted_.erase(left);
            machine_.propose(kv::DeleteRange{.key = key},
                             [this, part = std::move(part)](const Machine::Outcome&) { turn_is_over(); });
            return true;
          });
}

// ---- leases that live with a connection

void Front::begin_session(const CallerPtr& caller, std::move_only_function<void(kv::LeaseId)> then) {
  auto part = lasting_.take(caller->peer());
  if (!part) return caller->refuse(too_many_requests);
  in_turn(caller->peer().connection,
          [this, caller, part = std::move(*part), then = std::move(then)]() mutable {
            if (caller->over()) return false;
            machine_.propose(kv::LeaseGrant{0, options_.session.count()},
                             [this, caller, part = std::move(part),
                              then = std::move(then)](const Machine::Outcome& outcome) mutable {
                               session_begun(caller, std::move(part), std::move(then), outcome);
                               turn_is_over();
                             });
            return true;
          });
}

void Front::session_begun(const CallerPtr& caller, rpc::Shares::Part part,
                          std::move_only_function<void(kv::LeaseId)> then, const Machine::Outcome& outcome) {
  if (!outcome) return caller->refuse(outcome.error());
  const kv::LeaseId lease = std::get<kv::LeaseResult>(outcome->result).id;
  const rpc::ConnectionId connection = caller->peer().connection;
  sessions_[lease] = {connection, std::move(part)};
  sessions_by_connection_[connection].insert(lease);
  if (caller->over()) return end_session(lease);
  then(lease);
}

std::optional<Front::Session> Front::forget_session(kv::LeaseId lease) {
  auto found = sessions_.extract(lease);
  if (found.empty()) return std::nullopt;
  const auto bound = sessions_by_connection_.find(found.mapped().connection);
  bound->second.erase(lease);
  if (bound->second.empty()) sessions_by_connection_.erase(bound);
  return std::move(found.mapped());
}

void Front::end_session(kv::LeaseId lease) {
  auto session = forget_session(lease);
  if (!session || !machine_.store().leases().find(lease)) return;
  in_turn(session->connection, [this, lease, part = std::move(session->part)]() mutable {
    machine_.propose(kv::LeaseRevoke{lease},
                     [this, part = std::move(part)](const Machine::Outcome&) { turn_is_over(); });
    return true;
  });
}

// Whoever lost one learns it at once: its connection ends.
void Front::lose_session(kv::LeaseId lease) {
  if (const auto session = forget_session(lease)) server_.disconnect(session->connection);
}

void Front::connection_gone(rpc::ConnectionId connection) {
  if (!sessions_by_connection_.contains(connection)) return;
  slices_.run(connection, [this, connection] {
    const auto bound = sessions_by_connection_.find(connection);
    if (bound == sessions_by_connection_.end()) return false;
    end_session(*bound->second.begin());
    return true;
  });
}

// A place that is gone, by whatever command and whichever member, leaves nothing to a session; and a session
// whose lease is gone has lost its place.
void Front::look_at_sessions(const kv::Outcome& outcome) {
  if (sessions_.empty()) return;
  for (const kv::LeaseId lease : outcome.ended) lose_session(lease);
  for (const kv::Event& event : outcome.events) {
    if (!event.now->is_deletion() || !event.before || event.before->lease() == 0) continue;
    if (sessions_.contains(event.before->lease()) && kv::line_of(event.before.key(), event.before->lease()))
      end_session(event.before->lease());
  }
}

// Some at a time, one after the other: all together would hold up everybody, at every member.
void Front::renew_sessions() {
  if (!std::exchange(renewing_, true)) renew_sessions_after(std::numeric_limits<kv::LeaseId>::min());
  session_timer_.expires_after(options_.session / 3);
  session_timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) renew_sessions();
  });
}

void Front::renew_sessions_after(kv::LeaseId last) {
  std::vector<kv::LeaseId> some;
  for (auto at = sessions_.upper_bound(last); at != sessions_.end() && some.size() < renewed_at_once; ++at)
    some.push_back(at->first);
  renewing_ = !some.empty();
  for (const kv::LeaseId lease : some)
    machine_.renew(lease, [this, lease, is_last = lease == some.back()](const auto& ttl) {
      if (ttl && *ttl == 0) lose_session(lease);
      if (is_last) renew_sessions_after(lease);
    });
}

// ---- elections

void Front::proclaim(const election_pb::ProclaimRequest& request, const CallerPtr& caller) {
  if (!request.has_leader()) return caller->refuse(leader_missing);
  const election_pb::LeaderKey& key = request.leader();
  machine_.propose(kv::proclaim(key.key(), key.rev(), request.value(), key.lease()),
                   [this, caller](const Machine::Outcome& outcome) {
                     if (!outcome) return caller->refuse(outcome.error());
                     if (!std::get<kv::TxnResult>(outcome->result).succeeded)
                       return caller->refuse(not_leading);
                     election_pb::ProclaimResponse response;
                     head(response.mutable_header(), outcome->revision);
                     caller->answer(response);
                   });
}

// As with etcd, who does not lead has resigned already.
void Front::resign(const election_pb::ResignRequest& request, const CallerPtr& caller) {
  if (!request.has_leader()) return caller->refuse(leader_missing);
  const election_pb::LeaderKey& key = request.leader();
  run<election_pb::ResignResponse, kv::TxnResult>(kv::resign(key.key(), key.rev()), caller,
                                                  [](auto&, const auto&) {});
}

kv::RecordRef Front::leader_of(const std::string& name) const {
  return machine_.store().oldest({name + '/', name + '0'});  // '0' comes after '/'
}

void Front::leader(const election_pb::LeaderRequest& request, const CallerPtr& caller) {
  machine_.read([this, name = request.name(), caller](const rpc::Status& status) {
    if (!status.ok()) return caller->refuse(status);
    const kv::RecordRef leads = leader_of(name);
    if (!leads) return caller->refuse(nobody_leads);
    election_pb::LeaderResponse response;
    head(response.mutable_header(), machine_.store().revision());
    *response.mutable_kv() = message_of(leads);
    caller->answer(response);
  });
}

void Front::observe(const election_pb::LeaderRequest& request, const CallerPtr& caller) {
  if (request.name().size() > kv::max_name) return caller->refuse(status_of(kv::Error::request_too_large));
  if (!machine_.trouble().ok()) return caller->refuse(machine_.trouble());
  auto part = observing_.take(caller->peer(), parts_for(request.name()));
  if (!part) return caller->refuse(too_many_requests);
  const auto observer = std::make_shared<Observer>(Observer{.caller = caller, .part = std::move(*part)});
  const std::string name = request.name();
  const std::uint64_t id = next_observer_++;
  audiences_[name].observers.emplace(id, observer);
  caller->on_gone([this, name, id, connection = caller->peer().connection] {
    slices_.run(connection, [this, name, id] {
      stop_observing(name, id);
      return false;
    });
  });
  show(name, observer);
}

void Front::stop_observing(const std::string& name, std::uint64_t observer) {
  const auto at = audiences_.find(name);
  if (at == audiences_.end()) return;
  at->second.observers.erase(observer);
  if (at->second.observers.empty()) audiences_.erase(at);
}

// Tells who leads now, if the observer does not know it. One that reads slowly misses who led in between, and
// never the last.
void Front::show(const std::string& name, const std::shared_ptr<Observer>& observer) {
  if (observer->waits_for_room) return;
  if (observer->caller->congested()) {
    observer->waits_for_room = true;
    return observer->caller->on_room([this, name, weak = std::weak_ptr(observer)] {
      const auto still = weak.lock();
      if (!still) return;
      still->waits_for_room = false;
      show(name, still);
    });
  }
  const kv::RecordRef leads = leader_of(name);
  const auto is_known = [&] {
    const kv::RecordRef& told = observer->told;
    return told && told->mod == leads->mod && told.key() == leads.key();
  };
  if (!leads || is_known()) return;
  observer->told = leads;
  election_pb::LeaderResponse response;
  head(response.mutable_header(), machine_.store().revision());
  *response.mutable_kv() = message_of(leads);
  observer->caller->tell(response);
}

// The elections a key may stand in: one for each '/' in it.
void Front::show_all(const kv::Outcome& outcome) {
  if (audiences_.empty()) return;
  std::set<std::string> names;
  for (const kv::Event& event : outcome.events) {
    const std::string_view key = event.now.key();
    for (std::size_t slash = key.find('/'); slash <= kv::max_name; slash = key.find('/', slash + 1))
      if (audiences_.contains(key.substr(0, slash))) names.insert(std::string(key.substr(0, slash)));
  }
  for (const std::string& name : names) show_audience(name);
}

// From the first to the last, a little at a time; what changes meanwhile is shown by another round, and who
// was shown it already is not told again.
void Front::show_audience(const std::string& name) {
  Audience& audience = audiences_.at(name);
  audience.is_outdated = true;
  if (std::exchange(audience.is_shown, true)) return;
  const rpc::ConnectionId whose = audience.observers.begin()->second->caller->peer().connection;
  slices_.run(whose, [this, name, last = std::uint64_t{0}]() mutable {
    const auto found = audiences_.find(name);
    if (found == audiences_.end()) return false;
    Audience& here = found->second;
    if (last == 0) here.is_outdated = false;
    const auto next = here.observers.upper_bound(last);
    if (next != here.observers.end()) {
      last = next->first;
      const std::shared_ptr<Observer> observer = next->second;  // telling may end it
      show(name, observer);
      return true;
    }
    last = 0;
    here.is_shown = here.is_outdated;
    return here.is_shown;
  });
}

}  // namespace conclave::etcd
