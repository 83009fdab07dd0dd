// Whatever clients ask of a whole front, by gRPC and by JSON, over connections that come and go: it answers,
// refuses or waits, no command that it proposes is one that cannot be applied, and its store stays right.
// Behind it stands a log without disk and peers. The input is a list of steps, each with what happens, to
// whom, a length (2 bytes) and bytes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "etcd/front.hpp"
#include "kv/snapshot.hpp"
#include "rpc/channel_core.hpp"
#include "rpc/server_call.hpp"
#include "rpc/server_core.hpp"

namespace conclave {
namespace {

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

constexpr NodeId self = {1};

// A cluster of one, whose entries are committed when `go_on` is called.
class Alone final : public cluster::Server {
 public:
  explicit Alone(cluster::Events events) : events_(std::move(events)) {
    present() = this;
    (void)book_.apply(cluster::Found{{{self, {.host = "a", .port = 1}}}});
  }
  ~Alone() override { present() = nullptr; }
  static Alone*& present() {
    static Alone* alone = nullptr;
    return alone;
  }

  std::uint64_t propose(Payload command) override {
    entries_.push_back({++serial_, std::move(command), {}});
    return serial_;
  }
  std::uint64_t change(const cluster::BookChange& change) override {
    entries_.push_back({++serial_, {}, change});
    return serial_;
  }
  std::uint64_t read() override { return ++reads_; }
  Bytes capture() override { return {}; }
  void compact(Bulk) override {}
  // No disk: whoever wants the state is told that it cannot be written now.
  storage::Result<std::unique_ptr<storage::Draft>> draft(storage::Draft::Events) override {
    return std::unexpected(storage::Failure{storage::FailureKind::no_space, "no disk"});
  }
  bool sends_snapshot() const override { return false; }
  void transfer(NodeId) override {}
  const std::string& group() const override { return group_; }
  const cluster::Book& book() const override { return book_; }
  void introduce(std::string name, std::vector<std::string> clients) override {
    change(cluster::Introduce{self, std::move(name), std::move(clients), 1});
  }
  bool has_caught_up(NodeId) const override { return true; }
  bool leads() const override { return true; }
  std::uint64_t term() const override { return 1; }
  std::optional<NodeId> leader() const override { return self; }
  cluster::ServerStatus status() const override {
    return {.self = self, .role = "leader", .term = 1, .leader = self, .voters = NodeSet{self}};
  }

  // What was proposed is committed, and what was asked may be read.
  bool go_on() {
    const bool anything = !entries_.empty() || readable_ < reads_;
    while (!entries_.empty()) {
      const Entry entry = std::move(entries_.front());
      entries_.pop_front();
      commit(entry);
    }
    if (readable_ < reads_) events_.readable(readable_ = reads_);
    return anything;
  }
  // Time passes at another leader, or a member before this process proposed something.
  void append(const kv::Command& command) { entries_.push_back({0, Payload(encode(command)), {}}); }
  void restore(const Bytes& state) {
    events_.restored(++index_, Bulk(Payload(state)));
    stopped_ = false;
  }
  void stop() {
    if (!std::exchange(stopped_, true)) events_.stopped("an entry that cannot be applied");
  }

 private:
  struct Entry {
    std::uint64_t serial;
    Payload command;
    std::optional<cluster::BookChange> change;
  };

  void commit(const Entry& entry) {
    ++index_;
    if (stopped_) return;
    if (!entry.change) {
      const std::string no = events_.applied(index_, 1, entry.command, entry.serial);
      return require(no.empty(), "what the front proposes can be applied");
    }
    const auto done = book_.apply(*entry.change);
    const auto wish = book_.wish(book_.voters, [](NodeId) { return true; });
    if (!wish.voters.empty()) book_.settle(wish.voters, wish.learners);
    if (events_.members_changed) events_.members_changed();
    if (events_.answered) events_.answered(entry.serial, done);
  }

  cluster::Events events_;
  const std::string group_ = "fuzz";
  cluster::Book book_;
  std::deque<Entry> entries_;
  std::uint64_t serial_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t readable_ = 0;
  std::uint64_t index_ = 0;
  bool stopped_ = false;
};

}  // namespace

// Instead of the one with disk and peers.
std::expected<std::unique_ptr<cluster::Server>, std::string> cluster::Server::open(boost::asio::io_context&,
                                                                                   const ServerOptions&,
                                                                                   Events events, live::Log) {
  return std::make_unique<Alone>(std::move(events));
}

namespace rpc {

// The way past sockets: what a server's connections share. An explicit instantiation may name what is
// private.
std::shared_ptr<ServerCore>& core_of(Server& server);
template <std::shared_ptr<ServerCore> Server::*core>
struct Opened {
  friend std::shared_ptr<ServerCore>& core_of(Server& server) { return server.*core; }
};
template struct Opened<&Server::core_>;

}  // namespace rpc

namespace {

constexpr rpc::SessionLimits small = {.message_bytes = 1 << 16,
                                      .half_received_bytes = 1 << 17,
                                      .stream_output_bytes = 1 << 12,
                                      .connection_output_bytes = 1 << 14,
                                      .small_answer_bytes = 1 << 8};

boost::asio::io_context& one_loop() {
  static boost::asio::io_context loop{1};
  return loop;
}
const std::shared_ptr<rpc::ChannelCore>& one_channel() {
  static const std::shared_ptr<rpc::ChannelCore> core = [] {
    auto made = std::make_shared<rpc::ChannelCore>(
        one_loop(), rpc::ChannelOptions{.endpoints = {"127.0.0.1:1"}, .limits = small});
    made->closed = true;
    return made;
  }();
  return core;
}

// Takes answers to JSON, and says when whoever asked is gone.
class Sink final : public rpc::HttpSink {
 public:
  void begin(unsigned, const rpc::Metadata&, std::optional<std::size_t>) override {}
  bool write(std::string_view) override { return !over(); }
  void end() override {
    require(!ended_, "an answer ends once");
    ended_ = true;
  }
  bool over() const override { return ended_ || gone_; }
  bool congested() const override { return false; }
  void on_writable(std::move_only_function<void()> then) override { writable_ = std::move(then); }
  void on_closed(std::move_only_function<void()> then) override { closed_ = std::move(then); }
  std::size_t room() const override { return 1 << 12; }
  std::size_t largest_answer() const override { return 1 << 14; }
  void when_room(std::size_t, std::move_only_function<void()> then) override { writable_ = std::move(then); }

  void go_on() {
    if (auto then = std::exchange(writable_, nullptr); then && !over()) then();
  }
  void leave() {
    if (std::exchange(gone_, true) || ended_) return;
    if (auto then = std::exchange(closed_, nullptr)) then();
  }

 private:
  bool ended_ = false;
  bool gone_ = false;
  std::move_only_function<void()> writable_ = {};
  std::move_only_function<void()> closed_ = {};
};

// One connection, with both of its ends.
class Visitor final : public rpc::Session::Owner {
 public:
  Visitor(const std::shared_ptr<rpc::ServerCore>& core, std::uint64_t id) : core_(core) {
    peer_->connection = rpc::ConnectionId{id};
    peer_->address = "192.0.2.1:" + std::to_string(id);
    carry();
  }
  ~Visitor() {
    for (const auto& sink : sinks_) sink->leave();
    theirs_.abandon(NGHTTP2_CANCEL);
    if (core_->disconnected) core_->disconnected(peer_->connection);
  }

  void call(const std::string& path, bool lasts, std::string_view bytes) {
    const rpc::ClientCallPtr call(new rpc::ClientCall(one_channel(), path, {}, false,
                                                      {.message = [](std::string_view) {}, .closed = {}}));
    call->send(bytes);
    if (!lasts) call->half_close();
    if (!ours_.request(*call, call->head(false, "x"))) return;
    calls_.push_back(call);
  }
  void post(const std::string& path, std::string_view body) {
    static const rpc::Metadata headers = {{"content-type", "application/json"}, {"host", "localhost"}};
    sinks_.push_back(std::make_shared<Sink>());
    const bool has_body = !body.empty();
    core_->answer_http({.method = has_body ? "POST" : "GET",
                        .path = path,
                        .query = {},
                        .body = body,
                        .headers = headers,
                        .peer = *peer_},
                       rpc::HttpReply(sinks_.back()));
  }
  void say(std::size_t which, std::string_view bytes) {
    if (calls_.empty()) return;
    rpc::ClientCall& call = *calls_[which % calls_.size()];
    bytes.empty() ? call.half_close() : void(call.send(bytes));
  }
  void cancel(std::size_t which) {
    if (!calls_.empty()) calls_[which % calls_.size()]->cancel({rpc::Code::cancelled, "enough"});
  }
  // What the two ends have said reaches the other.
  bool carry() {
    out_.clear();
    ours_.produce(out_, 1 << 16);
    const bool asked = !out_.empty();
    require(theirs_.receive(out_, {}), "who speaks HTTP/2 is understood");
    out_.clear();
    theirs_.produce(out_, 1 << 16);
    const bool answered = !out_.empty();
    require(ours_.receive(out_, {}), "the server speaks HTTP/2");
    for (const auto& sink : sinks_) sink->go_on();
    return asked || answered;
  }

 private:
  // The end of the client opens no streams for the server.
  struct Client final : rpc::Session::Owner {
    rpc::StreamPtr open_stream() override {
      require(false, "servers open no streams");
      return {};
    }
    void output_waits() override {}
    void goaway_received() override {}
    void pong_received() override {}
  };

  rpc::StreamPtr open_stream() override {
    auto call = core_->pool->take();
    call->open(*core_, peer_);
    return call;
  }
  void output_waits() override {}
  void goaway_received() override {}
  void pong_received() override {}

  const std::shared_ptr<rpc::ServerCore> core_;
  boost::intrusive_ptr<rpc::CountedPeer> peer_{new rpc::CountedPeer};
  Client client_;
  rpc::Session ours_{rpc::Session::Side::client, small, client_};
  rpc::Session theirs_{rpc::Session::Side::server, small, *this};
  std::vector<rpc::ClientCallPtr> calls_;
  std::vector<std::shared_ptr<Sink>> sinks_;
  std::string out_;
};

const live::Log silent = [](live::LogLevel, std::string_view) {};

etcd::MachineOptions options() {
  etcd::MachineOptions options = {.most_proposals = 16,
                                  .most_proposed_bytes = 1 << 14,
                                  .most_readers = 16,
                                  .most_renewals = 8,
                                  .request_bytes = 1 << 13,
                                  .quota_bytes = 1 << 16,
                                  .snapshot_entries = 20,
                                  .snapshot_piece = 64,
                                  .vouch_entries = 8};
  options.server.links.self = self;
  return options;
}

class World {
 public:
  World() {
    names();
    for (std::uint64_t i = 0; i < visitors_.size(); ++i) enter(i);
    settle();
  }
  ~World() {
    is_slow_ = false;
    settle();
    for (auto& visitor : visitors_) visitor.reset();
    settle();
    require(machine_->store().digest() == machine_->store().recomputed_digest(),
            "the digest is that of the records");
    server_.reset();
    front_.reset();
    machine_.reset();
    turn();
  }

  void step(std::uint8_t what, std::uint8_t whom, std::string_view bytes) {
    Visitor& visitor = *visitors_[what / 16 % visitors_.size()];
    switch (what % 16) {
      case 0:
      case 1:
      case 2: visitor.call(methods_[whom % methods_.size()], what % 16 == 2, bytes); break;
      case 3:
      case 4: visitor.post(routes_[whom % routes_.size()], bytes); break;
      case 5:
      case 6: visitor.say(whom, bytes); break;
      case 7: visitor.cancel(whom); break;
      case 8: enter(what / 16); break;
      case 9: Alone::present()->append(kv::Tick{1, 100u * whom}); break;
      case 10: append(bytes); break;
      case 11: is_slow_ = !is_slow_; break;
      case 12: Alone::present()->stop(); break;
      case 13: begin_anew(); break;
      default: break;
    }
    settle();
  }

 private:
  // In one order, whatever the hash says.
  void names() {
    const rpc::ServerCore& core = *rpc::core_of(*server_);
    if (methods_.empty()) {
      for (const auto& [path, method] : core.methods) methods_.push_back(path);
      std::ranges::sort(methods_);
      for (const auto& [path, route] : core.routes) routes_.push_back(path);
    }
  }
  void enter(std::uint64_t which) {
    auto& visitor = visitors_[which % visitors_.size()];
    visitor.reset();
    visitor = std::make_unique<Visitor>(rpc::core_of(*server_), ++visits_);
  }
  // Another member's command, as far as one can be.
  void append(std::string_view bytes) {
    const auto command =
        decode<kv::Command>(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
    const bool vouches = command && std::holds_alternative<kv::Vouch>(*command);
    if (command && kv::check(*command) && !vouches) Alone::present()->append(*command);
  }
  void begin_anew() {
    kv::Store store;
    kv::SnapshotWriter writer(store);
    Bytes state;
    while (writer.write(state, state.size() + 100)) continue;
    Alone::present()->restore(state);
  }
  void turn() {
    one_loop().restart();
    for (int i = 0; i < 10'000 && one_loop().poll_one() > 0; ++i) continue;
  }
  void settle() {
    for (int i = 0; i < 50; ++i) {
      bool moved = false;
      for (auto& visitor : visitors_)
        if (visitor) moved = visitor->carry() || moved;
      turn();
      if (!is_slow_) moved = Alone::present()->go_on() || moved;
      turn();
      if (!moved) return;
    }
  }

  static inline std::vector<std::string> methods_;
  static inline std::vector<std::string> routes_;
  std::unique_ptr<etcd::Machine> machine_ = std::move(
      etcd::Machine::open(
          one_loop(), options(),
          [](etcd::Machine::End, const std::string&) { require(false, "nobody ends a member"); }, silent)
          .value());
  std::optional<rpc::Server> server_{std::in_place, one_loop(), rpc::ServerLimits{.session = small}};
  std::optional<etcd::Front> front_{
      std::in_place, *server_, *machine_,
      etcd::FrontOptions{.waiting = 8,
                         .sessions = 8,
                         .observers = 8,
                         .watches = {.bytes = 20 * kv::WatchRequest{}.cost(), .response_bytes = 100}},
      silent};
  std::array<std::unique_ptr<Visitor>, 2> visitors_;
  std::uint64_t visits_ = 0;
  bool is_slow_ = false;  // the log
};

}  // namespace
}  // namespace conclave

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  conclave::World world;
  std::span<const std::uint8_t> rest(data, size);
  while (rest.size() >= 4) {
    const std::size_t length = std::min<std::size_t>(rest[2] + 256u * rest[3], rest.size() - 4);
    world.step(rest[0], rest[1], {reinterpret_cast<const char*>(rest.data()) + 4, length});
    rest = rest.subspan(4 + length);
  }
  return 0;
}
