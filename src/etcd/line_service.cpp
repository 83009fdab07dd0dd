// etcd's Lock and Election services. A line is keys in the store; here stands who waits for which of them.
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

// As with etcd, a key that is not there is unlocked already. What lives with a connection goes with its
// lease.
void Front::unlock(const lock_pb::UnlockRequest& request, const CallerPtr& caller) {
  const kv::Key* key = machine_.store().history().keys().find(request.key());
  const kv::LeaseId lease = key && key->exists() ? key->newest->lease : 0;
  if (sessions_.contains(lease)) end_session(lease);
  run<lock_pb::UnlockResponse, kv::DeleteResult>(kv::DeleteRange{.key = request.key()}, caller,
                                                 [](auto&, const auto&) {});
}

// ---- standing in line

void Front::stand_in_line(Kind kind, const std::string& name, kv::LeaseId lease, const std::string& value,
                          const CallerPtr& caller) {
  if (waiters_.size() + placing_ >= options_.waiting) return caller->refuse(too_many_requests);
  Waiter waiter = {kind, caller, name, {}, lease, lease == 0};
  if (lease != 0) return take_place(std::move(waiter), value);
  begin_session(caller, [this, waiter = std::move(waiter), value](kv::LeaseId session) mutable {
    waiter.lease = session;
    take_place(std::move(waiter), value);
  });
}

void Front::take_place(Waiter waiter, const std::string& value) {
  ++placing_;
  const kv::Command command = waiter.kind == Kind::lock
                                  ? kv::Command(kv::Lock{waiter.name, waiter.lease})
                                  : kv::Command(kv::Campaign{waiter.name, waiter.lease, value});
  machine_.propose(command, [this, waiter](const Machine::Outcome& outcome) mutable {
    --placing_;
    if (!outcome) {
      if (waiter.is_session) end_session(waiter.lease);
      return waiter.caller->refuse(outcome.error());
    }
    const auto& place = std::get<kv::PlaceInLine>(outcome->result);
    waiter.key = place.key;
    line_times_.note_client(place.key, waiter.caller->peer().address);
    if (waiter.caller->over()) {
      // A place that was there before belongs to an earlier call of the same client.
      if (place.fence == outcome->revision) leave_place(waiter);
    } else if (place.is_first) {
      answer_place(waiter, place.fence);
    } else {
      wait(std::move(waiter));
    }
  });
}

void Front::wait(Waiter waiter) {
  const kv::WaiterId id = next_waiter_++;
  waiter.caller->on_gone([this, id] { give_up(id); });
  ++waiting_at_[waiter.key];
  const Waiter& waits = waiters_.emplace(id, std::move(waiter)).first->second;
  std::vector<kv::Turn> turns;
  machine_.lines().wait(waits.name, waits.key, id, turns);
  call_up(turns);
}

std::optional<Front::Waiter> Front::forget(kv::WaiterId id) {
  auto found = waiters_.extract(id);
  if (found.empty()) return std::nullopt;
  const auto count = waiting_at_.find(found.mapped().key);
  if (--count->second == 0) waiting_at_.erase(count);
  return std::move(found.mapped());
}

void Front::call_up(const std::vector<kv::Turn>& turns) {
  for (const kv::Turn& turn : turns) {
    const auto waiter = forget(turn.waiter);
    if (!waiter) continue;
    if (turn.place) {
      answer_place(*waiter, turn.place->create);
      continue;
    }
    if (waiter->is_session) end_session(waiter->lease);
    waiter->caller->refuse(waiter->kind == Kind::lock ? session_expired : lease_not_found);
  }
}

void Front::answer_place(const Waiter& waiter, kv::Revision fence) {
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

// The place goes with the last who waits for it here.
void Front::give_up(kv::WaiterId id) {
  machine_.lines().leave(id);
  const auto waiter = forget(id);
  if (waiter && !waiting_at_.contains(waiter->key)) leave_place(*waiter);
}

void Front::leave_place(const Waiter& waiter) {
  if (waiter.is_session) return end_session(waiter.lease);
  machine_.propose(kv::DeleteRange{.key = waiter.key}, [](const Machine::Outcome&) {});
}

// ---- leases that live with a connection

void Front::begin_session(const CallerPtr& caller, std::move_only_function<void(kv::LeaseId)> then) {
  ++placing_;
  machine_.propose(kv::LeaseGrant{0, options_.session.count()},
                   [this, caller, then = std::move(then)](const Machine::Outcome& outcome) mutable {
                     --placing_;
                     if (!outcome) return caller->refuse(outcome.error());
                     const kv::LeaseId lease = std::get<kv::LeaseResult>(outcome->result).id;
                     const rpc::ConnectionId connection = caller->peer().connection;
                     sessions_[lease] = connection;
                     sessions_by_connection_[connection].insert(lease);
                     if (caller->over()) return end_session(lease);
                     then(lease);
                   });
}

void Front::end_session(kv::LeaseId lease) {
  const auto found = sessions_.extract(lease);
  if (found.empty()) return;
  const auto bound = sessions_by_connection_.find(found.mapped());
  if (bound != sessions_by_connection_.end()) {
    bound->second.erase(lease);
    if (bound->second.empty()) sessions_by_connection_.erase(bound);
  }
  machine_.propose(kv::LeaseRevoke{lease}, [](const Machine::Outcome&) {});
}

void Front::connection_gone(rpc::ConnectionId connection) {
  const auto bound = sessions_by_connection_.find(connection);
  if (bound == sessions_by_connection_.end()) return;
  const std::set<kv::LeaseId> leases = bound->second;
  for (const kv::LeaseId lease : leases) end_session(lease);
}

// Whoever lost one learns it at once: its connection ends.
void Front::renew_sessions() {
  for (const auto& [lease, connection] : sessions_)
    machine_.renew(lease, [this, id = lease](const std::expected<std::int64_t, rpc::Status>& ttl) {
      const auto found = sessions_.find(id);
      if (!ttl || *ttl > 0 || found == sessions_.end()) return;
      const rpc::ConnectionId lost = found->second;
      end_session(id);
      server_.disconnect(lost);
    });
  session_timer_.expires_after(options_.session / 3);
  session_timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) renew_sessions();
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
  if (observing_ >= options_.observers) return caller->refuse(too_many_requests);
  ++observing_;
  const auto observer = std::make_shared<Observer>(Observer{caller});
  const std::string name = request.name();
  observers_[name].push_back(observer);
  caller->on_gone([this, name, who = observer.get()] { stop_observing(name, who); });
  show(name, observer);
}

void Front::stop_observing(const std::string& name, const Observer* observer) {
  const auto at = observers_.find(name);
  if (at == observers_.end()) return;
  observing_ -= std::erase_if(at->second, [&](const auto& other) { return other.get() == observer; });
  if (at->second.empty()) observers_.erase(at);
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
  if (observers_.empty()) return;
  std::set<std::string> names;
  for (const kv::Event& event : outcome.events) {
    const std::string_view key = event.now.key();
    for (std::size_t slash = key.find('/'); slash <= kv::max_name; slash = key.find('/', slash + 1))
      if (observers_.contains(key.substr(0, slash))) names.insert(std::string(key.substr(0, slash)));
  }
  for (const std::string& name : names) {
    const Observers present = observers_[name];  // telling may end one
    for (const auto& observer : present) show(name, observer);
  }
}

}  // namespace conclave::etcd
