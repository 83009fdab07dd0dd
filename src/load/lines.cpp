// Clients that take and give back locks, and lead and resign: by etcd's services, and by the recipes of its
// Go client (clientv3/concurrency of 3.5), which are transactions, reads and watches.
#include <proto/election.pb.h>
#include <proto/lock.pb.h>
#include <proto/rpc.pb.h>

#include "load/client.hpp"

namespace conclave::load {
namespace {

namespace pb = etcdserverpb;

std::string in_hex(std::int64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(number));
  return text;
}

// All keys that begin so.
std::string end_of(std::string prefix) {
  ++prefix.back();
  return prefix;
}

// A client with a lease, and a place that it enters and leaves: that is one operation.
class Contender : public Client {
 public:
  Contender(Home& home, std::uint32_t number, std::string name, Wanted wanted)
      : Client(home, number),
        session_(*channel_, home.plan()),
        name_(std::move(name)),
        shared_(wanted == Wanted::same),
        entered_part_(home.parts["entered"]),
        handed_over_(shared_ ? &home.parts["handed over"] : nullptr) {
    if (!shared_) name_ += "/" + std::to_string(number);
  }
  void tick(Clock::time_point now) override { session_.tick(now); }

 protected:
  void prepare() override {
    pb::LeaseGrantRequest request;
    request.set_ttl(plan().ttl);
    ask_for<pb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", request,
                                    [this](const pb::LeaseGrantResponse& answer) {
                                      session_.granted(answer.id());
                                      ready();
                                    });
  }
  void once() override { enter(); }
  void finish() override {
    pb::LeaseRevokeRequest request;
    request.set_id(session_.lease());
    ask("/etcdserverpb.Lease/LeaseRevoke", request, [this](std::string_view) { finished(); });
  }

  virtual void enter() = 0;  // ends with `entered`
  virtual void leave() = 0;  // ends with `done`

  // Nobody stays. Where all want the same, it counts how long the place stood empty for those who waited.
  void entered() {
    const auto now = Clock::now();
    entered_part_.add(now - begun_);
    if (shared_) {
      const Clock::time_point given_back(Clock::duration(shared().given_back.load()));
      if (given_back > begun_) handed_over_->add(now - given_back);
      shared().given_back = Clock::now().time_since_epoch().count();
    }
    leave();
  }

  Session session_;
  std::string name_;

 private:
  bool shared_;
  Latencies& entered_part_;
  Latencies* handed_over_;
};

// ---- by the services

class ServiceLock final : public Contender {
 public:
  using Contender::Contender;

 private:
  void enter() override {
    v3lockpb::LockRequest request;
    request.set_name(name_);
    request.set_lease(session_.lease());
    ask_for<v3lockpb::LockResponse>("/v3lockpb.Lock/Lock", request,
                                    [this](const v3lockpb::LockResponse& answer) {
                                      key_ = answer.key();
                                      entered();
                                    });
  }
  void leave() override {
    v3lockpb::UnlockRequest request;
    request.set_key(key_);
    ask("/v3lockpb.Lock/Unlock", request, [this](std::string_view) { done(); });
  }
  std::string key_;
};

class ServiceElection final : public Contender {
 public:
  using Contender::Contender;

 private:
  void enter() override {
    v3electionpb::CampaignRequest request;
    request.set_name(name_);
    request.set_lease(session_.lease());
    request.set_value("client " + std::to_string(number_));
    ask_for<v3electionpb::CampaignResponse>("/v3electionpb.Election/Campaign", request,
                                            [this](const v3electionpb::CampaignResponse& answer) {
                                              *resignation_.mutable_leader() = answer.leader();
                                              entered();
                                            });
  }
  void leave() override {
    ask("/v3electionpb.Election/Resign", resignation_, [this](std::string_view) { done(); });
  }
  v3electionpb::ResignRequest resignation_;
};

// ---- by the recipes

// Whoever has a key below the prefix with a smaller creation revision is before us; each waits for the last
// of those to go, and looks again.
class Recipe : public Contender {
 public:
  using Contender::Contender;
  void tick(Clock::time_point now) override {
    Contender::tick(now);
    if (!awaited_.empty() && now - begun_ > plan().patience) {
      awaited_.clear();
      fail("waited for too long for a key to go");
    }
  }

 protected:
  std::string prefix() const { return name_ + "/"; }
  std::string key() const { return prefix() + in_hex(session_.lease()); }

  // "Unless we are in line already, get in line."
  pb::TxnRequest get_in_line(std::string_view value) const {
    pb::TxnRequest request;
    pb::Compare& compare = *request.add_compare();
    compare.set_key(key());
    compare.set_target(pb::Compare::CREATE);
    compare.set_create_revision(0);
    pb::PutRequest& put = *request.add_success()->mutable_request_put();
    put.set_key(key());
    put.set_value(std::string(value));
    put.set_lease(session_.lease());
    request.add_failure()->mutable_request_range()->set_key(key());
    return request;
  }
  static std::int64_t revision_in_line(const pb::TxnResponse& answer) {
    if (answer.succeeded() || answer.responses(0).response_range().kvs_size() == 0)
      return answer.header().revision();
    return answer.responses(0).response_range().kvs(0).create_revision();
  }

  // Until nobody is left who was created no later than this.
  void wait_for_others(std::int64_t latest, std::function<void()> then) {
    pb::RangeRequest request;
    request.set_key(prefix());
    request.set_range_end(end_of(prefix()));
    request.set_sort_target(pb::RangeRequest::CREATE);
    request.set_sort_order(pb::RangeRequest::DESCEND);
    request.set_limit(1);
    request.set_max_create_revision(latest);
    ask_for<pb::RangeResponse>(
        "/etcdserverpb.KV/Range", request,
        [this, latest, then = std::move(then)](const pb::RangeResponse& answer) mutable {
          if (answer.kvs_size() == 0) return then();
          wait_until_gone(answer.kvs(0).key(), answer.header().revision(),
                          [this, latest, then = std::move(then)] { wait_for_others(latest, then); });
        });
  }
  void broke() override { awaited_.clear(); }

 private:
  // All watches of a client share one stream, as they do in Go.
  void wait_until_gone(const std::string& key, std::int64_t since, std::function<void()> then) {
    if (stream_.over()) open();
    awaited_ = key;
    then_ = std::move(then);
    watch_ = -1;
    pb::WatchRequest request;
    request.mutable_create_request()->set_key(key);
    request.mutable_create_request()->set_start_revision(since);
    stream_.send(request);
    ++created_;
  }
  void open() {
    created_ = 0;
    stream_.open(
        *channel_, "/etcdserverpb.Watch/Watch", [this](const pb::WatchResponse& response) { hear(response); },
        [this](const rpc::Status& status) {
          if (!awaited_.empty()) fail(status);
        });
  }
  void hear(const pb::WatchResponse& response) {
    // Servers answer in the order of the requests, so the last one to be created is ours.
    if (response.created() && --created_ == 0) watch_ = response.watch_id();
    if (awaited_.empty() || response.watch_id() != watch_) return;
    if (response.canceled()) {
      awaited_.clear();
      return fail("a watch was cancelled: " + response.cancel_reason());
    }
    for (const mvccpb::Event& event : response.events())
      if (event.type() == mvccpb::Event::DELETE && event.kv().key() == awaited_) return gone_now();
  }
  void gone_now() {
    awaited_.clear();
    pb::WatchRequest request;
    request.mutable_cancel_request()->set_watch_id(watch_);
    stream_.send(request);
    std::exchange(then_, {})();
  }

  Stream<pb::WatchResponse> stream_;
  std::uint64_t created_ = 0;  // watches that the server has not confirmed yet
  std::int64_t watch_ = -1;
  std::string awaited_;
  std::function<void()> then_;
};

class RecipeLock final : public Recipe {
 public:
  using Recipe::Recipe;

 private:
  // The transaction asks as well who is first: one who is alone need not ask again.
  void enter() override {
    pb::TxnRequest request = get_in_line("");
    for (pb::RequestOp* operation : {request.add_success(), request.add_failure()}) {
      pb::RangeRequest& first = *operation->mutable_request_range();
      first.set_key(prefix());
      first.set_range_end(end_of(prefix()));
      first.set_sort_target(pb::RangeRequest::CREATE);
      first.set_limit(1);
    }
    ask_for<pb::TxnResponse>("/etcdserverpb.KV/Txn", request, [this](const pb::TxnResponse& answer) {
      const std::int64_t ours = revision_in_line(answer);
      const pb::RangeResponse& first = answer.responses(1).response_range();
      if (first.kvs_size() == 0 || first.kvs(0).create_revision() == ours) return entered();
      wait_for_others(ours - 1, [this] { look_for_our_key(); });
    });
  }
  // The lease may have ended meanwhile, and the key with it.
  void look_for_our_key() {
    pb::RangeRequest request;
    request.set_key(key());
    ask_for<pb::RangeResponse>("/etcdserverpb.KV/Range", request, [this](const pb::RangeResponse& answer) {
      answer.kvs_size() == 1 ? entered() : fail("the lease of a lock has ended");
    });
  }
  void leave() override {
    pb::DeleteRangeRequest request;
    request.set_key(key());
    ask("/etcdserverpb.KV/DeleteRange", request, [this](std::string_view) { done(); });
  }
};

class RecipeElection final : public Recipe {
 public:
  using Recipe::Recipe;

 private:
  void enter() override {
    ask_for<pb::TxnResponse>("/etcdserverpb.KV/Txn", get_in_line("client " + std::to_string(number_)),
                             [this](const pb::TxnResponse& answer) {
                               created_at_ = revision_in_line(answer);
                               wait_for_others(created_at_ - 1, [this] { entered(); });
                             });
  }
  void leave() override {
    pb::TxnRequest request;
    pb::Compare& compare = *request.add_compare();
    compare.set_key(key());
    compare.set_target(pb::Compare::CREATE);
    compare.set_create_revision(created_at_);
    request.add_success()->mutable_request_delete_range()->set_key(key());
    ask("/etcdserverpb.KV/Txn", request, [this](std::string_view) { done(); });
  }
  std::int64_t created_at_ = 0;
};

}  // namespace

template <Wanted wanted, Way way>
std::unique_ptr<Client> make_lock(Home& home, std::uint32_t number) {
  using Lock = std::conditional_t<way == Way::service, ServiceLock, RecipeLock>;
  return std::make_unique<Lock>(home, number, home.plan().prefix + "lock", wanted);
}
template <Wanted wanted, Way way>
std::unique_ptr<Client> make_campaign(Home& home, std::uint32_t number) {
  using Election = std::conditional_t<way == Way::service, ServiceElection, RecipeElection>;
  return std::make_unique<Election>(home, number, home.plan().prefix + "election", wanted);
}

template std::unique_ptr<Client> make_lock<Wanted::own, Way::service>(Home&, std::uint32_t);
template std::unique_ptr<Client> make_lock<Wanted::own, Way::recipe>(Home&, std::uint32_t);
template std::unique_ptr<Client> make_lock<Wanted::same, Way::service>(Home&, std::uint32_t);
template std::unique_ptr<Client> make_lock<Wanted::same, Way::recipe>(Home&, std::uint32_t);
template std::unique_ptr<Client> make_campaign<Wanted::own, Way::service>(Home&, std::uint32_t);
template std::unique_ptr<Client> make_campaign<Wanted::own, Way::recipe>(Home&, std::uint32_t);
template std::unique_ptr<Client> make_campaign<Wanted::same, Way::service>(Home&, std::uint32_t);
template std::unique_ptr<Client> make_campaign<Wanted::same, Way::recipe>(Home&, std::uint32_t);

}  // namespace conclave::load
