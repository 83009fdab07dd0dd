// The life of a connection: handshake, messages, refusals, its end.
#include <fmt/format.h>

#include <algorithm>

#include "live/links_loop.hpp"
#include "live/secrets.hpp"

namespace conclave::live {

namespace {

constexpr auto parting_time = std::chrono::seconds(1);

Refusal wrong_frame() {
  return {RefusalCode::wrong_frame, "a frame that was not sealed by the peer, or not as its next one"};
}

}  // namespace

Standing Links::Loop::standing(NodeId peer) const {
  const Link* const link = find(peer);
  if (!link) return {.incarnation = options_.incarnation, .stream = 1, .first_stream = 1};
  return {options_.incarnation, link->state.stream(), link->state.first_stream(), link->state.knows()};
}

void Links::Loop::on_ready(Session& session) {
  const std::string binding = session.connection->binding();
  const auto of_peer = [this](NodeId id) { return standing(id); };
  if (session.side == Side::acceptor) {
    session.handshake = Handshake::accept(terms_, options_.self, of_peer, fresh_nonce(), binding);
    return;
  }
  session.greeted = ++moments_;
  session.handshake = Handshake::dial(terms_, options_.self, session.link->peer.id, of_peer, fresh_nonce(),
                                      binding, session.outbox);
  write_out(session);
}

// Once our queue has overflowed, what the peer acknowledges is about the stream before: this connection is
// over.
bool Links::Loop::listens(const Session& session) {
  return session.phase == Phase::greeting ||
         (session.phase == Phase::established && !session.link->overflowed);
}

std::size_t Links::Loop::on_bytes(Session& session, ByteView bytes) {
  std::size_t done = 0;
  while (listens(session)) {
    const auto frame = next_frame(bytes.subspan(done), most_body(session));
    if (!frame) {
      refuse(session, session.seal ? wrong_frame() : refusal_for(frame.error()));
      break;
    }
    if (!*frame) break;
    done += (*frame)->size;
    session.seal ? on_record(session, **frame) : on_frame(session, **frame);
  }
  if (session.phase == Phase::established) after_reading(*session.link);
  return done;
}

std::size_t Links::Loop::most_body(const Session& session) const {
  if (session.phase == Phase::greeting) return most_greeting_bytes;
  return session.seal ? most_sealed_bytes + seal_tag_bytes : options_.limits.message_bytes + 16;
}

// Whatever is not under the seal was not said by the peer. It ends the connection, as if it had broken; on
// the next one both go on where they were.
void Links::Loop::on_record(Session& session, const Frame& record) {
  if (record.kind != FrameKind::sealed || !session.seal->open(record.body, session.opened))
    return refuse(session, wrong_frame());
  ByteView rest = session.opened;
  while (listens(session)) {
    const auto frame = next_frame(rest, options_.limits.message_bytes + 16);
    if (!frame) return refuse(session, refusal_for(frame.error()));
    if (!*frame) break;
    rest = rest.subspan((*frame)->size);
    on_frame(session, **frame);
  }
  const auto left = static_cast<std::ptrdiff_t>(rest.size());
  session.opened.erase(session.opened.begin(), session.opened.end() - left);
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
  if (session.side == Side::acceptor && frame.kind == FrameKind::hello) session.greeted = ++moments_;
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
  const bool proven = session.phase == Phase::established;
  const NodeId from = proven ? session.link->peer.id : NodeId{};
  drop(session, "refused");
  const bool for_good =
      refusal && (refusal->code == RefusalCode::removed_member || refusal->code == RefusalCode::other_data);
  if (proven && for_good && events_.turned_away) events_.turned_away(from, *refusal);
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

// Of somebody who has proved to know the key, and to whom we have by then.
std::optional<Refusal> Links::Loop::verdict(const Card& theirs) const {
  if (terms_.list == MemberList::fixed) return std::nullopt;
  if (!terms_.knows(theirs.from) && !terms_.welcoming)
    return Refusal{RefusalCode::removed_member,
                   fmt::format("member {} is no member any more", theirs.from.value)};
  const Link* const link = find(theirs.from);
  if (link && link->data != 0 && link->data != theirs.epoch)
    return Refusal{RefusalCode::other_data,
                   fmt::format("member {} had data that this process has not", theirs.from.value)};
  return std::nullopt;
}

void Links::Loop::establish(Session& session) {
  Handshake& handshake = *session.handshake;
  const NodeId from = handshake.theirs()->from;
  if (!tls_) session.seal = handshake.take_seal();
  // Our card goes with it: the other side knows then who says so.
  if (const auto no = verdict(*handshake.theirs())) return refuse(session, *no);
  Link& link = knows(from) ? *find(from) : make_link({.id = from});
  session.link = &link;
  if (Clock::now() < link.rests_until)
    return turn_back(session, {RefusalCode::busy, "this peer said what cannot be, a moment ago"});
  const auto meeting = link.state.meet(handshake.ours(), *handshake.theirs(),
                                       {.connected = link.session != nullptr,
                                        .proven = proves(),
                                        .greeted = session.greeted,
                                        .now = ++moments_});
  if (!meeting) return turn_back(session, meeting.error());
  if (link.session) drop(*link.session, "replaced by a newer connection");
  session.phase = Phase::established;
  link.session = *std::ranges::find(sessions_, &session, &SessionPointer::get);
  link.dial_at.reset();
  stop_dialling(link);
  if (proves()) link.proven_at = session.from;
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
  // Our card spoke of the stream before; only a new one can speak of this.
  if (meeting.peer_forgot && link.session) drop(*link.session, "begins a new stream");
}

// Two that dial each other at the same time need one connection. A card that is written after we met on
// another would speak of a past that the peer cannot recognize.
void Links::Loop::stop_dialling(const Link& link) {
  const auto sessions = sessions_;
  for (const SessionPointer& one : sessions) {
    const bool dialling = one->phase == Phase::connecting || one->phase == Phase::greeting;
    if (one->link == &link && dialling) drop(*one, "the peer was met on another connection");
  }
}

// The acceptor's card, which has not left, would let the other side believe that it is in. Nor has that side
// a seal yet.
void Links::Loop::turn_back(Session& session, const Refusal& refusal) {
  if (session.side == Side::acceptor) {
    session.outbox.clear();
    session.outbox_sent = 0;
    session.seal.reset();
  }
  refuse(session, refusal);
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
    if (refusal.code == RefusalCode::wrong_frame) ++session.link->status.wrong_frames;
    count_refusal(*session.link, "refused by us: " + text);
    say(LogLevel::warning, fmt::format("event=refused peer={} {}", session.link->name(), text));
  } else {
    say_of_stranger(session, "event=refused " + text);
  }
  // In the middle of a frame nobody would understand another.
  if (session.phase == Phase::established && session.link->mid_frame()) return drop(session, "refused");
  const auto unsent = numbers_of(session.unsent());
  Bytes last_words(unsent.begin(), unsent.end());
  if (session.seal) {
    Bytes plain;
    encode_refused(refusal, plain);
    const ByteView whole = bytes_of(plain);
    session.seal->close({&whole, 1}, last_words);
  } else {
    encode_refused(refusal, last_words);
  }
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
  if (link->session || link->dial_at) return;
  plan_dial(*link, link->dials ? link->redial.next() : LinkOptions::Duration{});
}

void Links::Loop::drop(Session& session, std::string_view why) {
  if (session.phase == Phase::gone) return;
  const Phase before = std::exchange(session.phase, Phase::gone);
  const std::string reason = "why=" + in_quotes(why);
  const std::optional<NodeId> lost =
      before == Phase::established ? std::optional(session.link->peer.id) : std::nullopt;
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
  if (lost && events_.disconnected) events_.disconnected(*lost);
}

}  // namespace conclave::live
