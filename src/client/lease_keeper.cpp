#include "client/lease_keeper.hpp"

#include <proto/rpc.pb.h>

#include "rpc/typed_client.hpp"

namespace conclave {

using namespace std::chrono_literals;

LeaseKeeper::LeaseKeeper(Client::Impl& client, std::int64_t id, std::chrono::seconds ttl,
                         BootClock::time_point asked)
    : client_(client),
      id_(id),
      ttl_(ttl),
      good_until_(asked + ttl - margin()),
      renewal_(client.loop()),
      end_(client.loop()) {}

void LeaseKeeper::start() {
  watch_clock();
  // Early, so that there soon is a stream whose end tells that the server is gone.
  renew_in(std::min<BootClock::duration>(interval(), 500ms));
}

void LeaseKeeper::stop() {
  if (over_) return;
  over_ = true;
  drop_stream();
  renewal_.cancel();
  end_.cancel();
}

void LeaseKeeper::lose() {
  if (over_) return;
  stop();
  lost_.request_stop();
}

void LeaseKeeper::watch_clock() {
  end_.set(good_until());
  end_.wait([self = shared_from_this()] {
    if (self->over_) return;
    if (BootClock::now() >= self->good_until()) return self->lose();
    self->watch_clock();
  });
}

// ---- renewing

void LeaseKeeper::renew_in(BootClock::duration wait) {
  renewal_.expires_after(wait);
  renewal_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->over_) self->renew();
  });
}

void LeaseKeeper::renew() {
  if (asked_) {  // for a third of the ttl: another server may do better
    drop_stream();
    client_.leave_endpoint(connection_);
  }
  if (!stream_) open_stream();
  etcdserverpb::LeaseKeepAliveRequest request;
  request.set_id(id_);
  asked_ = BootClock::now();
  stream_.send(request);
  renew_in(interval());
}

void LeaseKeeper::open_stream() {
  connection_ = client_.connections();
  const std::uint64_t number = ++streams_;
  stream_ = rpc::open_stream<etcdserverpb::LeaseKeepAliveResponse>(
      client_.channel(), "/etcdserverpb.Lease/LeaseKeepAlive", {.wait_for_ready = true},
      {.message =
           [self = shared_from_this(), number](const etcdserverpb::LeaseKeepAliveResponse& response) {
             if (number == self->streams_ && response.id() == self->id_) self->answered(response.ttl());
           },
       .closed =
           [self = shared_from_this(), number](const rpc::Answer&) {
             if (number != self->streams_ || self->over_) return;
             self->drop_stream();
             self->renew_in(std::min<BootClock::duration>(self->interval() / 4, 200ms));
           }});
}

void LeaseKeeper::drop_stream() {
  ++streams_;
  asked_.reset();
  if (stream_) std::exchange(stream_, {}).cancel();
}

void LeaseKeeper::answered(std::int64_t ttl) {
  if (over_) return;
  // Too late, whatever the server says: somebody may have looked at the clock already.
  if (ttl <= 0 || BootClock::now() >= good_until()) return lose();
  if (!asked_) return;
  const std::chrono::seconds granted(std::min<std::int64_t>(ttl, ttl_.count()));
  const auto until = *std::exchange(asked_, {}) + granted - margin();
  if (until > good_until()) good_until_ = until;
}

}  // namespace conclave
