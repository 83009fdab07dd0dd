// What an operator asks: conclave's own status and evictions, and as much of etcd's as makes sense without a
// store.
#include <fmt/format.h>

#include "desk/offer.hpp"

namespace conclave::desk {

namespace pb = conclavepb;

namespace {

constexpr std::size_t most_names = 1000;
constexpr std::size_t most_queued = 20;

std::int64_t milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

}  // namespace

void Desk::offer_status() {
  offer<pb::StatusRequest>("/conclavepb.Conclave/Status", "/conclave/status",
                           [this](const auto&, const CallerPtr& caller) { caller->answer(status()); });
  // Not by JSON: a web page can make a browser post that.
  offer<pb::EvictRequest>("/conclavepb.Conclave/Evict", "",
                          [this](const auto& request, const CallerPtr& caller) { evict(request, caller); });
}

pb::StatusResponse Desk::status() const {
  const live::GroupStatus group = group_.status();
  pb::StatusResponse response;
  response.set_member_id(group.self.value);
  response.set_engine(group.engine);
  response.set_group(group.group);
  response.set_epoch(group.epoch);
  for (const live::MemberStatus& member : group.members) {
    pb::Member& told = *response.add_members();
    told.set_id(member.id.value);
    told.set_address(member.address);
    told.set_up(member.up);
    told.set_incarnation(member.incarnation);
    told.set_since_ms(milliseconds(member.since));
    told.set_evicted(member.evicted);
    told.set_self(member.self);
  }
  add_names(response, group.names);
  for (const std::string& note : group.notes) response.add_notes(note);
  response.set_leases(leases_.size());
  response.set_longest_lease_ms(milliseconds(promised_));
  response.set_messages(group.messages);
  return response;
}

// All that the group knows of, and elections that only the desks spoke of. Busy ones first.
void Desk::add_names(pb::StatusResponse& response, const std::vector<live::NameStatus>& names) const {
  std::map<std::string, live::NameStatus> all;
  for (const live::NameStatus& name : names) all.emplace(name.name, name);
  for (const std::string& name : leaders_.names()) {
    const std::string place = place_of(Kind::election, name);
    all.try_emplace(place, live::NameStatus{.name = place, .phase = "idle"});
  }
  for (const bool busy : {true, false}) {
    for (const auto& [place, name] : all) {
      if ((name.phase != "idle" || lines_.lines().contains(place)) != busy) continue;
      if (static_cast<std::size_t>(response.names_size()) < most_names)
        add_name(*response.add_names(), name);
      else
        response.set_names_left_out(response.names_left_out() + 1);
    }
  }
}

void Desk::add_client(pb::Client& told, const Claim& claim) const {
  told.set_address(claim.client);
  told.set_key(key_of(claim));
  told.set_lease(claim.lease);
  told.set_since_ms(milliseconds(std::chrono::steady_clock::now() - claim.since));
}

void Desk::add_name(pb::Name& told, const live::NameStatus& name) const {
  told.set_name(name_of(name.name));
  told.set_kind(kind_of(name.name) == Kind::lock ? pb::Name::LOCK : pb::Name::ELECTION);
  told.set_epoch(name.epoch);
  told.set_phase(name.phase);
  for (const NodeId peer : name.waits_for) told.add_waits_for(peer.value);
  told.set_waiting_ms(milliseconds(name.waiting_since));
  told.set_words(name.words);
  if (name.fence) told.set_fence(*name.fence);
  if (const auto line = lines_.lines().find(name.name); line != lines_.lines().end()) {
    if (const Claim* holder = line->second.holder) {
      add_client(*told.mutable_holder(), *holder);
      told.set_fence(holder->fence);
    }
    told.set_queue_length(line->second.waiting.size());
    for (const auto& [ticket, claim] : line->second.waiting) {
      if (static_cast<std::size_t>(told.queue_size()) == most_queued) break;
      add_client(*told.add_queue(), *claim);
    }
  }
  if (kind_of(name.name) == Kind::lock) return;
  if (const auto leader = leader_of(name_of(name.name))) {
    told.mutable_leader()->set_member(leader->member.value);
    told.mutable_leader()->set_key(leader->kv.key());
    told.mutable_leader()->set_value(leader->kv.value());
    told.mutable_leader()->set_member_down(leader->member != self_ && !up_.contains(leader->member));
  }
}

void Desk::evict(const pb::EvictRequest& request, const CallerPtr& caller) {
  if (request.member_id() > UINT32_MAX)
    return caller->refuse(
        {rpc::Code::invalid_argument, fmt::format("there is no member {}", request.member_id())});
  const NodeId member = {static_cast<std::uint32_t>(request.member_id())};
  const auto epoch = group_.evict(member, request.incarnation());
  if (!epoch) return caller->refuse({rpc::Code::failed_precondition, epoch.error()});
  log_(live::LogLevel::warning,
       fmt::format("evicted member={} epoch={} by={}", member.value, *epoch, caller->peer().address));
  look_at_the_group();
  pb::EvictResponse response;
  response.set_epoch(*epoch);
  caller->answer(response);
}

// ---- etcd's

void Desk::offer_etcd_status() {
  offer<etcdserverpb::StatusRequest>("/etcdserverpb.Maintenance/Status", "/v3/maintenance/status",
                                     [this](const auto&, const CallerPtr& caller) {
                                       etcdserverpb::StatusResponse response;
                                       fill(response.mutable_header());
                                       response.set_version(std::string(etcd_version));
                                       response.set_raftterm(epoch_);
                                       caller->answer(response);
                                     });
  offer<etcdserverpb::MemberListRequest>("/etcdserverpb.Cluster/MemberList", "/v3/cluster/member/list",
                                         [this](const auto&, const CallerPtr& caller) {
                                           etcdserverpb::MemberListResponse response;
                                           fill(response.mutable_header());
                                           for (const live::MemberStatus& member : group_.status().members) {
                                             if (member.evicted) continue;
                                             etcdserverpb::Member& told = *response.add_members();
                                             told.set_id(member.id.value);
                                             told.set_name(fmt::format("member-{}", member.id.value));
                                             told.add_peerurls("http://" + member.address);
                                             if (const auto urls = options_.client_urls.find(member.id);
                                                 urls != options_.client_urls.end())
                                               for (const std::string& url : urls->second)
                                                 told.add_clienturls(url);
                                           }
                                           caller->answer(response);
                                         });
  server_.unknown([engine = engine_](std::string_view path) {
    const bool etcds = path.starts_with("/etcdserverpb.");
    return rpc::Status{
        rpc::Code::unimplemented,
        etcds ? fmt::format("the engine {} has no key-value store and does not serve {}; the engine raft "
                            "has one",
                            engine, path)
              : fmt::format("unknown method {}", path)};
  });
}

}  // namespace conclave::desk
