// The election service of etcd.
#include <proto/election.pb.h>

#include "client/claim.hpp"
#include "client/names.hpp"
#include "rpc/typed_client.hpp"

namespace conclave {

using namespace std::chrono_literals;

namespace {

Leader to_leader(const v3electionpb::LeaderResponse& response) {
  const auto& kv = response.kv();
  return {kv.value(), kv.create_revision(), kv.lease(), kv.version()};
}

// Leaders heard on the loop, told in the caller's thread: the latest of those that it has not been told yet.
struct Heard {
  std::mutex mutex = {};
  std::condition_variable_any changed = {};
  std::optional<Leader> latest = {};
  std::optional<Error> ended = {};  // the stream is over
  rpc::ClientStream stream = {};    // touched on the loop alone

  void hear(Leader leader) {
    const std::lock_guard lock(mutex);
    latest = std::move(leader);
    changed.notify_one();
  }
  void end(Error why) {
    stream = {};
    const std::lock_guard lock(mutex);
    ended = std::move(why);
    changed.notify_one();
  }
};

}  // namespace

class Election::Impl {
 public:
  Impl(const Client& the_client, std::string the_name, const ElectionOptions& options)
      : client(the_client.impl()),
        name(std::move(the_name)),
        claim(client, options.ttl, options.least_wait) {}

  std::expected<std::int64_t, Error> campaign(const std::string& value, Timeout timeout,
                                              const std::stop_token& stop) {
    if (auto wrong = wrong_name("election", name)) return std::unexpected(std::move(*wrong));
    auto fence = claim.take(timeout, stop, [&](auto... terms) { return ask(value, terms...); });
    if (!fence && fence.error().kind == ErrorKind::timed_out && timeout)
      fence.error().message = "election '" + name + "' was not won in time";
    return fence;
  }

  std::expected<Claim::Granted, Error> ask(const std::string& value, std::int64_t lease, Timeout timeout,
                                           const std::stop_token& stop, const std::stop_token& lost) {
    v3electionpb::CampaignRequest request;
    request.set_name(name);
    request.set_lease(lease);
    request.set_value(value);
    const auto answer = client->ask<v3electionpb::CampaignResponse>("/v3electionpb.Election/Campaign",
                                                                    request, timeout, stop, lost);
    if (!answer) return std::unexpected(answer.error());
    return Claim::Granted{answer->leader().rev(), answer->leader().SerializeAsString()};
  }

  std::expected<void, Error> proclaim(std::string value) {
    const auto key = claim.key();
    if (!key) return std::unexpected(key.error());
    v3electionpb::ProclaimRequest request;
    request.mutable_leader()->ParseFromString(*key);
    request.set_value(std::move(value));
    const auto answer = client->ask_patiently<v3electionpb::ProclaimResponse>(
        "/v3electionpb.Election/Proclaim", request, client->call_timeout());
    if (!answer) return std::unexpected(answer.error());
    return {};
  }

  std::expected<void, Error> resign() {
    return claim.give_back([&](const std::string& key) -> std::expected<void, Error> {
      v3electionpb::ResignRequest request;
      request.mutable_leader()->ParseFromString(key);
      const auto answer = client->ask<v3electionpb::ResignResponse>("/v3electionpb.Election/Resign", request,
                                                                    client->call_timeout());
      if (!answer) return std::unexpected(answer.error());
      return {};
    });
  }

  std::expected<std::optional<Leader>, Error> leader(const std::stop_token& stop) const {
    if (auto wrong = wrong_name("election", name)) return std::unexpected(std::move(*wrong));
    v3electionpb::LeaderRequest request;
    request.set_name(name);
    const auto answer = client->ask_patiently<v3electionpb::LeaderResponse>(
        "/v3electionpb.Election/Leader", request, client->call_timeout(), stop);
    if (answer) return to_leader(*answer);
    if (answer.error().message == "election: no leader") return std::nullopt;
    return std::unexpected(answer.error());
  }

  std::expected<void, Error> observe(const std::function<void(const Leader&)>& tell,
                                     const std::stop_token& stop) const;

  std::shared_ptr<Client::Impl> client;
  std::string name;
  Claim claim;

 private:
  std::shared_ptr<Heard> listen() const;
  Error hear_out(Heard& heard, std::optional<Leader>& told, const std::function<void(const Leader&)>& tell,
                 const std::stop_token& stop) const;
};

// ---- observing

std::shared_ptr<Heard> Election::Impl::listen() const {
  auto heard = std::make_shared<Heard>();
  client->run_on_loop([&] {
    heard->stream = rpc::open_stream<v3electionpb::LeaderResponse>(
        client->channel(), "/v3electionpb.Election/Observe", {},
        {.message = [heard](const v3electionpb::LeaderResponse& one) { heard->hear(to_leader(one)); },
         .closed = [heard](const rpc::Answer& answer) { heard->end(to_error(answer.status)); }});
    v3electionpb::LeaderRequest request;
    request.set_name(name);
    heard->stream.send(request);
    heard->stream.half_close();
  });
  return heard;
}

// Tells what one stream says, until it ends.
Error Election::Impl::hear_out(Heard& heard, std::optional<Leader>& told,
                               const std::function<void(const Leader&)>& tell,
                               const std::stop_token& stop) const {
  std::unique_lock lock(heard.mutex);
  for (;;) {
    if (!heard.changed.wait(lock, stop, [&] { return heard.latest || heard.ended; }))
      return {ErrorKind::stopped, "stopped by the caller"};
    if (!heard.latest) return *heard.ended;
    const Leader latest = *std::exchange(heard.latest, {});
    if (told == latest) continue;  // a new stream begins with what the old one said
    told = latest;
    lock.unlock();
    tell(latest);
    lock.lock();
  }
}

std::expected<void, Error> Election::Impl::observe(const std::function<void(const Leader&)>& tell,
                                                   const std::stop_token& stop) const {
  if (auto wrong = wrong_name("election", name)) return std::unexpected(std::move(*wrong));
  if (client->on_loop())
    return std::unexpected(Error{ErrorKind::misuse, "a callback of the client's thread must not wait"});
  std::optional<Leader> told;
  std::optional<Deadline> patience;
  for (;;) {
    const auto opened = BootClock::now();
    const auto heard = listen();
    const std::optional<Leader> before = told;
    const Error why = hear_out(*heard, told, tell, stop);
    client->run_on_loop([&] {
      if (heard->stream) heard->stream.cancel();
    });
    if (stop.stop_requested()) return {};
    if (why.kind != ErrorKind::unreachable && why.kind != ErrorKind::stopped &&
        why.kind != ErrorKind::refused)
      return std::unexpected(why);
    const bool worked = told != before || BootClock::now() - opened > 1s;
    if (!patience || worked) patience.emplace(client->call_timeout());
    if (patience->passed()) return std::unexpected(why);
    if (!Client::Impl::pause(stop)) return {};
  }
}

// ---- the public face

Election::Election(const Client& client, std::string name, const ElectionOptions& options)
    : impl_(std::make_unique<Impl>(client, std::move(name), options)) {}
Election::~Election() { static_cast<void>(impl_->resign()); }

std::expected<std::int64_t, Error> Election::campaign(std::string value, std::stop_token stop) {
  return impl_->campaign(value, std::nullopt, stop);
}
std::expected<std::int64_t, Error> Election::campaign_for(std::string value, std::chrono::nanoseconds timeout,
                                                          std::stop_token stop) {
  return impl_->campaign(value, timeout, stop);
}
std::expected<void, Error> Election::proclaim(std::string value) { return impl_->proclaim(std::move(value)); }
std::expected<void, Error> Election::resign() { return impl_->resign(); }
std::expected<std::optional<Leader>, Error> Election::leader(std::stop_token stop) const {
  return impl_->leader(stop);
}
std::expected<void, Error> Election::observe(const std::function<void(const Leader&)>& tell,
                                             std::stop_token stop) const {
  return impl_->observe(tell, stop);
}

std::int64_t Election::fence() const { return impl_->claim.fence(); }
std::stop_token Election::lost() const { return impl_->claim.lost(); }
bool Election::leading() const { return impl_->claim.held(); }
BootClock::time_point Election::good_until() const { return impl_->claim.good_until(); }
BootClock::duration Election::margin() const { return impl_->claim.margin(); }

}  // namespace conclave
