// etcd's Election service. On engines with locks an election is a lock of its own whose holder has a value;
// on engines that elect members, the first in line at the elected member leads.
#include <fmt/format.h>

#include "desk/offer.hpp"

namespace conclave::desk {

namespace pb = v3electionpb;

namespace {

const rpc::Status not_leader = {rpc::Code::unknown, "election: not leader"};
const rpc::Status no_leader = {rpc::Code::unknown, "election: no leader"};
const rpc::Status leader_missing = {rpc::Code::unknown, "\"leader\" field must be provided"};
constexpr std::size_t most_elections = 100'000;

}  // namespace

void Desk::offer_elections() {
  const std::string service = "/v3electionpb.Election/";
  const std::string json = "/v3/election/";
  offer<pb::CampaignRequest>(
      service + "Campaign", json + "campaign",
      [this](const auto& request, const CallerPtr& caller) { campaign(request, caller); });
  offer<pb::ProclaimRequest>(
      service + "Proclaim", json + "proclaim",
      [this](const auto& request, const CallerPtr& caller) { proclaim(request, caller); });
  offer<pb::ResignRequest>(service + "Resign", json + "resign",
                           [this](const auto& request, const CallerPtr& caller) { resign(request, caller); });
  offer<pb::LeaderRequest>(service + "Leader", json + "leader",
                           [this](const auto& request, const CallerPtr& caller) { leader(request, caller); });
  offer<pb::LeaderRequest>(
      service + "Observe", json + "observe",
      [this](const auto& request, const CallerPtr& caller) { observe(request, caller); }, true);
}

// Election engines: this member takes part in what its clients speak of.
bool Desk::mention(const std::string& name, const CallerPtr& caller) {
  if (!check_line(Kind::election, name, 0, {}, caller)) return false;
  if (!elects_ || mentioned_.contains(name)) return true;
  if (mentioned_.size() >= most_elections) {
    turn_away(caller);
    return false;
  }
  mentioned_.insert(name);
  group_.take_part(place_of(Kind::election, name));
  return true;
}

void Desk::campaign(const pb::CampaignRequest& request, const CallerPtr& caller) {
  if (mention(request.name(), caller))
    stand_in_line(Kind::election, request.name(), request.lease(), request.value(), caller);
}

Claim* Desk::leading_claim(const pb::LeaderKey& key) {
  Claim* claim = lines_.find(place_of(Kind::election, key.key()));
  const bool leads =
      claim != nullptr && claim->holds() && claim->fence == static_cast<std::uint64_t>(key.rev());
  return leads ? claim : nullptr;
}

// False if there is no room for it.
bool Desk::change_value(Claim& claim, const std::string& value) {
  const std::size_t bytes = value_bytes_ - claim.value.size() + value.size();
  if (bytes > options_.value_bytes) return false;
  value_bytes_ = bytes;
  claim.value = value;
  ++claim.version;
  if (claim.holds()) publish(claim);
  return true;
}

void Desk::proclaim(const pb::ProclaimRequest& request, const CallerPtr& caller) {
  if (!request.has_leader()) return caller->refuse(leader_missing);
  Claim* claim = leading_claim(request.leader());
  if (claim == nullptr) return caller->refuse(not_leader);
  if (request.value().size() > longest_value)
    return caller->refuse({rpc::Code::invalid_argument, "etcdserver: request is too large"});
  if (!change_value(*claim, request.value())) return turn_away(caller);
  pb::ProclaimResponse response;
  fill(response.mutable_header());
  caller->answer(response);
}

// As with etcd, who does not lead has resigned already.
void Desk::resign(const pb::ResignRequest& request, const CallerPtr& caller) {
  if (!request.has_leader()) return caller->refuse(leader_missing);
  if (const Claim* claim = leading_claim(request.leader())) lines_.end(std::string(claim->id));
  pb::ResignResponse response;
  fill(response.mutable_header());
  caller->answer(response);
}

// ---- who leads

std::optional<Desk::LeaderView> Desk::leader_of(const std::string& name) const {
  std::optional<NodeId> member;
  const Leads* leads = nullptr;
  if (elects_) {
    member = group_.leader(place_of(Kind::election, name));
    if (member) leads = leaders_.told_by(name, *member);
  } else if (const auto told = leaders_.greatest(name)) {
    member = told->member;
    leads = told->leads;
  }
  if (!member) return std::nullopt;
  LeaderView view = {.member = *member};
  if (leads == nullptr) {
    // An elected member that no client leads from.
    view.kv.set_key(fmt::format("{}/{:x}", name, member->value));
    view.kv.set_value(fmt::format("member {}", member->value));
    return view;
  }
  view.kv.set_key(leads->key);
  view.kv.set_value(leads->value);
  view.kv.set_create_revision(static_cast<std::int64_t>(leads->fence));
  view.kv.set_mod_revision(static_cast<std::int64_t>(leads->fence));
  view.kv.set_version(static_cast<std::int64_t>(leads->version));
  view.kv.set_lease(leads->lease);
  return view;
}

// The fence may be one that another member was given.
pb::LeaderResponse Desk::response_for(const LeaderView& view) const {
  pb::LeaderResponse response;
  fill(response.mutable_header());
  response.mutable_header()->set_revision(std::max(response.header().revision(), view.kv.mod_revision()));
  *response.mutable_kv() = view.kv;
  return response;
}

void Desk::leader(const pb::LeaderRequest& request, const CallerPtr& caller) {
  if (!mention(request.name(), caller)) return;
  const auto now = leader_of(request.name());
  if (now) return caller->answer(response_for(*now));
  // On election engines asking makes this member take part: there will be a leader in a moment.
  elects_ ? wait_for_leader(request.name(), caller) : caller->refuse(no_leader);
}

void Desk::wait_for_leader(const std::string& name, const CallerPtr& caller) {
  auto part = asking_.take(caller->peer());
  if (!part) return turn_away(caller);
  const auto asking = std::make_shared<Asking>(
      Asking{caller, boost::asio::steady_timer(server_.loop(), options_.election), std::move(*part)});
  const std::uint64_t number = ++last_number_;
  askings_[name].emplace(number, asking);
  caller->on_gone([this, name, number] { stop_asking(name, number); });
  asking->patience.async_wait(
      [this, name, number, weak = std::weak_ptr(asking)](const boost::system::error_code& error) {
        const auto still = weak.lock();
        if (error || !still) return;
        stop_asking(name, number);
        still->caller->refuse(no_leader);
      });
}

void Desk::stop_asking(const std::string& name, std::uint64_t asking) {
  const auto at = askings_.find(name);
  if (at == askings_.end()) return;
  at->second.erase(asking);
  if (at->second.empty()) askings_.erase(at);
}

void Desk::observe(const pb::LeaderRequest& request, const CallerPtr& caller) {
  const std::string& name = request.name();
  if (!mention(name, caller)) return;
  auto part = observing_.take(caller->peer());
  if (!part) return turn_away(caller);
  const auto observer = std::make_shared<Observer>(Observer{.caller = caller, .part = std::move(*part)});
  const std::uint64_t number = ++last_number_;
  observers_[name].emplace(number, observer);
  caller->on_gone([this, name, number, connection = caller->peer().connection] {
    slices_.run(connection, [this, name, number] {
      stop_observing(name, number);
      return false;
    });
  });
  show(name, observer);
}

void Desk::stop_observing(const std::string& name, std::uint64_t observer) {
  const auto at = observers_.find(name);
  if (at == observers_.end()) return;
  at->second.erase(observer);
  if (at->second.empty()) observers_.erase(at);
}

// Tells what is true now, if the observer does not know it. One that reads slowly misses what was true in
// between, and never the last.
void Desk::show(const std::string& name, const std::shared_ptr<Observer>& observer) {
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
  const auto now = leader_of(name);
  if (!now) return;
  std::string kv = now->kv.SerializeAsString();
  if (kv == observer->last) return;
  observer->last = std::move(kv);
  observer->caller->tell(response_for(*now));
}

void Desk::leader_changed(const std::string& name) {
  if (const auto asked = askings_.find(name); asked != askings_.end()) {
    if (const auto now = leader_of(name)) {
      const Askings present = std::move(asked->second);
      askings_.erase(asked);
      for (const auto& [number, asking] : present) asking->caller->answer(response_for(*now));
    }
  }
  const auto at = observers_.find(name);
  if (at == observers_.end()) return;
  const Observers present = at->second;  // telling may end one
  for (const auto& [number, observer] : present) show(name, observer);
}

void Desk::leaders_changed() {
  for (const std::string& name : leaders_.changed()) leader_changed(name);
}

// Election engines. A client that led from here does no longer when another member is elected.
void Desk::elected(const std::string& place, std::optional<NodeId> leader) {
  const auto line = lines_.lines().find(place);
  if (line != lines_.lines().end()) {
    if (leader != self_)
      lines_.lost(place, leader ? "another member was elected" : "nobody is elected any longer");
    else if (line->second.state == Lines::Line::State::asked)
      lines_.granted(place, ++wins_);
  }
  leader_changed(name_of(place));
}

// ---- telling the other desks

void Desk::publish(const Claim& claim) {
  const Leads leads = {.name = name_of(claim.place),
                       .key = key_of(claim),
                       .value = claim.value,
                       .fence = claim.fence,
                       .version = claim.version,
                       .lease = claim.lease};
  leaders_.take(self_, leads);
  broadcast(leads);
  leaders_changed();
}

void Desk::withdraw(const Claim& claim) {
  const Ended ended = {.name = name_of(claim.place), .fence = claim.fence};
  leaders_.take(self_, ended);
  broadcast(ended);
  leaders_changed();
}

void Desk::send_note(NodeId to, const Note& note) {
  const Bytes bytes = encode(note);
  group_.note(to, live::bytes_of(bytes));
}

void Desk::broadcast(const Note& note) {
  const Bytes bytes = encode(note);
  for (const NodeId peer : up_) group_.note(peer, live::bytes_of(bytes));
}

}  // namespace conclave::desk
