#include "rpc/http2_connection.hpp"

#include <boost/asio/post.hpp>

namespace conclave::rpc {

namespace {

// What is turned into frames ahead of the socket. Little, so that a small answer overtakes a large one; and
// as often in a row before others get their turn.
constexpr std::size_t output_ahead = 64 * 1024;
constexpr int pumps_per_turn = 4;
// Nobody tells that memory is free again: we look.
constexpr std::chrono::milliseconds look_for_memory{40};

}  // namespace

Http2Connection::Http2Connection(boost::asio::io_context& loop, TimerWheel& wheel, std::shared_ptr<Wire> wire,
                                 Session::Side side, const SessionLimits& limits, Owner& owner,
                                 Account* above)
    : loop_(loop),
      wheel_(wheel),
      wire_(std::move(wire)),
      owner_(owner),
      session_(side, limits, *this, above) {}

void Http2Connection::start(std::string_view first_bytes) {
  wire_->start(*this);
  schedule_look();
  if (first_bytes.empty())
    output_waits();
  else
    received(first_bytes);
}

void Http2Connection::received(std::string_view bytes) {
  const auto self = shared_from_this();
  heard_ = Clock::now();
  owner_.moved(bytes.size(), 0);
  in_turn_ = true;
  const bool well = session_.receive(bytes, heard_);
  in_turn_ = false;
  if (closed_) return;
  if (!well) return end(End::garbage, "the peer does not speak HTTP/2");
  pump();
}

void Http2Connection::pump() {
  const auto self = shared_from_this();
  for (int i = 0; i < pumps_per_turn && !closed_ && !wire_->busy(); ++i) {
    in_turn_ = true;
    session_.produce(wire_->out(), output_ahead);
    in_turn_ = false;
    if (wire_->out().empty()) break;
    owner_.moved(0, wire_->out().size());
    wire_->flush();
  }
  if (closed_) return;
  if (!wire_->busy())
    stalled_since_.reset();
  else if (!stalled_since_)
    stalled_since_ = Clock::now();
  const bool idle = session_.streams() == 0 && !session_.wants_write();
  if (session_.over() || (ending_ && idle)) return end(End::finished, "the peer said good-bye");
  if (!wire_->busy() && session_.wants_write()) output_waits();
  if (!session_.wants_write()) wire_->rest();
  settle();
}

// A turn is over: what must not grow is looked at.
void Http2Connection::settle() {
  regulate_reading();
  if (session_.waits_for_memory() && !memory_timer_.armed()) wheel_.arm(memory_timer_, look_for_memory);
  session_.count_frames(wire_->pending());
  owner_.settled();
}

// One write for everything that is said in one turn of the loop.
void Http2Connection::output_waits() {
  if (in_turn_ || pump_scheduled_ || closed_) return;
  pump_scheduled_ = true;
  boost::asio::post(loop_, [self = shared_from_this()] {
    self->pump_scheduled_ = false;
    if (!self->closed_) self->pump();
  });
}

void Http2Connection::writable() {
  const auto self = shared_from_this();
  stalled_since_.reset();
  pump();
}

// Who does not take its answers may not ask for more. Only a socket that is full counts: where flow control
// holds the output back, what we read next may be the permission to go on. One large answer stops nobody.
void Http2Connection::regulate_reading() {
  const bool much = session_.crowded() || session_.queued_frames() > session_.limits().queued_frames;
  const bool pause = wire_->busy() && much;
  if (pause == reading_paused_) return;
  reading_paused_ = pause;
  if (pause)
    wire_->pause_reading();
  else
    wire_->resume_reading();
}

void Http2Connection::lost(std::string_view why) { end(End::lost, std::string(why)); }

void Http2Connection::end(End how, const std::string& why) {
  const auto self = shared_from_this();
  if (closed_) return;
  close(how == End::finished);
  owner_.over(how, why);
}

void Http2Connection::end_when_idle() {
  ending_ = true;
  output_waits();
}

void Http2Connection::close(bool politely) {
  closed_ = true;
  timer_.disarm();
  memory_timer_.disarm();
  if (politely)
    wire_->close_when_written();
  else
    wire_->close();
}

void Http2Connection::schedule_look() {
  const SessionLimits& limits = session_.limits();
  wheel_.arm(timer_, std::min({limits.keepalive_interval, limits.keepalive_timeout, limits.stalled_after,
                               limits.settings_timeout, limits.message_quiet, limits.message_timeout,
                               limits.answer_quiet}) /
                         2);
}

// What a peer does not do in time, and what the connection therefore ends for.
std::optional<std::string> Http2Connection::complaint(Clock::time_point now) const {
  const SessionLimits& limits = session_.limits();
  if (stalled_since_ && now - *stalled_since_ >= limits.stalled_after) return "the peer takes nothing";
  if (ping_sent_ && now - *ping_sent_ >= limits.keepalive_timeout) return "the peer is silent";
  if (!session_.settings_acknowledged() && now - begun_ >= limits.settings_timeout)
    return "the peer does not acknowledge our settings";
  return std::nullopt;
}

void Http2Connection::look_around() {
  const auto self = shared_from_this();
  const SessionLimits& limits = session_.limits();
  const auto now = Clock::now();
  if (const auto why = complaint(now)) return end(End::timed_out, *why);
  if (!ping_sent_ && now - heard_ >= limits.keepalive_interval && !reading_paused_) {
    ping_sent_ = now;
    session_.ping();
  }
  session_.look_for_slow(now);
  if (!closed_) schedule_look();
}

}  // namespace conclave::rpc
