#include "live/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "core/ensure.hpp"
#include "core/random.hpp"
#include "live/connection.hpp"
#include "live/handshake.hpp"
#include "live/secrets.hpp"

namespace conclave::live {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Error = boost::system::error_code;
using Side = Connection::Side;

namespace {

constexpr std::size_t most_members = 1024;
constexpr std::size_t most_name = 200;
constexpr auto parting_time = std::chrono::seconds(1);
constexpr auto accept_again_after = std::chrono::milliseconds(100);
constexpr unsigned stranger_lines_per_beat = 5;

struct Link;

// One connection from its first packet to its last.
struct Session {
  enum class Phase { connecting, greeting, established, parting, gone };
  Phase phase = Phase::connecting;
  Side side = Side::dialler;
  Link* link = nullptr;  // the dialler knows it from the start, the acceptor when the handshake is done
  std::optional<tcp::socket> connecting = {};
  std::shared_ptr<Connection> connection = {};
  std::optional<Handshake> handshake = {};
  Bytes outbox = {};  // of the handshake
  Time deadline = {};

  bool stranger() const { return side == Side::acceptor && phase != Phase::established; }
};

struct Link {
  Peer peer;
  Address dialled;  // where the peer is reached
  bool dials;       // we dial, not the peer
  LinkState state;
  Silence silence;
  Redial redial;
  std::shared_ptr<Session> session = {};  // established
  std::optional<Time> dial_at = {};       // unset while dialling, connected, or being dialled
  std::optional<Time> ack_at = {};
  std::uint64_t attempts = 0;
  bool resolving = false;
  bool told_up = false;
  bool dirty = false;          // something waits for the end of this turn
  bool overflowed = false;     // … to be reported
  bool was_congested = false;  // … and the owner waits to hear that it is over
  bool wrote = false;          // since the last beat
  std::array<std::byte, alive_bytes> control = {};
  std::size_t control_left = 0;
  LinkStatus status = {};

  std::string name() const { return std::to_string(peer.id.value); }
};

std::string wrong_with(const LinkOptions& options) {
  if (std::string wrong = wrong_with(options.members, options.self); !wrong.empty()) return wrong;
  if (options.members.size() > most_members) return fmt::format("more than {} members", most_members);
  if (options.group.size() > most_name || options.algorithm.size() > most_name)
    return fmt::format("the names of group and algorithm have at most {} bytes", most_name);
  if (options.heartbeat <= options.heartbeat.zero() || options.down_after < 3 * options.heartbeat)
    return "a peer is down after three heartbeats at the earliest";
  if (options.handshake_time <= options.heartbeat.zero() ||
      options.redial_least <= options.heartbeat.zero() || options.redial_most < options.redial_least ||
      options.ack_delay <= options.heartbeat.zero())
    return "times of links are greater than zero, and the longest pause is not shorter than the shortest";
  if (options.half_open == 0) return "at least one stranger must be let in at a time";
  if (options.limits.queue_bytes < 2 * (options.limits.message_bytes + data_head_bytes))
    return "a queue holds at least two messages of the greatest length";
  if (options.limits.message_bytes > (1u << 30)) return "a message has at most 1 GiB";
  return {};
}

std::vector<NodeId> ids_of(const std::vector<Peer>& members) {
  std::vector<NodeId> ids;
  for (const Peer& peer : members) ids.push_back(peer.id);
  return ids;
}

}  // namespace

std::uint64_t fresh_incarnation() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(count));
}

class Links::Loop : public std::enable_shared_from_this<Links::Loop> {
 public:
  Loop(asio::io_context& loop, LinkOptions options, Events events, Log log);
  ~Loop();
  std::expected<void, std::string> begin();

  void send(NodeId to, ByteView payload);
  const Link& link(NodeId id) const;
  LinkStatus status(NodeId id) const;
  DoorStatus door() const { return door_; }
  std::uint64_t incarnation() const { return options_.incarnation; }

 private:
  using SessionPointer = std::shared_ptr<Session>;
  using Phase = Session::Phase;

  // Listening and dialling.
  std::expected<void, std::string> listen();
  void accept();
  void on_accept(const Error& error, tcp::socket socket);
  bool make_room_at_the_door();
  void dial(Link& link);
  void connect(const SessionPointer& session, std::vector<tcp::endpoint> endpoints);
  void on_connect(const SessionPointer& session, const Error& error);
  SessionPointer add_session(Side side);
  void start(const SessionPointer& session, tcp::socket socket);

  // The life of a session.
  void on_ready(Session& session);
  std::size_t on_bytes(Session& session, ByteView bytes);
  void on_frame(Session& session, const Frame& frame);
  void on_greeting(Session& session, const Frame& frame);
  void on_refused(Session& session, const Frame& frame);
  void on_data(Session& session, const Frame& frame);
  void on_alive(Session& session, const Frame& frame);
  void after_reading(Link& link);
  void establish(Session& session);
  void report(Link& link, const LinkState::Meeting& meeting);
  void refuse(Session& session, const Refusal& refusal);
  void dismiss(Session& session, const Refusal& refusal);
  void drop(Session& session, std::string_view why);
  void detach(Session& session);
  void count_refusal(Link& link, std::string text);

  // Writing.
  void mark_dirty(Link& link);
  void end_turn();
  void write_out(Session& session);
  void say_alive(Link& link);
  void break_promise(Link& link, const std::string& why);

  // Time.
  void wake_at(Time time);
  void on_alarm();
  void beat(Time now);
  void beat_link(Link& link, LinkOptions::Duration elapsed);
  void expire_sessions(Time now);

  Link* find(NodeId id) const;
  Standing standing(const Link& link) const;
  void count_door();
  void say(LogLevel level, std::string_view text) const {
    if (log_) log_(level, text);
  }
  void say_of_stranger(const Session& session, std::string_view text);

  asio::io_context& loop_;
  LinkOptions options_;
  Events events_;
  Log log_;
  Terms terms_;
  std::unique_ptr<asio::ssl::context> tls_;
  ChunkPool pool_;
  std::vector<std::unique_ptr<Link>> links_;  // by ascending id
  std::vector<SessionPointer> sessions_;      // in order of arrival
  std::vector<Link*> dirty_;
  tcp::acceptor acceptor_;
  tcp::resolver resolver_;
  asio::steady_timer alarm_;
  Time alarm_time_ = Time::max();
  Time last_beat_ = {};
  std::optional<Time> accept_at_ = {};
  bool turn_ends_ = false;
  DoorStatus door_ = {};
  unsigned stranger_lines_ = 0;
  std::uint64_t stranger_lines_left_out_ = 0;
};

Links::Loop::Loop(asio::io_context& loop, LinkOptions options, Events events, Log log)
    : loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)),
      log_(std::move(log)),
      acceptor_(loop),
      resolver_(loop),
      alarm_(loop) {
  if (options_.incarnation == 0) options_.incarnation = fresh_incarnation();
  std::ranges::sort(options_.members, {}, &Peer::id);
  terms_ = {.group = options_.group,
            .algorithm = options_.algorithm,
            .members = members_digest(options_.members),
            .epoch = options_.epoch,
            .key = options_.key,
            .ids = ids_of(options_.members)};
  for (const Peer& peer : options_.members) {
    if (peer.id == options_.self) continue;
    const auto elsewhere = options_.via.find(peer.id);
    const std::uint64_t seed = scramble(options_.incarnation) + peer.id.value;
    links_.emplace_back(
        new Link{.peer = peer,
                 .dialled = elsewhere == options_.via.end() ? peer.address() : elsewhere->second,
                 .dials = options_.self < peer.id,
                 .state = {pool_, options_.incarnation, options_.limits},
                 .silence = {options_.heartbeat, options_.down_after},
                 .redial = {options_.redial_least, options_.redial_most, seed}});
  }
  dirty_.reserve(links_.size());
}

Links::Loop::~Loop() {
  for (const SessionPointer& session : sessions_) {
    if (session->connection) session->connection->close();
  }
}

std::expected<void, std::string> Links::Loop::begin() {
  if (options_.tls.wanted()) {
    auto context = make_context(options_.tls);
    if (!context) return std::unexpected(context.error());
    tls_ = std::move(*context);
  }
  if (auto listening = listen(); !listening) return listening;
  say(LogLevel::info,
      fmt::format("event=listening self={} incarnation={} members={} tls={}", options_.self.value,
                  options_.incarnation, options_.members.size(), tls_ ? "on" : "off"));
  if (options_.key.empty()) say(LogLevel::warning, "event=no_key text=\"whoever reaches the port may join\"");
  accept();
  last_beat_ = Clock::now();
  for (const auto& link : links_) {
    if (link->dials) link->dial_at = last_beat_;
  }
  wake_at(last_beat_);
  return {};
}

std::expected<void, std::string> Links::Loop::listen() {
  Address where = options_.listen;
  if (where.host.empty()) {
    const auto self = std::ranges::find(options_.members, options_.self, &Peer::id);
    where = self->address();
  }
  Error error;
  const auto found = resolver_.resolve(where.host, std::to_string(where.port), tcp::resolver::passive, error);
  const auto at_fault = [&](const char* what) {
    return std::unexpected(fmt::format("{}: cannot {}: {}", in_words(where), what, error.message()));
  };
  if (error) return at_fault("find the address");
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor_.open(endpoint.protocol(), error);
  if (error) return at_fault("open a socket");
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  acceptor_.bind(endpoint, error);
  if (error) return at_fault("listen");
  acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (error) return at_fault("listen");
  return {};
}

// --- listening and dialling ---

void Links::Loop::accept() {
  acceptor_.async_accept([weak = weak_from_this()](const Error& error, tcp::socket socket) {
    if (const auto self = weak.lock()) self->on_accept(error, std::move(socket));
  });
}

void Links::Loop::on_accept(const Error& error, tcp::socket socket) {
  if (error == asio::error::operation_aborted) return;
  if (error) {
    // Most often too many open files; trying again at once would spin.
    say(LogLevel::error, fmt::format("event=accept_failed text={}", in_quotes(error.message())));
    accept_at_ = Clock::now() + accept_again_after;
    return wake_at(*accept_at_);
  }
  ++door_.accepted;
  const bool room = make_room_at_the_door();
  const SessionPointer session = add_session(Side::acceptor);
  start(session, std::move(socket));
  if (!room) dismiss(*session, {RefusalCode::busy, "too many connections are shaking hands"});
  count_door();
  accept();
}

// A member says hello at once. Who stands at the door in silence, or is on its way out, goes first.
bool Links::Loop::make_room_at_the_door() {
  if (door_.half_open < options_.half_open) return true;
  const auto victim_in = [&](Phase phase) {
    return std::ranges::find_if(sessions_, [&](const SessionPointer& one) {
      const bool silent = !one->handshake || !one->handshake->theirs();
      return one->stranger() && one->phase == phase && (phase == Phase::parting || silent);
    });
  };
  auto victim = victim_in(Phase::parting);
  if (victim == sessions_.end()) victim = victim_in(Phase::greeting);
  if (victim == sessions_.end()) return false;
  const SessionPointer session = *victim;
  dismiss(*session, {RefusalCode::busy, "too many connections are shaking hands, and this one was silent"});
  return true;
}

Links::Loop::SessionPointer Links::Loop::add_session(Side side) {
  auto session = std::make_shared<Session>();
  session->side = side;
  session->deadline = Clock::now() + options_.handshake_time;
  sessions_.push_back(session);
  wake_at(session->deadline);
  return session;
}

void Links::Loop::dial(Link& link) {
  link.dial_at.reset();
  const SessionPointer session = add_session(Side::dialler);
  session->link = &link;
  Error no_literal;
  const auto address = asio::ip::make_address(link.dialled.host, no_literal);
  if (!no_literal) return connect(session, {tcp::endpoint(address, link.dialled.port)});
  // One question at a time: a name service that does not answer must not be asked ever more.
  if (std::exchange(link.resolving, true)) return drop(*session, "the name is still being resolved");
  resolver_.async_resolve(link.dialled.host, std::to_string(link.dialled.port),
                          [weak = weak_from_this(), of = std::weak_ptr(session), &link](
                              const Error& error, const tcp::resolver::results_type& found) {
                            const auto self = weak.lock();
                            if (!self) return;
                            link.resolving = false;
                            const auto dialling = of.lock();
                            if (!dialling || dialling->phase != Phase::connecting) return;
                            if (error) return self->drop(*dialling, error.message());
                            self->connect(dialling, {found.begin(), found.end()});
                          });
}

void Links::Loop::connect(const SessionPointer& session, std::vector<tcp::endpoint> endpoints) {
  session->connecting.emplace(loop_);
  asio::async_connect(*session->connecting, endpoints,
                      [this, weak = std::weak_ptr(session)](const Error& error, const tcp::endpoint&) {
                        if (const auto self = weak.lock()) on_connect(self, error);
                      });
}

void Links::Loop::on_connect(const SessionPointer& session, const Error& error) {
  if (session->phase != Phase::connecting) return;
  if (error) return drop(*session, error.message());
  start(session, std::move(*session->connecting));
}

// The handlers live as long as the connection and hold the session only weakly: it is gone when we dropped
// it.
void Links::Loop::start(const SessionPointer& session, tcp::socket socket) {
  session->phase = Phase::greeting;
  session->connecting.reset();
  session->connection = std::make_shared<Connection>(std::move(socket));
  const std::weak_ptr weak = session;
  Connection::Handlers handlers = {
      .ready =
          [this, weak] {
            if (const auto self = weak.lock()) on_ready(*self);
          },
      .bytes =
          [this, weak](ByteView bytes) {
            const auto self = weak.lock();
            return self ? on_bytes(*self, bytes) : bytes.size();
          },
      .room =
          [this, weak] {
            if (const auto self = weak.lock()) write_out(*self);
          },
      .lost =
          [this, weak](const std::string& why) {
            if (const auto self = weak.lock()) drop(*self, why);
          },
  };
  const bool check = session->side == Side::dialler && options_.tls.check_host;
  session->connection->start(std::move(handlers), tls_.get(), session->side,
                             check ? session->link->peer.host : std::string());
}

// --- the life of a session ---

Standing Links::Loop::standing(const Link& link) const {
  return {options_.incarnation, link.state.stream(), link.state.knows()};
}

void Links::Loop::on_ready(Session& session) {
  const std::string binding = session.connection->binding();
  if (session.side == Side::dialler) {
    Link& link = *session.link;
    session.handshake = Handshake::dial(terms_, options_.self, link.peer.id, standing(link), ++link.attempts,
                                        fresh_nonce(), binding, session.outbox);
    return write_out(session);
  }
  const auto of_peer = [this](NodeId id) { return standing(*find(id)); };
  session.handshake = Handshake::accept(terms_, options_.self, of_peer, fresh_nonce(), binding);
}

std::size_t Links::Loop::on_bytes(Session& session, ByteView bytes) {
  std::size_t done = 0;
  while (session.phase == Phase::greeting || session.phase == Phase::established) {
    const std::size_t most =
        session.phase == Phase::greeting ? most_greeting_bytes : options_.limits.message_bytes + 16;
    const auto frame = next_frame(bytes.subspan(done), most);
    if (!frame) {
      refuse(session, refusal_for(frame.error()));
      break;
    }
    if (!*frame) break;
    done += (*frame)->size;
    on_frame(session, **frame);
  }
  if (session.phase == Phase::established) after_reading(*session.link);
  return done;
}

void Links::Loop::on_frame(Session& session, const Frame& frame) {
  if (frame.kind == FrameKind::refused) return on_refused(session, frame);
  if (session.phase == Phase::greeting) return on_greeting(session, frame);
  session.link->silence.heard();
  switch (frame.kind) {
    case FrameKind::data: return on_data(session, frame);
    case FrameKind::alive: return on_alive(session, frame);
    default: return refuse(session, {RefusalCode::garbage, "a frame of the handshake after its end"});
  }
}

void Links::Loop::on_greeting(Session& session, const Frame& frame) {
  const auto finished = session.handshake->on_frame(frame, session.outbox);
  if (!finished) return refuse(session, finished.error());
  if (*finished) return establish(session);
  write_out(session);
}

void Links::Loop::on_refused(Session& session, const Frame& frame) {
  const auto refusal = decode_refused(frame.body);
  const std::string text =
      refusal ? fmt::format("code={} text={}", enumerator_name(refusal->code), in_quotes(refusal->text))
              : "text=\"refused for a reason that cannot be read\"";
  if (session.link) {
    count_refusal(*session.link, "refused by the peer: " + text);
    say(LogLevel::warning, fmt::format("event=refused_by_peer peer={} {}", session.link->name(), text));
  } else {
    say_of_stranger(session, fmt::format("event=refused_by_stranger {}", text));
  }
  drop(session, "refused");
}

void Links::Loop::on_data(Session& session, const Frame& frame) {
  Link& link = *session.link;
  const auto data = decode_data(frame.body);
  if (!data) return refuse(session, refusal_for(data.error()));
  const auto arrival = link.state.on_data(*data);
  if (!arrival) return refuse(session, arrival.error());
  if (*arrival == LinkState::Arrival::duplicate) return;
  ++link.status.delivered;
  events_.message(link.peer.id, data->payload);
}

void Links::Loop::on_alive(Session& session, const Frame& frame) {
  const auto received = decode_alive(frame.body);
  if (!received) return refuse(session, refusal_for(received.error()));
  if (const auto fine = session.link->state.on_received(*received); !fine) refuse(session, fine.error());
}

void Links::Loop::after_reading(Link& link) {
  if (link.state.ack_is_due()) {
    say_alive(link);
  } else if (link.state.owes_ack() && !link.ack_at) {
    link.ack_at = Clock::now() + options_.ack_delay;
    wake_at(*link.ack_at);
  }
  if (link.was_congested && link.state.window().bytes() <= options_.limits.queue_bytes / 4) {
    link.was_congested = false;
    if (events_.drained) events_.drained(link.peer.id);
  }
}

void Links::Loop::establish(Session& session) {
  const Handshake& handshake = *session.handshake;
  Link& link = *find(handshake.theirs()->from);
  session.link = &link;
  const auto meeting = link.state.meet(handshake.ours(), *handshake.theirs(), link.session != nullptr);
  if (!meeting) {
    session.outbox.clear();  // our proof, which would let the other side believe that it is in
    return refuse(session, meeting.error());
  }
  if (link.session) drop(*link.session, "replaced by a newer connection");
  session.phase = Phase::established;
  link.session = *std::ranges::find(sessions_, &session, &SessionPointer::get);
  link.dial_at.reset();
  link.redial.succeeded();
  link.silence.heard();
  ++link.status.connects;
  link.status.sent_again += meeting->sent_again;
  count_door();
  say(LogLevel::info,
      fmt::format("event=connected peer={} address={} incarnation={} connects={} sent_again={}", link.name(),
                  session.connection->remote(), link.state.knows().incarnation, link.status.connects,
                  meeting->sent_again));
  mark_dirty(link);
  report(link, *meeting);
}

void Links::Loop::report(Link& link, const LinkState::Meeting& meeting) {
  if (meeting.former != 0)
    break_promise(link, fmt::format("restarted: incarnation {} became {}, {} messages were not acknowledged",
                                    meeting.former, link.state.knows().incarnation, meeting.dropped));
  if (meeting.peer_gave_up) break_promise(link, "the peer's queue was full: messages from it are lost");
  if (meeting.peer_forgot)
    break_promise(
        link, fmt::format("the peer forgot what it had acknowledged: {} messages are lost", meeting.dropped));
  if (meeting.new_incarnation || !link.told_up) {
    link.told_up = true;
    events_.up(link.peer.id, link.state.knows().incarnation);
  }
  // Our hello spoke of the stream before; only a new one can speak of this.
  if (meeting.peer_forgot && link.session) drop(*link.session, "begins a new stream");
}

void Links::Loop::count_refusal(Link& link, std::string text) {
  ++link.status.refusals;
  link.status.last_refusal = std::move(text);
}

void Links::Loop::refuse(Session& session, const Refusal& refusal) {
  if (session.phase == Phase::parting || session.phase == Phase::gone) return;
  ++door_.refused;
  const std::string text =
      fmt::format("code={} text={}", enumerator_name(refusal.code), in_quotes(refusal.text));
  if (session.link) {
    count_refusal(*session.link, "refused by us: " + text);
    say(LogLevel::warning, fmt::format("event=refused peer={} {}", session.link->name(), text));
  } else {
    say_of_stranger(session, "event=refused " + text);
  }
  const bool mid_message =
      session.phase == Phase::established && !session.link->state.window().between_messages();
  if (mid_message || !session.connection) return drop(session, "refused");
  Bytes last_words = std::move(session.outbox);
  encode_refused(refusal, last_words);
  detach(session);
  session.phase = Phase::parting;
  session.deadline = Clock::now() + parting_time;
  wake_at(session.deadline);
  session.connection->part(std::move(last_words));
}

// Without waiting for anything: there is no room for those who part slowly.
void Links::Loop::dismiss(Session& session, const Refusal& refusal) {
  ++door_.refused;
  say_of_stranger(session, fmt::format("event=refused code={} text={}", enumerator_name(refusal.code),
                                       in_quotes(refusal.text)));
  Bytes words;
  encode_refused(refusal, words);
  const ByteView piece = bytes_of(words);
  if (!tls_) session.connection->write({&piece, 1});
  session.phase = Phase::parting;
  drop(session, "dismissed");
}

// The link forgets its session; if it is ours to dial, it will.
void Links::Loop::detach(Session& session) {
  Link* const link = session.link;
  if (!link) return;
  if (link->session.get() == &session) {
    link->session.reset();
    link->ack_at.reset();
    link->control_left = 0;
  }
  if (!link->dials || link->session || link->dial_at) return;
  link->dial_at = Clock::now() + link->redial.next();
  wake_at(*link->dial_at);
}

void Links::Loop::drop(Session& session, std::string_view why) {
  if (session.phase == Phase::gone) return;
  const Phase before = std::exchange(session.phase, Phase::gone);
  const std::string reason = "why=" + in_quotes(why);
  if (before == Phase::parting) {
    // It was said why.
  } else if (session.link) {
    const LogLevel level = before == Phase::connecting    ? LogLevel::debug
                           : before == Phase::established ? LogLevel::info
                                                          : LogLevel::warning;
    say(level, fmt::format("event=disconnected peer={} {}", session.link->name(), reason));
  } else {
    say_of_stranger(session, "event=stranger_left " + reason);
  }
  if (before != Phase::parting) detach(session);
  if (session.connection) session.connection->close();
  session.connecting.reset();
  std::erase_if(sessions_, [&](const SessionPointer& one) { return one.get() == &session; });
  count_door();
}

// --- writing ---

void Links::Loop::send(NodeId to, ByteView payload) {
  Link* const link = find(to);
  ensure(link != nullptr, "messages go to other members");
  if (link->state.send(payload)) {
    ++link->status.sent;
    if (!link->was_congested) link->was_congested = link->state.congested();
  } else {
    link->overflowed = true;
  }
  mark_dirty(*link);
}

void Links::Loop::mark_dirty(Link& link) {
  if (link.dirty) return;
  link.dirty = true;
  dirty_.push_back(&link);
  if (std::exchange(turn_ends_, true)) return;
  asio::post(loop_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->end_turn();
  });
}

// By index: what is told here may send again, to links that were done with.
void Links::Loop::end_turn() {
  turn_ends_ = false;
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    Link& link = *dirty_[i];
    link.dirty = false;
    if (std::exchange(link.overflowed, false)) {
      link.was_congested = false;
      // Half a message may be on the wire, and only a new hello can speak of the new stream.
      if (link.session) drop(*link.session, "the queue is full");
      break_promise(link, fmt::format("the queue of {} bytes is full: what was in it is lost",
                                      options_.limits.queue_bytes));
    }
    if (link.session) write_out(*link.session);
  }
  dirty_.clear();
}

void Links::Loop::write_out(Session& session) {
  if (session.phase != Phase::greeting && session.phase != Phase::established) return;
  Link* const link = session.phase == Phase::established ? session.link : nullptr;
  if (link && link->overflowed) return;
  std::array<ByteView, 16> pieces;
  for (;;) {
    std::size_t count = 0;
    if (!session.outbox.empty()) pieces[count++] = bytes_of(session.outbox);
    if (link && link->control_left > 0) pieces[count++] = ByteView(link->control).last(link->control_left);
    if (link) count += link->state.window().next_pieces(std::span(pieces).subspan(count));
    if (count == 0) return;
    std::size_t taken = session.connection->write(std::span(pieces).first(count));
    if (taken == 0) return;
    const std::size_t greeting = std::min(taken, session.outbox.size());
    session.outbox.erase(session.outbox.begin(),
                         session.outbox.begin() + static_cast<std::ptrdiff_t>(greeting));
    taken -= greeting;
    if (!link) continue;
    ++link->status.writes;
    link->wrote = true;
    const std::size_t control = std::min(taken, link->control_left);
    link->control_left -= control;
    link->state.window().take(taken - control);
  }
}

// Only where nothing else waits to be sent: every message carries the same news.
void Links::Loop::say_alive(Link& link) {
  link.ack_at.reset();
  if (!link.session || link.control_left > 0 || !link.state.window().all_taken()) return;
  link.control = link.state.alive();
  link.control_left = link.control.size();
  mark_dirty(link);
}

void Links::Loop::break_promise(Link& link, const std::string& why) {
  ++link.status.broken_promises;
  say(LogLevel::warning, fmt::format("event=broken_promise peer={} why={}", link.name(), in_quotes(why)));
  events_.broken_promise(link.peer.id, why);
}

// --- time ---

void Links::Loop::wake_at(Time time) {
  if (time >= alarm_time_) return;
  alarm_time_ = time;
  alarm_.expires_at(time);
  alarm_.async_wait([weak = weak_from_this()](const Error& error) {
    if (error) return;
    if (const auto self = weak.lock()) self->on_alarm();
  });
}

void Links::Loop::on_alarm() {
  alarm_time_ = Time::max();
  const Time now = Clock::now();
  if (now >= last_beat_ + options_.heartbeat) beat(now);
  expire_sessions(now);
  if (accept_at_ && now >= *accept_at_) {
    accept_at_.reset();
    accept();
  }
  for (const auto& link : links_) {
    if (link->dial_at && now >= *link->dial_at) dial(*link);
    if (link->ack_at && now >= *link->ack_at)
      link->state.owes_ack() ? say_alive(*link) : link->ack_at.reset();
    if (link->dial_at) wake_at(*link->dial_at);
    if (link->ack_at) wake_at(*link->ack_at);
  }
  if (accept_at_) wake_at(*accept_at_);
  for (const SessionPointer& session : sessions_) {
    if (session->phase != Phase::established) wake_at(session->deadline);
  }
  wake_at(last_beat_ + options_.heartbeat);
}

void Links::Loop::beat(Time now) {
  const auto elapsed = std::chrono::duration_cast<LinkOptions::Duration>(now - last_beat_);
  last_beat_ = now;
  if (elapsed > options_.down_after / 2)
    say(LogLevel::warning,
        fmt::format("event=paused ms={} text=\"this process did not run; peers are listened to anew\"",
                    std::chrono::duration_cast<std::chrono::milliseconds>(elapsed).count()));
  if (stranger_lines_left_out_ > 0)
    say(LogLevel::warning, fmt::format("event=strangers left_out={}", stranger_lines_left_out_));
  stranger_lines_ = 0;
  stranger_lines_left_out_ = 0;
  for (const auto& link : links_) beat_link(*link, elapsed);
}

void Links::Loop::beat_link(Link& link, LinkOptions::Duration elapsed) {
  if (!std::exchange(link.wrote, false)) say_alive(link);
  if (!link.silence.passes(elapsed)) return;
  if (link.session) drop(*link.session, "silent for too long");
  if (!std::exchange(link.told_up, false)) return;
  say(LogLevel::warning, fmt::format("event=down peer={}", link.name()));
  events_.down(link.peer.id);
}

void Links::Loop::expire_sessions(Time now) {
  for (std::size_t i = 0; i < sessions_.size();) {
    const SessionPointer session = sessions_[i];
    if (session->phase != Phase::established && now >= session->deadline) {
      if (session->phase == Phase::greeting && session->handshake)
        refuse(*session, {RefusalCode::timed_out, "the handshake took too long"});
      else
        drop(*session, "timed out");
    }
    if (i < sessions_.size() && sessions_[i] == session) ++i;
  }
}

// --- the rest ---

Link* Links::Loop::find(NodeId id) const {
  const auto id_of = [](const std::unique_ptr<Link>& link) { return link->peer.id; };
  const auto found = std::ranges::lower_bound(links_, id, {}, id_of);
  return found != links_.end() && (*found)->peer.id == id ? found->get() : nullptr;
}

const Link& Links::Loop::link(NodeId id) const {
  const Link* const found = find(id);
  ensure(found != nullptr, "links lead to other members");
  return *found;
}

LinkStatus Links::Loop::status(NodeId id) const {
  const Link& one = link(id);
  LinkStatus status = one.status;
  status.incarnation = one.state.knows().incarnation;
  status.state = status.incarnation == 0 ? LinkStatus::State::never_met
                 : one.session           ? LinkStatus::State::connected
                 : one.told_up           ? LinkStatus::State::disconnected
                                         : LinkStatus::State::down;
  status.queued_messages = one.state.window().messages();
  status.queued_bytes = one.state.window().bytes();
  status.silent = one.silence.so_far();
  status.duplicates = one.state.duplicates();
  return status;
}

void Links::Loop::count_door() {
  door_.half_open = static_cast<std::size_t>(
      std::ranges::count_if(sessions_, [](const SessionPointer& one) { return one->stranger(); }));
  door_.most_half_open = std::max(door_.most_half_open, door_.half_open);
}

// A flood of strangers does not become a flood of lines.
void Links::Loop::say_of_stranger(const Session& session, std::string_view text) {
  if (++stranger_lines_ > stranger_lines_per_beat) {
    ++stranger_lines_left_out_;
    return;
  }
  say(LogLevel::warning,
      fmt::format("{} address={}", text, session.connection ? session.connection->remote() : "?"));
}

Links::Links(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}
Links::~Links() = default;

std::expected<std::unique_ptr<Links>, std::string> Links::open(asio::io_context& loop, LinkOptions options,
                                                               Events events, Log log) {
  if (std::string wrong = wrong_with(options); !wrong.empty()) return std::unexpected(std::move(wrong));
  auto inner = std::make_shared<Loop>(loop, std::move(options), std::move(events), std::move(log));
  if (auto begun = inner->begin(); !begun) return std::unexpected(begun.error());
  return std::unique_ptr<Links>(new Links(std::move(inner)));
}

void Links::send(NodeId to, ByteView payload) { loop_->send(to, payload); }
bool Links::congested(NodeId to) const { return loop_->link(to).state.congested(); }
LinkStatus Links::status(NodeId peer) const { return loop_->status(peer); }
DoorStatus Links::door() const { return loop_->door(); }
std::uint64_t Links::incarnation() const { return loop_->incarnation(); }

}  // namespace conclave::live
