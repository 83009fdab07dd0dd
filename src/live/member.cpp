#include "live/member.hpp"

#include <fmt/format.h>

#include <boost/asio/post.hpp>

#include "core/random.hpp"
#include "trace/json.hpp"

namespace conclave::live {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Fences: the epoch above, what the algorithm itself counts below. An algorithm that has counted to half of
// what there is room for begins anew.
constexpr unsigned fence_bits = 20;
constexpr std::uint64_t fences_enough = 1u << (fence_bits - 1);

constexpr std::size_t most_early_bytes = 1u << 20;
constexpr std::size_t most_early = 4096;
constexpr nanoseconds tend_every = 500ms;
constexpr std::uint64_t longest_lease_ms = std::uint64_t{10} * 365 * 24 * 3600 * 1000;

// Milliseconds since 2026. Epochs count up from here, so that those of processes that all died and were
// started again are greater than before, unless the clock was set back.
std::uint64_t epoch_by_clock() {
  const auto now = std::chrono::system_clock::now();
  const auto since = now - std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
  return passed > 0 ? static_cast<std::uint64_t>(passed) : 0;
}

std::string list(const NodeSet& nodes) {
  std::string out;
  for (NodeId node : nodes) out += fmt::format("{}{}", out.empty() ? "" : ", ", node.value);
  return (nodes.size() == 1 ? "member " : "members ") + out;
}

}  // namespace

// ---- one name

class Member::Name final : public Surroundings {
 public:
  enum class Client : std::uint8_t { idle, waiting, holding };
  struct Early {
    NodeId from;
    bool from_server;
    std::vector<std::byte> message;
    std::optional<Stamp> stamp;
  };

  Name(Member& owner, std::string name) : owner_(owner), name_(std::move(name)) {
    renewal_.self = owner_.self_;
    renewal_.everyone = owner_.everyone_;
    renewal_.absent = owner_.absent();
    renewal_.floor = owner_.floor_;
    renewal_.held = owner_.waiting_out();
    since_ = used_ = Clock::now();
  }
  ~Name() override { forget_process(); }

  bool in_epochs() const { return owner_.engine_.in_epochs; }
  const std::string& text() const { return name_; }

  // ---- the desk

  void acquire() {
    ensure(client_ == Client::idle, "a member asks for a lock once at a time");
    become(Client::waiting);
    want();
    ask();
  }

  void release() {
    if (client_ == Client::idle) return;
    const bool was_inside = client_ == Client::holding;
    become(Client::idle);
    renewal_.leave_be();
    if (!was_inside) return;
    if (process_) process_->release();
    asked_ = false;
    act([&](auto& out) {
      if (!owner_.waiting_out()) renewal_.let_go(out);
      if (spent_) renewal_.renew(out);
    });
  }

  void take_part(bool again) {
    used_ = Clock::now();
    if (in_epochs()) return want();
    if (process_) return;
    begin(again);
  }

  std::optional<NodeId> leader() const { return leader_; }

  // ---- the other members

  void on_inner(NodeId from, const InnerHead& head, ByteView message) {
    if (!owner_.engine_.restless) used_ = Clock::now();
    if (!in_epochs()) {
      if (!process_) begin(false);
      return deliver(from, head.from_server, message, head.stamp);
    }
    switch (renewal_.on_inner(from, head.epoch)) {
      case Renewal::Verdict::deliver: return deliver(from, head.from_server, message, head.stamp);
      case Renewal::Verdict::keep: return keep(from, head, message);
      case Renewal::Verdict::unknown: return say_gone(from, head.epoch);
      case Renewal::Verdict::drop: return;
    }
  }
  void on_ready(NodeId from, const ReadyHead& head) {
    used_ = Clock::now();
    act([&](auto& out) { renewal_.on_ready(out, from, {head.epoch, head.members, head.fresh}); });
  }
  void on_gone(NodeId from, const Epoch& epoch) {
    act([&](auto& out) { renewal_.on_gone(out, from, epoch); });
  }

  // ---- the member

  void fire(std::uint64_t serial, std::uint32_t timer) {
    if (process_ && serial == serial_) process_->fire(timer);
  }
  void told(NodeId peer, bool up) {
    if (!process_) return;
    if (up)
      process_->told_up(peer);
    else
      process_->told_down(peer);
  }
  void hold() { renewal_.hold(); }
  void quiet_over() {
    if (client_ != Client::holding) act([&](auto& out) { renewal_.let_go(out); });
  }
  void renew() {
    act([&](auto& out) { renewal_.renew(out); });
  }
  void absent_changed(const NodeSet& absent, bool anew) {
    const bool came_back = renewal_.absent.contains(owner_.self_) && !absent.contains(owner_.self_);
    renewal_.absent = absent;
    if (!in_epochs()) return;
    // What was proposed while this member was left out nobody took up.
    if (renewal_.members.intersects(absent) ||
        ((anew || came_back) && renewal_.phase != Renewal::Phase::asleep))
      renew();
    if (renewal_.wanted) want();
  }
  bool counts_on(NodeId peer) const { return renewal_.members.contains(peer); }

  bool inside() const { return client_ == Client::holding; }

  // This member was evicted, or may be: whatever it had is gone, what its clients wait for they still wait
  // for. Others that counted on it hear of it when they can: the token, say, went with what it had.
  void give_up(const std::string& why) {
    const bool was_inside = inside();
    drop_early();
    forget_process();
    for (NodeId node : renewal_.members) {
      if (node != owner_.self_) say_gone(node, renewal_.epoch);
    }
    const std::uint64_t floor = std::max(renewal_.floor, renewal_.epoch.counter);
    const bool wanted = client_ == Client::waiting;
    renewal_ = {.self = owner_.self_,
                .everyone = owner_.everyone_,
                .absent = owner_.absent(),
                .floor = floor,
                .wanted = wanted,
                .held = owner_.waiting_out()};
    if (wanted) want();
    if (!was_inside) return;
    become(Client::idle);
    if (owner_.told_.lost) owner_.told_.lost(name_, why);
  }

  // Nobody here has wanted it for long. True if nothing of it is left to remember.
  bool forget(Clock::time_point now) {
    if (!in_epochs() || client_ != Client::idle || renewal_.wanted || renewal_.held) return false;
    if (now - used_ < owner_.options_.forget_after) return false;
    act([&](auto& out) { renewal_.sleep(out); });
    owner_.floor_ = std::max(owner_.floor_, renewal_.floor);
    return true;
  }

  NameStatus status(Clock::time_point now) const {
    NameStatus result = {.name = name_, .epoch = renewal_.epoch.counter, .phase = phase(), .leader = leader_};
    if (client_ == Client::holding) result.fence = fence_;
    const NodeSet blockers = waits_for();
    for (NodeId node : blockers) result.waits_for.push_back(node);
    result.waiting_since = now - since_;
    result.words = words(blockers);
    return result;
  }

  // ---- what its process asks for

  void send(NodeId to, bool as_server, ByteView message, const std::optional<Stamp>& stamp) override {
    ++owner_.messages_;
    head_.name = name_;
    head_.stamp = stamp;
    head_.epoch = renewal_.epoch;
    head_.from_server = as_server;
    write_word(owner_.word_, WordKind::inner, head_);
    const auto* data = reinterpret_cast<const std::uint8_t*>(message.data());
    owner_.word_.insert(owner_.word_.end(), data, data + message.size());
    owner_.send(to);
  }
  void arm(std::uint32_t timer, TickRange after) override { owner_.timers_.arm({serial_, timer}, after); }
  void disarm(std::uint32_t timer) override { owner_.timers_.disarm({serial_, timer}); }
  std::uint64_t draw(std::uint64_t below) override {
    return ScrambledBits(scramble(owner_.links_->incarnation() + scramble(++owner_.draws_))).below(below);
  }

  trace::Observer* reader(bool of_server) override {
    std::ofstream& file = of_server ? owner_.server_trace_ : owner_.trace_;
    if (owner_.options_.trace.empty()) return nullptr;
    if (!file.is_open()) {
      file.open(owner_.options_.trace + (of_server ? ".server" : ""));
      file << std::unitbuf;  // a process that is killed has written what it did
    }
    auto& writer = of_server ? server_writer_ : writer_;
    return &writer.emplace(file);
  }
  trace::Header header() const override {
    return {.protocol = owner_.engine_.name,
            .variant = owner_.engine_.variant,
            .world = "live",
            .run = run_name(name_, renewal_.epoch.counter)};
  }

  void granted(std::uint64_t inner) override {
    ensure(inner < (1u << fence_bits), "an epoch ends long before its fences do");
    if (owner_.stood_still()) return;
    spent_ = inner >= fences_enough;
    fence_ = (renewal_.epoch.counter << fence_bits) + inner;
    if (client_ != Client::waiting) {  // nobody wants it any more
      process_->release();
      asked_ = false;
      if (spent_) renew();
      return;
    }
    renewal_.hold();
    become(Client::holding);
    if (owner_.told_.granted) owner_.told_.granted(name_, fence_);
  }
  void elected(std::optional<NodeId> leader) override {
    if (std::exchange(leader_, leader) == leader) return;
    since_ = Clock::now();
    if (owner_.told_.elected) owner_.told_.elected(name_, leader);
  }

 private:
  void become(Client client) {
    client_ = client;
    since_ = used_ = Clock::now();
  }

  void want() {
    if (!in_epochs()) return;
    act([&](auto& out) { renewal_.want(out); });
  }

  // The process may have been asked before for somebody who went away: then the answer is for us.
  void ask() {
    if (!process_ || asked_ || client_ != Client::waiting) return;
    asked_ = true;
    process_->wish();
  }

  template <class Step>
  void act(Step&& step) {
    Renewal::Out out;
    const Epoch before = renewal_.epoch;
    step(out);
    if (renewal_.epoch != before) drop_early();
    if (out.ended) forget_process();
    for (const auto& [to, epoch] : out.gone) say_gone(to, epoch);
    for (const auto& [to, ready] : out.sends) {
      write_word(owner_.word_, WordKind::ready, ReadyHead{name_, ready.epoch, ready.members, ready.fresh});
      owner_.send(to);
    }
    if (out.begun) begin(false);
  }

  void say_gone(NodeId to, const Epoch& epoch) {
    write_word(owner_.word_, WordKind::gone, GoneHead{name_, epoch});
    owner_.send(to);
  }

  void begin(bool again) {
    serial_ = ++owner_.serials_;
    owner_.by_serial_[serial_] = this;
    asked_ = spent_ = false;
    const NodeSet& members = in_epochs() ? renewal_.members : owner_.everyone_;
    process_ = owner_.engine_.process(owner_.self_, members, *this);
    process_->start(again);
    for (const auto& [peer, state] : owner_.peers_) {
      if (state.met && !state.up && process_) process_->told_down(peer);
    }
    const std::uint64_t mine = serial_;
    const std::vector<Early> early = std::exchange(early_, {});
    early_bytes_ = 0;
    for (const Early& message : early) {
      if (serial_ == mine && process_)
        deliver(message.from, message.from_server, message.message, message.stamp);
    }
    // One is enough to start an election, and everybody knows who proposed the epoch.
    if (owner_.engine_.elects && in_epochs() && process_ && renewal_.epoch.proposer == owner_.self_)
      process_->wish();
    ask();
  }

  // What was kept for an epoch that never began here is no part of any other.
  void drop_early() {
    early_.clear();
    early_bytes_ = 0;
  }

  void forget_process() {
    if (!process_) return;
    owner_.by_serial_.erase(serial_);
    owner_.timers_.disarm({serial_, 0}, {serial_ + 1, 0});
    process_->end_trace();
    owner_.bury(std::move(process_));
    asked_ = false;
    if (owner_.engine_.elects) elected(std::nullopt);
  }

  void deliver(NodeId from, bool from_server, ByteView message, const std::optional<Stamp>& stamp) {
    if (!process_->deliver(from, from_server, message, stamp))
      owner_.unreadable(from, "a message of the algorithm");
  }

  void keep(NodeId from, const InnerHead& head, ByteView message) {
    if (early_.size() >= most_early || early_bytes_ + message.size() > most_early_bytes) return renew();
    early_bytes_ += message.size();
    early_.push_back({from, head.from_server, {message.begin(), message.end()}, head.stamp});
  }

  NodeSet waits_for() const {
    if (client_ == Client::holding) return {};
    if (renewal_.phase == Renewal::Phase::gathering) return renewal_.missing();
    if (process_ && client_ == Client::waiting) return process_->waits_for();
    return {};
  }

  std::string phase() const {
    if (client_ == Client::holding) return "holding";
    if (in_epochs() && renewal_.phase == Renewal::Phase::leaving) return "pausing";
    if (in_epochs() && renewal_.phase == Renewal::Phase::gathering) return "gathering";
    return client_ == Client::waiting ? "waiting" : "idle";
  }

  std::string words(const NodeSet& blockers) const {
    if (client_ == Client::holding) return "";
    if (in_epochs() && renewal_.wanted && renewal_.phase == Renewal::Phase::asleep) {
      if (renewal_.absent.contains(owner_.self_)) return "this member was left out";
      return "too few members are present to begin";
    }
    if (in_epochs() && renewal_.phase == Renewal::Phase::leaving)
      return "begins anew when the leases of a member that died have ended";
    if (renewal_.phase == Renewal::Phase::gathering && !blockers.empty())
      return fmt::format("begins when {} can be reached", list(blockers));
    if (client_ != Client::waiting || blockers.empty()) return "";
    NodeSet dead;
    for (NodeId node : blockers) {
      const auto peer = owner_.peers_.find(node);
      if (peer != owner_.peers_.end() && !peer->second.up) dead.insert(node);
    }
    if (dead.empty()) return fmt::format("waits for {}", list(blockers));
    return fmt::format("waits for {}, which {} down", list(dead), dead.size() == 1 ? "is" : "are");
  }

  Member& owner_;
  std::string name_;
  Renewal renewal_;
  std::unique_ptr<Process> process_;
  std::uint64_t serial_ = 0;
  Client client_ = Client::idle;
  bool asked_ = false;  // the process, and it has not answered or was answered and holds
  bool spent_ = false;  // the epoch has counted far enough
  std::uint64_t fence_ = 0;
  std::optional<NodeId> leader_;
  std::vector<Early> early_;  // messages of the epoch that is about to begin
  std::size_t early_bytes_ = 0;
  Clock::time_point since_;
  Clock::time_point used_;
  InnerHead head_;
  std::optional<trace::JsonWriter> writer_;  // of the present epoch
  std::optional<trace::JsonWriter> server_writer_;
};

// ---- the member

std::expected<std::unique_ptr<Member>, std::string> Member::open(boost::asio::io_context& loop,
                                                                 MemberOptions options, Engine engine,
                                                                 Log log) {
  for (const Peer& peer : options.links.members) {
    if (peer.id.value == 0) return std::unexpected("members are numbered from 1: 0 is the server's");
  }
  options.links.algorithm = engine.name;
  if (!options.trace.empty() && !std::ofstream(options.trace))
    return std::unexpected(fmt::format("cannot write {}", options.trace));
  std::unique_ptr<Member> member(new Member(loop, std::move(options), std::move(engine), std::move(log)));
  Member& self = *member;
  auto links = Links::open(
      loop, self.options_.links,
      {.message = [&self](NodeId from, ByteView bytes) { self.on_message(from, bytes); },
       .up = [&self](NodeId peer, std::uint64_t incarnation) { self.on_up(peer, incarnation); },
       .down = [&self](NodeId peer) { self.on_down(peer); },
       .broken_promise = [&self](NodeId peer, const std::string& why) { self.on_broken_promise(peer, why); },
       .drained = {}},
      self.log_);
  if (!links) return std::unexpected(links.error());
  self.links_ = std::move(*links);
  self.tend();
  return member;
}

Member::Member(boost::asio::io_context& loop, MemberOptions options, Engine engine, Log log)
    : loop_(loop),
      options_(std::move(options)),
      engine_(std::move(engine)),
      log_(std::move(log)),
      self_(options_.links.self),
      floor_(options_.first_epoch > 0 ? options_.first_epoch : epoch_by_clock()),
      timers_(loop, fresh_incarnation(),
              [this](const NameTimer& key) {
                const auto name = by_serial_.find(key.first);
                if (name != by_serial_.end()) name->second->fire(key.first, key.second);
              }),
      quiet_over_(loop),
      tending_(loop) {
  const auto now = Clock::now();
  for (const Peer& peer : options_.links.members) {
    everyone_.insert(peer.id);
    if (peer.id != self_) peers_[peer.id].since = now;
  }
}

// Who listens may be gone before the member is: its end is nobody's news.
Member::~Member() {
  told_ = {};
  names_.clear();
  links_.reset();
}

Member::Name* Member::find(const std::string& text) {
  const auto place = names_.find(text);
  return place == names_.end() ? nullptr : place->second.get();
}

Member::Name& Member::name(const std::string& text) {
  auto& place = names_[text];
  if (!place) place = std::make_unique<Name>(*this, text);
  return *place;
}

// What is done to a name may tell the desk, which may ask for another one.
std::vector<Member::Name*> Member::all_names() {
  std::vector<Name*> all;
  for (const auto& [text, known] : names_) all.push_back(known.get());
  return all;
}

void Member::acquire(const std::string& text) {
  ensure(!engine_.elects, "this engine elects, it has no locks");
  name(text).acquire();
}

void Member::release(const std::string& text) {
  if (Name* known = find(text)) known->release();
}

void Member::take_part(const std::string& text) {
  ensure(engine_.elects, "this engine has locks, it does not elect");
  name(text).take_part(true);
}

std::optional<NodeId> Member::leader(const std::string& text) const {
  const auto place = names_.find(text);
  return place == names_.end() ? std::nullopt : place->second->leader();
}

void Member::note(NodeId to, ByteView note) {
  word_.clear();
  word_.push_back(static_cast<std::uint8_t>(WordKind::note));
  const auto* data = reinterpret_cast<const std::uint8_t*>(note.data());
  word_.insert(word_.end(), data, data + note.size());
  send(to);
}

void Member::send(NodeId to) { links_->send(to, std::as_bytes(std::span(word_))); }

// A process may be asked to go while a call of its own is under way.
void Member::bury(std::unique_ptr<Process> process) {
  graveyard_.push_back(std::move(process));
  if (graveyard_.size() > 1) return;
  boost::asio::post(loop_, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) graveyard_.clear();
  });
}

// ---- words of other members

void Member::on_message(NodeId from, ByteView payload) {
  if (payload.empty()) return unreadable(from, "an empty word");
  const ByteView body = payload.subspan(1);
  switch (static_cast<WordKind>(payload.front())) {
    case WordKind::inner: return on_inner(from, body);
    case WordKind::ready: return on_ready(from, body);
    case WordKind::gone: return on_gone(from, body);
    case WordKind::note:
      if (told_.noted) told_.noted(from, body);
      return;
    case WordKind::roster: return on_roster(from, body);
    case WordKind::promise: return on_promise(from, body);
    case WordKind::noted: return on_noted(from, body);
    case WordKind::mention: return on_mention(from, body);
    case WordKind::sight: return on_sight(from, body);
  }
  unreadable(from, "a word of unknown kind");
}

// A peer that says what cannot be read is no member as this one is: its connection ends. The process goes on.
void Member::unreadable(NodeId from, std::string_view what) {
  log_(LogLevel::error, fmt::format("event=unreadable peer={} what={}", from.value, in_quotes(what)));
  links_->object(from, {RefusalCode::impossible, fmt::format("{} that cannot be read", what)});
}

void Member::one_name_too_many(NodeId from) {
  log_(LogLevel::error, fmt::format("event=too-many-names peer={}", from.value));
}

void Member::on_inner(NodeId from, ByteView body) {
  const auto message = read_head(body, inner_);
  if (!message || inner_.name.size() > longest_name) return unreadable(from, "the head of a message");
  Name* known = find(inner_.name);
  if (!known && engine_.in_epochs) {
    write_word(word_, WordKind::gone, GoneHead{inner_.name, inner_.epoch});
    return send(from);
  }
  if (!known && names_.size() >= options_.most_names) return one_name_too_many(from);
  (known ? *known : name(inner_.name)).on_inner(from, inner_, *message);
}

void Member::on_ready(NodeId from, ByteView body) {
  ReadyHead head;
  if (!read_whole(body, head) || head.name.size() > longest_name || !engine_.in_epochs)
    return unreadable(from, "ready");
  if (!find(head.name) && names_.size() >= options_.most_names) return one_name_too_many(from);
  name(head.name).on_ready(from, head);
}

void Member::on_gone(NodeId from, ByteView body) {
  GoneHead head;
  if (!read_whole(body, head)) return unreadable(from, "gone");
  if (Name* known = find(head.name)) known->on_gone(from, head.epoch);
}

void Member::on_mention(NodeId from, ByteView body) {
  GoneHead head;
  if (!read_whole(body, head) || head.name.size() > longest_name || !engine_.elects)
    return unreadable(from, "a mention");
  if (!find(head.name) && names_.size() >= options_.most_names) return one_name_too_many(from);
  name(head.name).take_part(true);
}

// ---- who is there

void Member::on_up(NodeId peer, std::uint64_t incarnation) {
  PeerState& state = peers_[peer];
  const bool restarted = state.met && state.incarnation != incarnation;
  if (restarted) {
    log_(LogLevel::info, fmt::format("event=restarted peer={} incarnation={}", peer.value, incarnation));
    wait_out(peer, 0s);
    state.longest_lease = {};
    state.sight = {};
  }
  const bool broken = std::exchange(state.promise_broken, false);
  state.met = state.up = true;
  state.incarnation = incarnation;
  state.since = Clock::now();
  state.noted_ms = 0;
  greet(peer);
  if (restarted || broken) renew_where(peer);
  if (engine_.elects) {
    roster_changed();
    for (Name* known : all_names()) {
      known->told(peer, true);
      if (engine_.in_epochs) continue;
      write_word(word_, WordKind::mention, GoneHead{known->text(), {}});
      send(peer);
    }
  }
  if (told_.peer_up) told_.peer_up(peer);
}

void Member::greet(NodeId peer) {
  if (promised_ms_ > 0) {
    write_word(word_, WordKind::promise, PromiseHead{promised_ms_});
    send(peer);
  }
  if (!roster_.empty()) {
    write_word(word_, WordKind::roster, RosterHead{roster_});
    send(peer);
  }
  if (engine_.in_epochs) {
    write_word(word_, WordKind::sight, sight());
    send(peer);
  }
}

void Member::on_down(NodeId peer) {
  PeerState& state = peers_[peer];
  state.up = false;
  state.since = Clock::now();
  settle_promises();
  if (engine_.elects) {
    roster_changed();
    for (Name* known : all_names()) known->told(peer, false);
  }
  // Without a majority the others may go on without us; and they will not before this is over.
  if (engine_.regenerates && !with_majority())
    give_up_everything("this member has lost touch with the others");
  if (told_.peer_down) told_.peer_down(peer);
}

// A restart is known from the `up` that follows; otherwise only messages were lost.
void Member::on_broken_promise(NodeId peer, const std::string& why) {
  log_(LogLevel::warning, fmt::format("event=broken-promise peer={} why={}", peer.value, in_quotes(why)));
  peers_[peer].promise_broken = true;
  boost::asio::post(loop_, [this, peer, alive = std::weak_ptr(alive_)] {
    if (alive.expired() || !std::exchange(peers_[peer].promise_broken, false)) return;
    greet(peer);
    renew_where(peer);
  });
}

void Member::renew_where(NodeId peer) {
  if (!engine_.in_epochs) return;
  for (Name* known : all_names()) {
    if (known->counts_on(peer)) known->renew();
  }
}

void Member::wait_out(NodeId peer, nanoseconds until_it_notices) {
  const PeerState& state = peers_[peer];
  const auto from = state.up ? Clock::now() : state.since;
  be_quiet_until(from + until_it_notices + state.longest_lease);
}

void Member::be_quiet_until(Clock::time_point end) {
  quiet_until_ = std::max(quiet_until_, end);
  if (!waiting_out()) return;
  for (const auto& [text, known] : names_) known->hold();
  quiet_over_.expires_at(quiet_until_);
  quiet_over_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) on_quiet_over();
  });
}

void Member::on_quiet_over() {
  if (waiting_out()) return;
  for (Name* known : all_names()) known->quiet_over();
}

// ---- eviction

NodeSet Member::absent() const {
  NodeSet result;
  for (const auto& [node, standing] : roster_) {
    if (standing.evicted) result.insert(node);
  }
  if (!engine_.elects) return result;
  // A leader is sought among those who are there.
  const auto now = Clock::now();
  for (const auto& [node, peer] : peers_) {
    if (!peer.up && (peer.met || now - peer.since > 2 * options_.links.down_after)) result.insert(node);
  }
  return result;
}

// ---- whose link is broken

SightHead Member::sight() const {
  SightHead result;
  NodeSet& ours = result.hears[self_];
  for (const auto& [node, peer] : peers_) {
    if (!peer.up) continue;
    ours.insert(node);
    if (const auto theirs = peer.sight.hears.find(node); theirs != peer.sight.hears.end())
      result.hears.insert(*theirs);
  }
  return result;
}

void Member::share_sight() {
  SightHead now = sight();
  if (!engine_.in_epochs || now == shared_) return;
  shared_ = std::move(now);
  write_word(word_, WordKind::sight, shared_);
  for (const auto& [node, peer] : peers_) {
    if (peer.up) send(node);
  }
}

void Member::on_sight(NodeId from, ByteView body) {
  SightHead head;
  if (!read_whole(body, head)) return unreadable(from, "a sight");
  const auto known = [&](NodeId node) { return everyone_.contains(node); };
  for (const auto& [node, heard] : head.hears) {
    if (!known(node) || heard.size() > everyone_.size() || !std::ranges::all_of(heard, known))
      return unreadable(from, "a sight of strangers");
  }
  peers_[from].sight = std::move(head);
}

std::optional<NodeSet> Member::hears(NodeId member) const {
  std::optional<NodeSet> result;
  for (const auto& [node, peer] : peers_) {
    if (!peer.up) continue;
    const auto own = peer.sight.hears.find(node);
    if (own == peer.sight.hears.end() || !own->second.contains(member)) continue;
    const auto row = peer.sight.hears.find(member);
    if (row == peer.sight.hears.end()) return everyone_;  // they have just met: more is known soon
    if (!result || row->second.size() > result->size()) result = row->second;
  }
  return result;
}

NodeSet Member::cut_off_from() const {
  NodeSet result;
  for (const auto& [node, peer] : peers_) {
    if (!peer.up && hears(node)) result.insert(node);
  }
  return result;
}

// Of two that do not hear each other, and are both heard, one has to go: who hears fewer members, of equals
// the one with the smaller id.
bool Member::yields_to(NodeId member) const {
  const auto theirs = hears(member);
  if (!theirs) return false;
  const NodeSet ours = sight().hears[self_];
  return std::pair(ours.size(), self_) < std::pair(theirs->size(), member);
}

bool Member::with_majority() const {
  std::size_t there = 1;
  for (const auto& [node, peer] : peers_) there += peer.up;
  return 2 * there > everyone_.size();
}

std::uint64_t Member::membership_epoch() const {
  std::uint64_t sum = 0;
  for (const auto& [node, standing] : roster_) sum += standing.version;
  return sum;
}

std::expected<std::uint64_t, std::string> Member::evict(NodeId member, std::uint64_t incarnation) {
  const auto peer = peers_.find(member);
  if (member == self_) return std::unexpected("a member does not evict itself; ask another one");
  if (peer == peers_.end()) return std::unexpected(fmt::format("there is no member {}", member.value));
  if (!engine_.in_epochs)
    return std::unexpected(fmt::format("{} does without dead members by itself", engine_.name));
  if (peer->second.up)
    return std::unexpected(
        fmt::format("member {} answers; stop its process before you evict it", member.value));
  if (incarnation != 0 && incarnation != peer->second.incarnation)
    return std::unexpected(
        fmt::format("member {} was last seen as incarnation {}", member.value, peer->second.incarnation));
  return leave_out(member, peer->second.incarnation);
}

std::expected<std::uint64_t, std::string> Member::leave_out(NodeId member, std::uint64_t incarnation) {
  const Membership before = roster_[member];
  if (before.evicted) return std::unexpected(fmt::format("member {} is evicted already", member.value));
  const NodeSet left = absent().with(member);
  if (2 * (everyone_.size() - left.size()) <= everyone_.size())
    return std::unexpected(fmt::format(
        "without {} too few members would be left: of {} more than half must stay, or two parts of "
        "the group could each go on without the other",
        list(left), everyone_.size()));
  log_(LogLevel::warning, fmt::format("event=evicted peer={} incarnation={}", member.value, incarnation));
  wait_out(member, 2 * options_.links.down_after);
  set_standing(member, {before.version + 1, true, incarnation});
  if (told_.peer_evicted) told_.peer_evicted(member);
  return membership_epoch();
}

void Member::set_standing(NodeId member, Membership standing) {
  roster_[member] = standing;
  spread_roster();
  roster_changed();
}

void Member::spread_roster() {
  write_word(word_, WordKind::roster, RosterHead{roster_});
  for (const auto& [node, peer] : peers_) send(node);
}

void Member::roster_changed() {
  const NodeSet now = absent();
  for (Name* known : all_names()) known->absent_changed(now, engine_.elects);
}

void Member::on_roster(NodeId from, ByteView body) {
  RosterHead head;
  if (!read_whole(body, head)) return unreadable(from, "a roster");
  bool changed = false;
  const Membership before = roster_[self_];
  std::vector<NodeId> evicted;
  for (const auto& [node, theirs] : head.members) {
    if (!everyone_.contains(node)) return unreadable(from, "a roster with strangers");
    Membership& ours = roster_[node];
    if (theirs <= ours) continue;
    if (theirs.evicted && !ours.evicted && node != self_) {
      // If it lives it hears of this, or hears none of us any longer, before that time is over.
      wait_out(node, 2 * options_.links.down_after);
      evicted.push_back(node);
    }
    ours = theirs;
    changed = true;
  }
  if (!changed) return;
  spread_roster();
  roster_changed();
  for (NodeId node : evicted) {
    if (told_.peer_evicted) told_.peer_evicted(node);
  }
  if (!roster_[self_].evicted) return;
  // The others went on without us. Whatever we had is theirs now; with empty hands we may come back.
  if (before < roster_[self_]) give_up_everything("this member was evicted");
  come_back();
}

// Where somebody whom the others count on does not hear us, they would have to leave us out again.
void Member::come_back() {
  const Membership mine = roster_[self_];
  if (!mine.evicted) return;
  const NodeSet away = absent();
  const NodeSet unheard = cut_off_from();
  if (std::ranges::any_of(unheard, [&](NodeId node) { return !away.contains(node); })) return;
  log_(LogLevel::info, "event=came-back");
  set_standing(self_, {mine.version + 1, false, 0});
}

void Member::give_up_everything(const std::string& why) {
  log_(LogLevel::warning, fmt::format("event=gave-up why={}", in_quotes(why)));
  // Whose client is inside may not hear of it before its lease has ended.
  if (std::ranges::any_of(all_names(), &Name::inside))
    be_quiet_until(Clock::now() + std::chrono::milliseconds(promised_ms_));
  for (Name* known : all_names()) known->give_up(why);
}

// ---- leases

void Member::promise_longest_lease(nanoseconds lease, std::move_only_function<void()> then) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(lease).count();
  const auto ms = std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(whole, 0)), longest_lease_ms);
  if (ms > promised_ms_) {
    promised_ms_ = ms;
    write_word(word_, WordKind::promise, PromiseHead{ms});
    for (const auto& [node, peer] : peers_) {
      if (peer.up) send(node);
    }
  }
  promises_.push_back({ms, std::move(then)});
  settle_promises();
}

void Member::on_promise(NodeId from, ByteView body) {
  PromiseHead head;
  if (!read_whole(body, head) || head.lease_ms > longest_lease_ms) return unreadable(from, "a promise");
  PeerState& peer = peers_[from];
  peer.longest_lease = std::max<nanoseconds>(peer.longest_lease, std::chrono::milliseconds(head.lease_ms));
  write_word(word_, WordKind::noted, head);
  send(from);
}

void Member::on_noted(NodeId from, ByteView body) {
  PromiseHead head;
  if (!read_whole(body, head)) return unreadable(from, "noted");
  peers_[from].noted_ms = std::max(peers_[from].noted_ms, head.lease_ms);
  settle_promises();
}

void Member::settle_promises() {
  const auto known_to_all = [&](const Promise& promise) {
    for (const auto& [node, peer] : peers_) {
      if (peer.up && peer.noted_ms < promise.lease_ms) return false;
    }
    return true;
  };
  for (std::size_t left = promises_.size(); left > 0; --left) {
    Promise promise = std::move(promises_.front());
    promises_.pop_front();
    if (known_to_all(promise))
      promise.then();
    else
      promises_.push_back(std::move(promise));
  }
}

// ---- once in a while

// Whoever stood still for long may have been left out, and what it reads now was written before that. True if
// so: everything is given up then.
bool Member::stood_still() {
  const auto now = Clock::now();
  const bool still = now - std::exchange(tended_, now) > 2 * options_.links.down_after + tend_every;
  if (!still || !engine_.regenerates || everyone_.size() == 1) return false;
  give_up_everything("this process stood still");
  return true;
}

// A trace with a gap shows what never happened: it ends where the disk was full.
void Member::look_after_traces() {
  if (trace_ended_ || (trace_.good() && server_trace_.good())) return;
  trace_ended_ = true;
  log_(LogLevel::error, fmt::format("event=trace-ended file={} why={}", in_quotes(options_.trace),
                                    in_quotes("cannot write; what follows is not in it")));
}

void Member::leave_out_the_dead() {
  const auto now = Clock::now();
  const NodeSet away = absent();
  if (away.contains(self_) || !with_majority()) return;
  for (const auto& [node, peer] : peers_) {
    // Nothing is known of one that nobody here ever met; what it promised may still bind its clients.
    if (peer.up || away.contains(node) || (!peer.met && !hears(node)) || yields_to(node)) continue;
    // By then it has noticed, if it lives, that it is alone; and the leases it gave have ended, with a
    // tenth for clocks that differ. While a group starts, links take their time.
    const auto silence = (peer.met ? 2 : 10) * options_.links.down_after;
    if (now - peer.since < silence + peer.longest_lease + peer.longest_lease / 10) continue;
    if (const auto done = leave_out(node, peer.incarnation); !done)
      log_(LogLevel::warning,
           fmt::format("event=cannot-evict peer={} why={}", node.value, in_quotes(done.error())));
    return;
  }
}

void Member::tend() {
  stood_still();
  look_after_traces();
  const auto now = Clock::now();
  std::erase_if(names_, [&](const auto& entry) { return entry.second->forget(now); });
  share_sight();
  come_back();
  if (engine_.regenerates) leave_out_the_dead();
  if (engine_.elects && engine_.in_epochs) {
    const NodeSet gone = absent();
    for (Name* known : all_names()) known->absent_changed(gone, false);
  }
  tending_.expires_after(tend_every);
  tending_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) tend();
  });
}

GroupStatus Member::status() const {
  const auto now = Clock::now();
  GroupStatus result = {.self = self_,
                        .engine = engine_.name,
                        .group = options_.links.group,
                        .epoch = membership_epoch(),
                        .messages = messages_};
  for (const Peer& peer : options_.links.members) {
    MemberStatus status = {.id = peer.id, .address = in_words(peer.address()), .self = peer.id == self_};
    const auto standing = roster_.find(peer.id);
    status.evicted = standing != roster_.end() && standing->second.evicted;
    if (status.self) {
      status.up = true;
      status.incarnation = links_->incarnation();
      status.since = now - started_;
    } else {
      const PeerState& state = peers_.at(peer.id);
      status.up = state.up;
      status.incarnation = state.incarnation;
      status.since = now - state.since;
    }
    result.members.push_back(std::move(status));
  }
  for (const auto& [text, known] : names_) result.names.push_back(known->status(now));
  std::ranges::sort(result.names, {}, &NameStatus::name);
  if (!with_majority() && everyone_.size() > 1)
    result.notes.push_back("this member cannot reach a majority of the group");
  if (const NodeSet unheard = cut_off_from(); !unheard.empty() && absent().contains(self_))
    result.notes.push_back(fmt::format(
        "this member was left out, and comes back when it hears {}, whom others hear", list(unheard)));
  if (waiting_out())
    result.notes.push_back("leases of a member that died are waited out before anything begins anew");
  return result;
}

}  // namespace conclave::live
