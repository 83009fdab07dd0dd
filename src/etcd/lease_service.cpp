// etcd's Lease service: leases of the whole cluster, on the clock that its leader keeps.
#include <algorithm>

#include "etcd/front.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

constexpr std::size_t most_renewals = 1000;  // under way on one stream

}  // namespace

void Front::offer_leases() {
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
      [this](const auto& request, const CallerPtr& caller) { keep_alive(request.id(), caller); }, true);
  server_.stream(service + "LeaseKeepAlive", [this](rpc::Call call) { keep_alive_stream(std::move(call)); });
}

void Front::lease_grant(const pb::LeaseGrantRequest& request, const CallerPtr& caller) {
  const kv::LeaseGrant grant = {request.id(), std::max(request.ttl(), machine_.least_ttl())};
  run<pb::LeaseGrantResponse, kv::LeaseResult>(grant, caller, [](auto& response, const auto& result) {
    response.set_id(result.id);
    response.set_ttl(result.ttl);
  });
}

void Front::lease_revoke(const pb::LeaseRevokeRequest& request, const CallerPtr& caller) {
  run<pb::LeaseRevokeResponse, kv::Done>(kv::LeaseRevoke{request.id()}, caller, [](auto&, const auto&) {});
}

void Front::lease_time_to_live(const pb::LeaseTimeToLiveRequest& request, const CallerPtr& caller) {
  machine_.read([this, request, caller](const rpc::Status& status) {
    if (!status.ok()) return caller->refuse(status);
    const kv::Leases& leases = machine_.store().leases();
    const kv::Lease* lease = leases.find(request.id());
    pb::LeaseTimeToLiveResponse response;
    head(response.mutable_header(), machine_.store().revision());
    response.set_id(request.id());
    response.set_ttl(lease ? leases.remaining(*lease) : -1);
    if (lease) {
      response.set_grantedttl(lease->ttl);
      if (request.keys())
        for (const kv::Key* key : lease->keys) response.add_keys(std::string(key->text()));
    }
    caller->answer(response);
  });
}

void Front::lease_leases(const CallerPtr& caller) {
  pb::LeaseLeasesResponse response;
  head(response.mutable_header(), machine_.store().revision());
  for (const auto& [id, lease] : machine_.store().leases().all()) response.add_leases()->set_id(id);
  caller->answer(response);
}

void Front::keep_alive(kv::LeaseId lease, const CallerPtr& caller) {
  machine_.renew(lease, [this, lease, caller](const std::expected<std::int64_t, rpc::Status>& ttl) {
    if (!ttl) return caller->refuse(ttl.error());
    pb::LeaseKeepAliveResponse response;
    head(response.mutable_header(), machine_.store().revision());
    response.set_id(lease);
    response.set_ttl(*ttl);
    caller->answer(response);
  });
}

// Answers come in the order of the questions: so are renewals applied.
void Front::keep_alive_stream(rpc::Call call) {
  struct State {
    std::size_t open = 0;
    bool half_closed = false;
    bool paused = false;
  };
  const auto state = std::make_shared<State>();
  const auto renewed = [this, state](rpc::Call& stream, kv::LeaseId lease,
                                     const std::expected<std::int64_t, rpc::Status>& ttl) {
    --state->open;
    if (!ttl) return stream.finish(ttl.error());
    pb::LeaseKeepAliveResponse response;
    head(response.mutable_header(), machine_.store().revision());
    response.set_id(lease);
    response.set_ttl(*ttl);
    stream.send(response);
    if (state->half_closed && state->open == 0) return stream.finish({});
    if (state->paused && !stream.congested() && state->open < most_renewals / 2) {
      state->paused = false;
      stream.resume();
    }
  };
  call.on_message(
      [this, call, state, renewed, request = pb::LeaseKeepAliveRequest()](std::string_view bytes) mutable {
        if (!rpc::typed::parse(request, bytes)) return call.finish(rpc::unreadable);
        ++state->open;
        machine_.renew(request.id(), [call, renewed, lease = request.id()](const auto& ttl) mutable {
          renewed(call, lease, ttl);
        });
        // Who asks and does not read is held back.
        if (state->open < most_renewals && !call.congested()) return;
        state->paused = true;
        call.pause();
        if (call.congested())
          call.on_writable([call, state]() mutable {
            state->paused = false;
            call.resume();
          });
      });
  call.on_half_close([call, state]() mutable {
    state->half_closed = true;
    if (state->open == 0) call.finish({});
  });
}

}  // namespace conclave::etcd
