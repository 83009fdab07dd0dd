#include "rpc/session.hpp"

#include <boost/container/small_vector.hpp>

#include "core/ensure.hpp"

namespace conclave::rpc {

namespace {

using HeaderFields = boost::container::small_vector<nghttp2_nv, 16>;

// Of those who wait, so many go on in one turn of the loop.
constexpr int most_told = 64;

std::uint8_t* bytes(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
}
std::string_view text(const std::uint8_t* at, std::size_t length) {
  return {reinterpret_cast<const char*>(at), length};
}

// Secrets stay out of the compression's memory; what is never the same twice would only push others out of
// it.
bool stays_out_of_the_table(std::string_view name) {
  return name == "token" || name == "authorization" || name == "grpc-timeout" || name == "grpc-message";
}

HeaderFields fields(const Metadata& metadata) {
  HeaderFields result;
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    const auto [name, value] = metadata[i];
    const std::uint8_t flags = stays_out_of_the_table(name) ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
    result.push_back({bytes(name), bytes(value), name.size(), value.size(), flags});
  }
  return result;
}

}  // namespace

// nghttp2 calls these with the session as user data. What a handler throws (a broken invariant) must not fly
// through C: it is kept until nghttp2 has returned.
struct Session::Callbacks {
  // Of frames that bring nothing, so many may be in hand after answers: a client that was slow may give room
  // for each of the small answers that its socket had, twice, and all at once.
  static constexpr double most_earned = 100'000;

  static Session& self(void* user) { return *static_cast<Session*>(user); }
  template <class Body>
  static int guarded(void* user, Body&& body) {
    try {
      body();
      return 0;
    } catch (...) {
      self(user).thrown_ = std::current_exception();
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
  }
  static Stream* stream_of(nghttp2_session* session, std::int32_t id) {
    return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, id));
  }

  static int begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    Session& session = self(user);
    if (session.side_ != Side::server || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return guarded(user, [&] { session.adopt(session.owner_.open_stream(), frame->hd.stream_id); });
  }

  static int header(nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
                    std::size_t name_length, const std::uint8_t* value, std::size_t value_length,
                    std::uint8_t, void*) {
    if (Stream* stream = stream_of(session, frame->hd.stream_id))
      stream->header(text(name, name_length), text(value, value_length));
    return 0;
  }

  static int frame_received(nghttp2_session* raw, const nghttp2_frame* frame, void* user) {
    Session& session = self(user);
    const bool acknowledges = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA: return guarded(user, [&] { stream_frame(session, raw, frame); });
      case NGHTTP2_PING:
        if (acknowledges) session.owner_.pong_received();
        break;
      case NGHTTP2_SETTINGS:
        if (acknowledges) session.settings_acknowledged_ = true;
        break;
      case NGHTTP2_GOAWAY: session.owner_.goaway_received(); break;
      case NGHTTP2_RST_STREAM: session.owner_.stream_reset(); break;
      default: break;
    }
    return 0;
  }

  // Every frame but those that calls are made of brings nothing.
  static int begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    switch (head->type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA:
      case NGHTTP2_CONTINUATION:
      case NGHTTP2_RST_STREAM: break;  // has a limit of its own
      default: self(user).idle_frame();
    }
    return 0;
  }

  // Frames of types that nobody knows are read over; that they begin is all we want to hear.
  static int unpack_extension(nghttp2_session*, void** payload, const nghttp2_frame_hd*, void*) {
    *payload = nullptr;
    return 0;
  }

  static void stream_frame(Session& session, nghttp2_session* raw, const nghttp2_frame* frame) {
    const bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (frame->hd.type == NGHTTP2_DATA && frame->hd.length == 0 && !last) session.idle_frame();
    const StreamPtr stream(stream_of(raw, frame->hd.stream_id));
    if (!stream) return;
    if (frame->hd.type == NGHTTP2_HEADERS) stream->headers_complete(last);
    if (last && stream->session_ != nullptr) {
      stream->remote_ended_ = true;
      stream->ended();
    }
  }

  static int data(nghttp2_session* raw, std::uint8_t, std::int32_t id, const std::uint8_t* at,
                  std::size_t length, void* user) {
    Session& session = self(user);
    if (const StreamPtr stream(stream_of(raw, id)); stream) {
      stream->unconsumed_ += length;
      session.unconsumed_ += length;
      return guarded(user, [&] { stream->data(text(at, length)); });
    }
    nghttp2_session_consume_connection(session.session_, length);
    return 0;
  }

  static int stream_closed(nghttp2_session* raw, std::int32_t id, std::uint32_t error, void* user) {
    Stream* stream = stream_of(raw, id);
    if (stream == nullptr) return 0;
    return guarded(user, [&] { self(user).release(*stream, error); });
  }

  static int frame_sent(nghttp2_session* raw, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    Session& session = self(user);
    session.idle_frames_.earn(session.limits_.idle_per_answer, most_earned);
    if (session.side_ != Side::server || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    // We said everything: the rest of what the client wanted to send is of no use.
    const Stream* stream = stream_of(raw, frame->hd.stream_id);
    if (stream != nullptr && !stream->remote_ended_)
      nghttp2_submit_rst_stream(raw, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
  }

  // A request that could not begin. nghttp2 may or may not have opened a stream for it: it forgets ours
  // first.
  static int frame_not_sent(nghttp2_session* raw, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Session& session = self(user);
    for (Stream& stream : session.streams_) {
      if (stream.id_ != frame->hd.stream_id) continue;
      nghttp2_session_set_stream_user_data(raw, stream.id_, nullptr);
      return guarded(user, [&] { session.release(stream, NGHTTP2_REFUSED_STREAM); });
    }
    return 0;
  }

  static ssize_t read_outbox(nghttp2_session* raw, std::int32_t id, std::uint8_t* to, std::size_t length,
                             std::uint32_t* flags, nghttp2_data_source* source, void* user) {
    Session& session = self(user);
    Stream& stream = *static_cast<Stream*>(source->ptr);
    const std::size_t count = stream.outbox_.take(reinterpret_cast<char*>(to), length);
    session.output_changed(stream, stream.outbox_.pending() + count);
    session.queue_if_drained(stream);
    if (!stream.outbox_.empty()) return static_cast<ssize_t>(count);
    if (stream.last_) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (const Metadata* trailers = stream.trailers()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const HeaderFields list = fields(*trailers);
        nghttp2_submit_trailer(raw, id, list.data(), list.size());
      }
    } else if (count == 0) {
      stream.deferred_ = true;
      stream.outbox_.rest();
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(count);
  }

  static nghttp2_session_callbacks* table() {
    static nghttp2_session_callbacks* const made = [] {
      nghttp2_session_callbacks* all = nullptr;
      ensure(nghttp2_session_callbacks_new(&all) == 0, "there is memory for a table of callbacks");
      nghttp2_session_callbacks_set_on_begin_headers_callback(all, begin_headers);
      nghttp2_session_callbacks_set_on_begin_frame_callback(all, begin_frame);
      nghttp2_session_callbacks_set_unpack_extension_callback(all, unpack_extension);
      nghttp2_session_callbacks_set_on_header_callback(all, header);
      nghttp2_session_callbacks_set_on_frame_recv_callback(all, frame_received);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, data);
      nghttp2_session_callbacks_set_on_stream_close_callback(all, stream_closed);
      nghttp2_session_callbacks_set_on_frame_send_callback(all, frame_sent);
      nghttp2_session_callbacks_set_on_frame_not_send_callback(all, frame_not_sent);
      return all;
    }();
    return made;
  }
};

namespace {

nghttp2_option* options(const SessionLimits& limits) {
  nghttp2_option* option = nullptr;
  ensure(nghttp2_option_new(&option) == 0, "there is memory for options");
  // etcdctl sends ":authority: http://host:port"; nghttp2 would refuse that. Our streams check their heads.
  nghttp2_option_set_no_http_messaging(option, 1);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_stream_reset_rate_limit(option, limits.resets_burst, limits.resets_per_second);
  for (unsigned type = NGHTTP2_CONTINUATION + 1; type < 256; ++type)
    nghttp2_option_set_user_recv_extension_type(option, static_cast<std::uint8_t>(type));
  return option;
}

}  // namespace

Session::Session(Side side, const SessionLimits& limits, Owner& owner, Account* above)
    : limits_(limits),
      owner_(owner),
      side_(side),
      account_(Account::unlimited, above),
      idle_frames_(limits.idle_burst, limits.idle_per_second) {
  nghttp2_option* option = options(limits);
  const int outcome = side == Side::server
                          ? nghttp2_session_server_new2(&session_, Callbacks::table(), this, option)
                          : nghttp2_session_client_new2(&session_, Callbacks::table(), this, option);
  nghttp2_option_del(option);
  ensure(outcome == 0, "there is memory for a session");
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.header_list_bytes},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},  // said by clients only
  };
  const std::size_t count = std::size(settings) - (side == Side::server ? 1 : 0);
  ensure(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, count) == 0,
         "our settings are valid");
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(limits.connection_window_bytes));
}

Session::~Session() {
  abandon(NGHTTP2_CANCEL);
  nghttp2_session_del(session_);
}

bool Session::receive(std::string_view input, Time now) {
  if (failed_) return false;
  now_ = now;
  receiving_ = true;
  const ssize_t taken = nghttp2_session_mem_recv(session_, bytes(input), input.size());
  receiving_ = false;
  rethrow();
  if (taken >= 0) return true;
  failed_ = true;
  return false;
}

void Session::produce(std::string& out, std::size_t enough) {
  if (producing_ || failed_) return;
  producing_ = true;
  while (out.size() < enough && !failed_) {
    const std::uint8_t* frames = nullptr;
    const ssize_t length = nghttp2_session_mem_send(session_, &frames);
    if (length < 0) failed_ = true;
    if (length <= 0) break;
    out.append(text(frames, static_cast<std::size_t>(length)));
  }
  producing_ = false;
  rethrow();
  for (int told = 0; told < most_told && next_may_go_on(); ++told) {
  }
}

bool Session::over() const {
  return failed_ || (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

void Session::rethrow() {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Session::wake() {
  if (!receiving_ && !producing_) owner_.output_waits();
}

void Session::idle_frame() {
  if (!idle_frames_.take(now_)) nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

// ---- what waits

void Session::output_changed(Stream& stream, std::size_t before) {
  const std::size_t after = stream.outbox_.pending();
  if (after > before)
    account_.take(Use::answers, after - before);
  else
    account_.give(Use::answers, before - after);
  const std::size_t most = limits_.stream_output_bytes;
  small_output_is(small_output_ - std::min(before, most) + std::min(after, most));
}

void Session::small_output_is(std::size_t bytes) {
  small_output_ = bytes;
  if (bytes >= limits_.connection_output_bytes) crowded_ = true;
  if (bytes <= limits_.connection_output_bytes / 4) crowded_ = false;
}

std::size_t Session::room() const {
  if (pending_output() >= limits_.connection_output_bytes) return limits_.small_answer_bytes;
  return limits_.room_for_answer(account_.room());
}

void Session::wait_for_room(Stream& stream) {
  stream.wants_drained_ = true;
  queue_if_drained(stream);
}

void Session::queue_if_drained(Stream& stream) {
  if (!stream.wants_drained_ || stream.queued_ || stream.outbox_.pending() * 4 > limits_.stream_output_bytes)
    return;
  stream.queued_ = true;
  wait_for_some_.emplace_back(&stream);
  wake();
}

void Session::wait_for_room(Stream& stream, std::size_t bytes) {
  wait_for_large_.push_back({&stream, bytes});
  wake();
}

void Session::wait_for_turn(Stream& stream) {
  wait_for_turn_.emplace_back(&stream);
  wake();
}

bool Session::waits_for_memory() const {
  return !wait_for_large_.empty() && pending_output() * 4 <= limits_.connection_output_bytes &&
         room() < wait_for_large_.front().bytes;
}

bool Session::large_may_go_on() const {
  return !wait_for_large_.empty() && pending_output() * 4 <= limits_.connection_output_bytes &&
         !waits_for_memory();
}

bool Session::somebody_may_go_on() const {
  if (failed_) return false;
  const bool many = !wait_for_turn_.empty() || !wait_for_some_.empty();
  return (many && !crowded_) || large_may_go_on();
}

// Tells one of those who wait. Each may use up the room there is, so we look again before the next.
bool Session::next_may_go_on() {
  if (!somebody_may_go_on()) return false;
  if (crowded_ || (wait_for_turn_.empty() && wait_for_some_.empty())) {
    allow_next();
    return true;
  }
  heard_last_ = wait_for_some_.empty() || (!wait_for_turn_.empty() && !heard_last_);
  if (heard_last_)
    hear_next();
  else
    drain_next();
  return true;
}

void Session::hear_next() {
  const StreamPtr stream = std::move(wait_for_turn_.front());
  wait_for_turn_.pop_front();
  if (stream->session_ == this) stream->go_on();
}

void Session::drain_next() {
  const StreamPtr stream = std::move(wait_for_some_.front());
  wait_for_some_.pop_front();
  stream->queued_ = false;
  // It may have been given more meanwhile; then it waits until that has left.
  if (stream->session_ != this || stream->outbox_.pending() * 4 > limits_.stream_output_bytes) return;
  stream->wants_drained_ = false;
  stream->drained();
}

void Session::allow_next() {
  const StreamPtr stream = std::move(wait_for_large_.front().stream);
  wait_for_large_.pop_front();
  if (stream->session_ == this) stream->drained();
}

void Session::note_half_received(Stream& stream, std::size_t bytes) {
  if (bytes == stream.half_received_ && bytes == 0) return;
  if (stream.half_received_ == 0) {
    ++half_streams_;
    stream.half_since_ = now_;
  }
  if (bytes == 0) --half_streams_;
  half_received_ = half_received_ - stream.half_received_ + bytes;
  stream.half_received_ = bytes;
  stream.half_heard_ = now_;
}

void Session::look_for_slow(Time now) {
  now_ = now;
  if (half_streams_ == 0 && reserving_streams_ == 0) return;
  for_each_stream([&](Stream& stream) {
    if (stream.reserved_ > 0 && !takes_answer(stream)) return stream.not_taken();
    if (stream.half_received_ == 0) return;
    if (now - stream.half_heard_ >= limits_.message_quiet ||
        now - stream.half_since_ >= limits_.message_timeout)
      stream.too_slow();
  });
}

void Session::reserve(Stream& stream, std::size_t bytes) {
  if (stream.reserved_ == 0 && bytes > 0) {
    ++reserving_streams_;
    stream.reserved_since_ = now_;
    stream.reserved_then_ = bytes;
  }
  if (stream.reserved_ > 0 && bytes == 0) --reserving_streams_;
  if (bytes > stream.reserved_) account_.take(Use::reads, bytes - stream.reserved_);
  if (bytes < stream.reserved_) account_.give(Use::reads, stream.reserved_ - bytes);
  stream.reserved_ = bytes;
}

bool Session::hold(Stream& stream, std::size_t bytes) {
  if (bytes > stream.held_) {
    if (account_.room() < bytes - stream.held_) return false;
    account_.take(Use::watchers, bytes - stream.held_);
  } else {
    account_.give(Use::watchers, stream.held_ - bytes);
  }
  stream.held_ = bytes;
  return true;
}

bool Session::takes_answer(Stream& stream) const {
  const std::size_t more =
      std::max(stream.reserved_, stream.reserved_then_) - std::min(stream.reserved_, stream.reserved_then_);
  if (more < std::min(limits_.answer_progress, stream.reserved_then_))
    return now_ - stream.reserved_since_ < limits_.answer_quiet;
  stream.reserved_then_ = stream.reserved_;
  stream.reserved_since_ = now_;
  return true;
}

void Session::count_frames(std::size_t written) {
  // As much as the library takes for a small frame.
  constexpr std::size_t frame_bytes = 256;
  account_.set(Use::frames, queued_frames() * frame_bytes + written);
  account_.set(Use::requests, half_received_ + unconsumed_);
}

// ---- streams

void Session::adopt(StreamPtr stream, std::int32_t id) {
  stream->session_ = this;
  stream->id_ = id;
  streams_.push_back(*stream);
  account_.take(Use::calls, limits_.stream_bytes);
  nghttp2_session_set_stream_user_data(session_, id, stream.get());
  intrusive_ptr_add_ref(stream.get());
}

void Session::count_head(Stream& stream, std::size_t bytes) {
  account_.take(Use::calls, bytes);
  stream.head_bytes_ += bytes;
}

void Session::release(Stream& stream, std::uint32_t error) {
  const StreamPtr held(&stream, false);  // the reference that `adopt` took
  account_.give(Use::answers, stream.outbox_.pending());
  account_.give(Use::calls, limits_.stream_bytes + std::exchange(stream.head_bytes_, 0));
  small_output_is(small_output_ - std::min(stream.outbox_.pending(), limits_.stream_output_bytes));
  note_half_received(stream, 0);
  reserve(stream, 0);
  hold(stream, 0);
  // What this stream had not given back is no longer counted against the others.
  if (stream.unconsumed_ > 0) nghttp2_session_consume_connection(session_, stream.unconsumed_);
  unconsumed_ -= stream.unconsumed_;
  stream.unconsumed_ = 0;
  stream.queued_ = false;
  streams_.erase(streams_.iterator_to(stream));
  stream.session_ = nullptr;
  stream.closed(error);
}

void Session::respond(Stream& stream, const Metadata& head, bool last) {
  const HeaderFields list = fields(head);
  nghttp2_data_provider provider = {{.ptr = &stream}, Callbacks::read_outbox};
  nghttp2_submit_response(session_, stream.id_, list.data(), list.size(), last ? nullptr : &provider);
  wake();
}

bool Session::request(Stream& stream, const Metadata& head) {
  const HeaderFields list = fields(head);
  nghttp2_data_provider provider = {{.ptr = &stream}, Callbacks::read_outbox};
  const std::int32_t id =
      nghttp2_submit_request(session_, nullptr, list.data(), list.size(), &provider, &stream);
  if (id < 0) return false;
  stream.session_ = this;
  stream.id_ = id;
  stream.deferred_ = false;
  output_changed(stream, 0);
  account_.take(Use::calls, limits_.stream_bytes);
  streams_.push_back(stream);
  intrusive_ptr_add_ref(&stream);
  wake();
  return true;
}

void Session::output_added(Stream& stream, std::size_t count) {
  output_changed(stream, stream.outbox_.pending() - count);
  if (stream.deferred_) {
    stream.deferred_ = false;
    nghttp2_session_resume_data(session_, stream.id_);
  }
  wake();
}

void Session::end_output(Stream& stream) {
  stream.last_ = true;
  output_added(stream, 0);
}

void Session::reset(Stream& stream, std::uint32_t error) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id_, error);
  wake();
}

void Session::consumed(Stream& stream, std::size_t count) {
  ensure(count <= stream.unconsumed_, "no more is given back than was received");
  stream.unconsumed_ -= count;
  unconsumed_ -= count;
  nghttp2_session_consume(session_, stream.id_, count);
  wake();
}

void Session::refuse_new_streams() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  wake();
}

void Session::terminate(std::uint32_t error) {
  nghttp2_session_terminate_session(session_, error);
  wake();
}

void Session::ping() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  wake();
}

void Session::abandon(std::uint32_t error) {
  failed_ = true;
  wait_for_turn_.clear();
  wait_for_some_.clear();
  wait_for_large_.clear();
  while (!streams_.empty()) {
    // nghttp2 may be in the middle of something, and must not meet the stream again.
    nghttp2_session_set_stream_user_data(session_, streams_.front().id_, nullptr);
    release(streams_.front(), error);
  }
  account_.close();
}

bool Session::takes_requests() const {
  return !failed_ && nghttp2_session_check_request_allowed(session_) != 0;
}

}  // namespace conclave::rpc
