// Clients that keep leases alive: on one stream, one lease after the other.
#include <proto/rpc.pb.h>

#include "load/client.hpp"

namespace conclave::load {
namespace {

namespace pb = etcdserverpb;

class KeepAlive : public Client {
 public:
  using Client::Client;

 protected:
  void prepare() override {
    pb::LeaseGrantRequest request;
    request.set_ttl(plan().ttl);
    several(
        plan().leases,
        [this, request](std::uint32_t) {
          ask_for<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", request,
                                          [this](const pb::LeaseGrantResponse& answer) {
                                            leases_.push_back(answer.id());
                                            one_done();
                                          });
        },
        [this] { ready(); });
  }
  void once() override {
    if (stream_.over()) open();
    pb::LeaseKeepAliveRequest request;
    request.set_id(leases_[next_++ % leases_.size()]);
    waits_ = true;
    stream_.send(request);
  }
  void tick(Clock::time_point now) override {
    if (waits_ && now - begun_ > plan().patience) stream_.cancel();
  }
  void finish() override {
    stream_.forget();
    several(
        static_cast<std::uint32_t>(leases_.size()),
        [this](std::uint32_t i) {
          pb::LeaseRevokeRequest request;
          request.set_id(leases_[i]);
          ask("/etcdserverpb.Lease/LeaseRevoke", request, [this](std::string_view) { one_done(); });
        },
        [this] { finished(); });
  }

 private:
  void open() {
    stream_.open(
        *channel_, "/etcdserverpb.Lease/LeaseKeepAlive",
        [this](const pb::LeaseKeepAliveResponse& answer) {
          if (!std::exchange(waits_, false)) return;
          answer.ttl() > 0 ? done() : fail("a lease has ended that was kept alive");
        },
        [this](const rpc::Status& status) {
          if (std::exchange(waits_, false)) fail(status);
        });
  }

  std::vector<std::int64_t> leases_;
  std::size_t next_ = 0;
  Stream<pb::LeaseKeepAliveResponse> stream_;
  bool waits_ = false;  // for an answer
};

}  // namespace

std::unique_ptr<Client> make_keep_alive(Home& home, std::uint32_t number) {
  return std::make_unique<KeepAlive>(home, number);
}

}  // namespace conclave::load
