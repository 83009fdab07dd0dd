#include "live/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "core/ensure.hpp"
#include "core/random.hpp"
#include "live/links_loop.hpp"

namespace conclave::live {

namespace asio = boost::asio;

namespace {

constexpr std::size_t most_members = 1024;
constexpr std::size_t most_name = 200;

std::string wrong_with(const LinkOptions& options) {
  if (options.members.size() > most_members) return fmt::format("more than {} members", most_members);
  if (std::string wrong = wrong_with(options.members, options.self); !wrong.empty()) return wrong;
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
            .ids = ids_of(options_.members),
            .list = options_.list,
            .greatest = options_.members.back().id};
  if (options_.list == MemberList::changing) terms_.members = members_digest({});
  for (const Peer& peer : options_.members) {
    if (peer.id != options_.self) make_link(peer);
  }
}

Links::Loop::Link& Links::Loop::make_link(const Peer& peer) {
  const auto elsewhere = options_.via.find(peer.id);
  const std::uint64_t seed = scramble(options_.incarnation) + peer.id.value;
  auto link = std::unique_ptr<Link>(
      new Link{.peer = peer,
               .dialled = elsewhere == options_.via.end() ? peer.address() : elsewhere->second,
               .dials = options_.self < peer.id,
               .state = {pool_, options_.incarnation, options_.limits},
               .silence = {options_.heartbeat, options_.down_after},
               .redial = {options_.redial_least, options_.redial_most, seed}});
  const auto id_of = [](const std::unique_ptr<Link>& one) { return one->peer.id; };
  const auto place = std::ranges::upper_bound(links_, peer.id, {}, id_of);
  dirty_.reserve(links_.size() + 1);
  return **links_.insert(place, std::move(link));
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
  if (!proves())
    say(LogLevel::warning, "event=no_key text=\"whoever reaches the port of members may say to be one\"");
  accept();
  last_beat_ = Clock::now();
  for (const auto& link : links_) plan_dial(*link, {});
  wake_at(last_beat_);
  return {};
}

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

void Links::Loop::object(NodeId peer, const Refusal& why) {
  Link* const link = find(peer);
  ensure(link != nullptr, "who is objected to is another member");
  ++link->status.objections;
  link->rests_until = Clock::now() + options_.rest;
  if (link->session) refuse(*link->session, why);
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
      // Half a message may be on the wire, and only a new card can speak of the new stream.
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
    if (link && session.seal && session.unsent().empty()) seal_more(session, *link);
    const bool plain = link && !session.seal;
    std::size_t count = 0;
    if (!session.unsent().empty()) pieces[count++] = session.unsent();
    if (plain && link->control_left > 0) pieces[count++] = ByteView(link->control).last(link->control_left);
    if (plain) count += link->state.window().next_pieces(std::span(pieces).subspan(count));
    if (count == 0) return;
    std::size_t taken = session.connection->write(std::span(pieces).first(count));
    if (taken == 0) return;
    const std::size_t ready = std::min(taken, session.unsent().size());
    session.sent(ready);
    taken -= ready;
    if (!link) continue;
    ++link->status.writes;
    link->wrote = true;
    if (!plain) continue;
    const std::size_t control = std::min(taken, link->control_left);
    link->control_left -= control;
    link->state.window().take(taken - control);
  }
}

// What is sealed counts as taken, as if the kernel had it: it cannot be sealed again for this connection, and
// for the next it is.
void Links::Loop::seal_more(Session& session, Link& link) {
  constexpr unsigned records = 4;
  for (unsigned i = 0; i < records; ++i) {
    std::array<ByteView, 4> pieces;
    std::size_t count = 0;
    if (link.control_left > 0) pieces[count++] = ByteView(link.control).last(link.control_left);
    std::size_t room = most_sealed_bytes - std::exchange(link.control_left, 0);
    const auto more = std::span(pieces).subspan(count);
    const std::size_t found = link.state.window().next_pieces(more);
    std::size_t taken = 0;
    for (ByteView& piece : more.first(found)) {
      piece = piece.first(std::min(piece.size(), room));
      room -= piece.size();
      taken += piece.size();
      if (!piece.empty()) ++count;
    }
    if (count == 0) return;
    session.seal->close(std::span(pieces).first(count), session.outbox);
    link.state.window().take(taken);
  }
}

void Links::Loop::Session::sent(std::size_t bytes) {
  outbox_sent += bytes;
  if (outbox_sent < outbox.size()) return;
  outbox.clear();
  outbox_sent = 0;
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
  for (std::size_t i = 0; i < links_.size(); ++i) {  // by index: whoever is told something may add a peer
    Link& link = *links_[i];
    if (link.dial_at && now >= *link.dial_at) dial(link);
    if (link.ack_at && now >= *link.ack_at) link.state.owes_ack() ? say_alive(link) : link.ack_at.reset();
    if (link.dial_at) wake_at(*link.dial_at);
    if (link.ack_at) wake_at(*link.ack_at);
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
  for (std::size_t i = 0; i < links_.size(); ++i) beat_link(*links_[i], elapsed);
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

// --- what others ask ---

Links::Loop::Link* Links::Loop::find(NodeId id) const {
  const auto id_of = [](const std::unique_ptr<Link>& link) { return link->peer.id; };
  const auto found = std::ranges::lower_bound(links_, id, {}, id_of);
  return found != links_.end() && (*found)->peer.id == id ? found->get() : nullptr;
}

const Links::Loop::Link& Links::Loop::link(NodeId id) const {
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

// --- members that come and go ---

// At once or after a while; the greater of two ids only after a long one, and only where members change: the
// other may have an old address of us, or not know us at all.
void Links::Loop::plan_dial(Link& link, LinkOptions::Duration after) {
  if (link.session || link.dial_at || link.dialled.host.empty()) return;
  if (!link.dials && options_.list == MemberList::fixed) return;
  link.dial_at = std::max(Clock::now() + (link.dials ? after : options_.knock_after), link.rests_until);
  wake_at(*link.dial_at);
}

void Links::Loop::add_peer(const Peer& peer, std::uint64_t data) {
  ensure(options_.list != MemberList::fixed, "this group has a fixed list of members");
  if (peer.id == options_.self) return;
  if (!terms_.knows(peer.id)) terms_.ids.push_back(peer.id);
  Link* link = find(peer.id);
  if (!link) {
    link = &make_link(peer);
    say(LogLevel::info, fmt::format("event=peer_added peer={} address={}", link->name(),
                                    in_quotes(in_words(peer.address()))));
  }
  link->data = data;
  if (!options_.via.contains(peer.id)) link->dialled = peer.address();
  link->peer = peer;
  plan_dial(*link, {});
}

void Links::Loop::remove_peer(NodeId id) {
  if (std::erase(terms_.ids, id) == 0 && !find(id)) return;
  terms_.greatest = std::max(terms_.greatest, id);
  asio::post(loop_, [weak = weak_from_this(), id] {
    if (const auto self = weak.lock()) self->reap(id);
  });
}

void Links::Loop::reap(NodeId id) {
  Link* const link = find(id);
  if (!link || terms_.knows(id)) return;
  say(LogLevel::info, fmt::format("event=peer_removed peer={}", link->name()));
  if (const SessionPointer session = link->session) {
    refuse(*session, {RefusalCode::removed_member, fmt::format("member {} was removed", id.value)});
  }
  const auto sessions = sessions_;
  for (const SessionPointer& session : sessions) {
    if (session->link != link) continue;
    if (session->phase != Phase::parting) drop(*session, "removed");
    session->link = nullptr;
  }
  std::erase(dirty_, link);
  std::erase_if(links_, [&](const auto& one) { return one.get() == link; });
}

void Links::Loop::change_list(NodeId greatest) {
  ensure(options_.list != MemberList::fixed, "this group has a fixed list of members");
  terms_.list = MemberList::changing;
  terms_.members = members_digest({});
  terms_.greatest = std::max(terms_.greatest, greatest);
}

std::vector<NodeId> Links::Loop::peers() const {
  std::vector<NodeId> ids;
  for (const auto& link : links_) ids.push_back(link->peer.id);
  return ids;
}

Links::Links(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}
Links::~Links() = default;

std::expected<std::unique_ptr<Links>, std::string> Links::open(asio::io_context& loop, LinkOptions options,
                                                               Events events, Log log) {
  ensure(events.message && events.up && events.down && events.broken_promise, "the owner listens");
  if (std::string wrong = wrong_with(options); !wrong.empty()) return std::unexpected(std::move(wrong));
  auto inner = std::make_shared<Loop>(loop, std::move(options), std::move(events), std::move(log));
  if (auto begun = inner->begin(); !begun) return std::unexpected(begun.error());
  return std::unique_ptr<Links>(new Links(std::move(inner)));
}

void Links::send(NodeId to, ByteView payload) { loop_->send(to, payload); }
void Links::object(NodeId peer, const Refusal& why) { loop_->object(peer, why); }
bool Links::congested(NodeId to) const { return loop_->link(to).state.congested(); }
LinkStatus Links::status(NodeId peer) const { return loop_->status(peer); }
DoorStatus Links::door() const { return loop_->door(); }
void Links::add_peer(const Peer& peer, std::uint64_t data) { loop_->add_peer(peer, data); }
void Links::remove_peer(NodeId peer) { loop_->remove_peer(peer); }
void Links::change_list(NodeId greatest) { loop_->change_list(greatest); }
void Links::welcome(bool unknown) { loop_->welcome(unknown); }
bool Links::knows(NodeId peer) const { return loop_->knows(peer); }
std::vector<NodeId> Links::peers() const { return loop_->peers(); }
std::uint64_t Links::incarnation() const { return loop_->incarnation(); }

}  // namespace conclave::live
