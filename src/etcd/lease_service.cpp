// etcd's Lease service: leases of the whole cluster, on the clock that its leader keeps.
#include <algorithm>

#include "etcd/front.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

constexpr std::size_t most_renewals = 1000;    // under way on one stream
constexpr std::size_t told_at_once = 256;      // leases or keys
constexpr std::size_t told_lease_bytes = 128;  // while an answer is made

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
    const auto response = std::make_shared<pb::LeaseTimeToLiveResponse>();
    head(response->mutable_header(), machine_.store().revision());
    response->set_id(request.id());
    response->set_ttl(lease ? leases.remaining(*lease) : -1);
    if (lease) response->set_grantedttl(lease->ttl);
    if (!lease || !request.keys()) return caller->answer(*response);
    tell_keys(caller, response);
  });
}

// A lease may have very many keys. Those that come or go while they are looked at are told or not.
void Front::tell_keys(const CallerPtr& caller, const std::shared_ptr<pb::LeaseTimeToLiveResponse>& response) {
  slices_.run(caller->peer().connection, [this, caller, response, bytes = std::size_t{0}]() mutable {
    if (caller->over()) return false;
    const kv::Lease* const lease = machine_.store().leases().find(response->id());
    if (lease) {
      auto at = response->keys().empty()
                    ? lease->keys.begin()
                    : lease->keys.upper_bound(std::string_view(*response->keys().rbegin()));
      for (std::size_t told = 0; at != lease->keys.end() && told < told_at_once; ++at, ++told) {
        bytes += (*at)->text().size();
        response->add_keys(std::string((*at)->text()));
      }
      caller->reserve(2 * bytes);
      if (at != lease->keys.end() && bytes <= caller->largest_answer()) return true;
    }
    answer_when_room(caller, response);
    return false;
  });
}

void Front::lease_leases(const CallerPtr& caller) {
  const auto response = std::make_shared<pb::LeaseLeasesResponse>();
  head(response->mutable_header(), machine_.store().revision());
  slices_.run(caller->peer().connection, [this, caller, response] {
    if (caller->over()) return false;
    const auto& all = machine_.store().leases().all();
    const auto& told = response->leases();
    auto at = told.empty() ? all.begin() : all.upper_bound(told.rbegin()->id());
    for (std::size_t count = 0; at != all.end() && count < told_at_once; ++at, ++count)
      response->add_leases()->set_id(at->first);
    caller->reserve(static_cast<std::size_t>(told.size()) * told_lease_bytes);
    if (at != all.end()) return true;
    answer_when_room(caller, response);
    return false;
  });
}

void Front::answer_when_room(const CallerPtr& caller,
                             const std::shared_ptr<google::protobuf::Message>& response) {
  const std::size_t bytes = response->ByteSizeLong();
  if (bytes > caller->largest_answer()) return caller->refuse(too_many_requests);
  if (bytes <= caller->room()) return caller->answer(*response);
  caller->when_room(bytes, [this, caller, response] { answer_when_room(caller, response); });
}

void Front::keep_alive(kv::LeaseId lease, const CallerPtr& caller) {
  renew(lease, caller->peer(), [this, lease, caller](const std::expected<std::int64_t, rpc::Status>& ttl) {
    if (!ttl) return caller->refuse(ttl.error());
    caller->answer(kept_alive(lease, *ttl));
  });
}

void Front::renew(kv::LeaseId lease, const rpc::Peer& whose, Machine::Renewed then) {
  auto part = keeping_.take(whose);
  if (!part) return then(std::unexpected(too_many_requests));
  machine_.renew(lease, [part = std::move(*part), then = std::move(then)](const auto& ttl) mutable {
    part = {};
    then(ttl);
  });
}

pb::LeaseKeepAliveResponse Front::kept_alive(kv::LeaseId lease, std::int64_t ttl) const {
  pb::LeaseKeepAliveResponse response;
  head(response.mutable_header(), machine_.store().revision());
  response.set_id(lease);
  response.set_ttl(ttl);
  return response;
}

// Answers come in the order of the questions, although some renewals take longer than others.
void Front::keep_alive_stream(rpc::Call call) {
  struct Question {
    kv::LeaseId lease;
    std::optional<std::int64_t> ttl = {};
  };
  struct State {
    std::deque<Question> open = {};
    std::uint64_t answered = 0;
    bool half_closed = false;
    bool paused = false;
  };
  const auto state = std::make_shared<State>();
  const auto renewed = [this, state](rpc::Call& stream, std::uint64_t number,
                                     const std::expected<std::int64_t, rpc::Status>& ttl) {
    if (stream.over()) return;
    if (!ttl) return stream.finish(ttl.error());
    state->open[number - state->answered].ttl = *ttl;
    for (; !state->open.empty() && state->open.front().ttl; ++state->answered) {
      stream.send(kept_alive(state->open.front().lease, *state->open.front().ttl));
      state->open.pop_front();
    }
    if (state->half_closed && state->open.empty()) return stream.finish({});
    if (state->paused && !stream.congested() && state->open.size() < most_renewals / 2) {
      state->paused = false;
      stream.resume();
    }
  };
  call.on_message(
      [this, call, state, renewed, request = pb::LeaseKeepAliveRequest()](std::string_view bytes) mutable {
        if (!rpc::typed::parse(request, bytes)) return call.finish(rpc::unreadable);
        const std::uint64_t number = state->answered + state->open.size();
        state->open.push_back({request.id()});
        renew(request.id(), call.peer(),
              [call, renewed, number](const auto& ttl) mutable { renewed(call, number, ttl); });
        if (call.over()) return;
        // Who asks and does not read is held back.
        if (state->open.size() < most_renewals && !call.congested()) return;
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
    if (state->open.empty()) call.finish({});
  });
}

}  // namespace conclave::etcd
