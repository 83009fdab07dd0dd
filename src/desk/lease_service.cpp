// etcd's Lease service: leases of this member.
#include "desk/offer.hpp"

namespace conclave::desk {

namespace pb = etcdserverpb;

void Desk::offer_leases() {
  const std::string service = "/etcdserverpb.Lease/";
  offer<pb::LeaseGrantRequest>(
      service + "LeaseGrant", "/v3/lease/grant",
      [this](const auto& request, const CallerPtr& caller) { lease_grant(request, caller); });
  // The gateway knows the last three by older paths too.
  for (const std::string path : {"/v3/lease/", "/v3/kv/lease/"}) {
    offer<pb::LeaseRevokeRequest>(
        service + "LeaseRevoke", path + "revoke",
        [this](const auto& request, const CallerPtr& caller) { lease_revoke(request, caller); });
    offer<pb::LeaseTimeToLiveRequest>(
        service + "LeaseTimeToLive", path + "timetolive",
        [this](const auto& request, const CallerPtr& caller) { lease_time_to_live(request, caller); });
    offer<pb::LeaseLeasesRequest>(service + "LeaseLeases", path + "leases",
                                  [this](const auto&, const CallerPtr& caller) { lease_leases(caller); });
  }
  // By JSON one request makes one answer, and the stream ends.
  offer<pb::LeaseKeepAliveRequest>(
      service + "LeaseKeepAlive", "/v3/lease/keepalive",
      [this](const auto& request, const CallerPtr& caller) { caller->answer(keep_alive(request.id(), {})); },
      true);
  server_.stream(service + "LeaseKeepAlive", [this](rpc::Call call) { keep_alive_stream(std::move(call)); });
}

void Desk::lease_grant(const pb::LeaseGrantRequest& request, const CallerPtr& caller) {
  const auto time = leases_.check(request.ttl(), request.id());
  if (!time) return caller->refuse(time.error());
  auto part = granted_.take(caller->peer());
  if (!part) return turn_away(caller);
  when_promised(
      *time, [this, seconds = request.ttl(), id = request.id(), caller, part = std::move(*part)]() mutable {
        if (caller->over()) return;  // nobody would ever renew it
        const auto still = leases_.check(seconds, id);
        if (!still) return caller->refuse(still.error());
        ++stats_.leases_granted;
        pb::LeaseGrantResponse response;
        fill(response.mutable_header());
        response.set_id(leases_.grant(*still, id, std::move(part)));
        response.set_ttl(still->count());
        caller->answer(response);
      });
}

void Desk::lease_revoke(const pb::LeaseRevokeRequest& request, const CallerPtr& caller) {
  if (!leases_.end(request.id(), LeaseEnd::revoked))
    return caller->refuse({rpc::Code::not_found, "etcdserver: requested lease not found"});
  pb::LeaseRevokeResponse response;
  fill(response.mutable_header());
  caller->answer(response);
}

void Desk::lease_time_to_live(const pb::LeaseTimeToLiveRequest& request, const CallerPtr& caller) {
  pb::LeaseTimeToLiveResponse response;
  fill(response.mutable_header());
  response.set_id(request.id());
  const auto remaining = leases_.remaining(request.id());
  response.set_ttl(remaining ? remaining->left.count() : -1);
  if (remaining) {
    response.set_grantedttl(remaining->granted.count());
    if (request.keys())
      for (const std::string& id : *remaining->attached) response.add_keys(name_of(id));
  }
  caller->answer(response);
}

void Desk::lease_leases(const CallerPtr& caller) {
  pb::LeaseLeasesResponse response;
  fill(response.mutable_header());
  for (const LeaseId id : leases_.all()) response.add_leases()->set_id(id);
  caller->answer(response);
}

pb::LeaseKeepAliveResponse Desk::keep_alive(LeaseId id, const rpc::Call& stream) {
  pb::LeaseKeepAliveResponse response;
  fill(response.mutable_header());
  response.set_id(id);
  response.set_ttl(leases_.renew(id, stream).value_or(std::chrono::seconds(0)).count());
  return response;
}

void Desk::keep_alive_stream(rpc::Call call) {
  call.on_message([this, call, request = pb::LeaseKeepAliveRequest()](std::string_view bytes) mutable {
    if (closed_) return call.finish(server_stopped);
    if (!rpc::typed::parse(request, bytes)) return call.finish(rpc::unreadable);
    call.send(keep_alive(request.id(), call));
    if (!call.congested()) return;
    // Who asks and does not read is held back.
    call.pause();
    call.on_writable([call]() mutable { call.resume(); });
  });
  call.on_half_close([call]() mutable { call.finish({}); });
}

void Desk::lease_ended(const Leases::Gone& gone) {
  if (gone.how == LeaseEnd::expired) ++stats_.leases_expired;
  if (gone.how == LeaseEnd::revoked) ++stats_.leases_revoked;
  for (const std::string& id : gone.attached) lines_.end(id);
  if (!gone.stream || gone.how != LeaseEnd::lost) return;
  // Who listens learns it now, and not when it next renews.
  pb::LeaseKeepAliveResponse response;
  fill(response.mutable_header());
  response.set_id(gone.id);
  rpc::Call(gone.stream).send(response);
}

}  // namespace conclave::desk
