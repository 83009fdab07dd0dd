// Clients that put one key, and many that watch it: a put is over when all of them were told.
#include <proto/rpc.pb.h>

#include <boost/asio/dispatch.hpp>
#include <charconv>

#include "load/client.hpp"

namespace conclave::load {
namespace {

namespace pb = etcdserverpb;

std::string watched_key(const Plan& plan) { return plan.prefix + "watched"; }

// What a value begins with: who put it, which of its puts it is, and when that was.
struct Stamp {
  std::uint64_t client = 0;
  std::uint64_t sequence = 0;
  std::uint64_t sent = 0;

  std::string text() const {
    return std::to_string(client) + " " + std::to_string(sequence) + " " + std::to_string(sent) + " ";
  }
  static Stamp in(std::string_view text) {
    Stamp stamp;
    const char* at = text.data();
    for (std::uint64_t* number : {&stamp.client, &stamp.sequence, &stamp.sent})
      at = std::min(std::from_chars(at, text.data() + text.size(), *number).ptr + 1,
                    text.data() + text.size());
    return stamp;
  }
};

class PutTold : public Client {
 public:
  PutTold(Home& home, std::uint32_t number) : Client(home, number) {
    shared().told[number].all_told = [this](std::uint64_t sequence) { complete(sequence); };
  }

 protected:
  void once() override {
    Told& told = shared().told[number_];
    told.missing = plan().watchers + 1;
    told.sequence = ++sequence_;
    waits_ = true;
    const Stamp stamp = {number_, sequence_, static_cast<std::uint64_t>(begun_.time_since_epoch().count())};
    std::string value = stamp.text();
    value.resize(std::max(value.size(), plan().value_bytes), 'x');
    pb::PutRequest request;
    request.set_key(watched_key(plan()));
    request.set_value(value);
    ask("/etcdserverpb.KV/Put", request, [this, sequence = sequence_](std::string_view) {
      if (sequence != sequence_) return;  // it was given up
      home_.parts["acknowledged"].add(Clock::now() - begun_);
      if (--shared().told[number_].missing == 0) complete(sequence);
    });
  }
  void broke() override { waits_ = false; }
  void tick(Clock::time_point now) override {
    if (waits_ && now - begun_ > plan().patience) fail("not all watchers were told of a put");
  }

 private:
  // By the thread that saw the last of it.
  void complete(std::uint64_t sequence) {
    boost::asio::dispatch(home_.loop, [this, sequence] {
      if (waits_ && sequence == sequence_) {
        waits_ = false;
        done();
      }
    });
  }

  std::uint64_t sequence_ = 0;
  bool waits_ = false;
};

class Watcher : public Client {
 public:
  Watcher(Home& home, std::uint32_t number)
      : Client(home, number), deliveries_(home.counts["deliveries"]), delivered_(home.parts["delivered"]) {}
  bool waits_only() const override { return true; }

 protected:
  void prepare() override { open(); }
  void once() override {
    if (stream_.over()) open();
  }
  void finish() override {
    stream_.forget();
    finished();
  }

 private:
  void open() {
    stream_.open(
        *channel_, "/etcdserverpb.Watch/Watch", [this](const pb::WatchResponse& response) { hear(response); },
        [this](const rpc::Status& status) { lost(status); });
    pb::WatchRequest request;
    request.mutable_create_request()->set_key(watched_key(plan()));
    request.mutable_create_request()->set_start_revision(next_);
    stream_.send(request);
  }
  void lost(const rpc::Status& status) {
    if (gone()) return;
    if (!std::exchange(there_, false)) return fail(status);
    count_error("a watch was lost: " + status.message);
    open();
  }
  void hear(const pb::WatchResponse& response) {
    if (response.canceled()) {
      next_ = response.compact_revision();
      return stream_.cancel();
    }
    if (response.created() && !std::exchange(there_, true) && !std::exchange(was_ready_, true)) ready();
    if (response.events().empty()) return;
    next_ = response.events(response.events_size() - 1).kv().mod_revision() + 1;
    const auto now = Clock::now();
    for (const mvccpb::Event& event : response.events()) take(event, now);
  }
  void take(const mvccpb::Event& event, Clock::time_point now) {
    const Stamp stamp = Stamp::in(event.kv().value());
    if (stamp.client >= shared().told.size()) return;
    Told& told = shared().told[stamp.client];
    if (told.sequence != stamp.sequence) return;  // given up by then
    ++deliveries_;
    delivered_.add(now - Clock::time_point(Clock::duration(stamp.sent)));
    if (--told.missing == 0) told.all_told(stamp.sequence);
  }

  std::uint64_t& deliveries_;
  Latencies& delivered_;
  Stream<pb::WatchResponse> stream_;
  std::int64_t next_ = 0;
  bool there_ = false;
  bool was_ready_ = false;
};

}  // namespace

std::unique_ptr<Client> make_put_told(Home& home, std::uint32_t number) {
  return std::make_unique<PutTold>(home, number);
}
std::unique_ptr<Client> make_watcher(Home& home, std::uint32_t number) {
  return std::make_unique<Watcher>(home, number);
}

}  // namespace conclave::load
