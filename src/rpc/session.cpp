#include "rpc/session.hpp"

#include <boost/container/small_vector.hpp>

#include "core/ensure.hpp"

namespace conclave::rpc {

namespace {

using HeaderFields = boost::container::small_vector<nghttp2_nv, 16>;

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
    switch (frame->hd.type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_DATA: return guarded(user, [&] { stream_frame(session, raw, frame); });
      case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0) return session.idle_frame();
        session.owner_.pong_received();
        return 0;
      case NGHTTP2_SETTINGS: return (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 ? 0 : session.idle_frame();
      case NGHTTP2_PRIORITY: return session.idle_frame();
      case NGHTTP2_GOAWAY: session.owner_.goaway_received(); return 0;
      default: return 0;
    }
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
    session.idle_frames_ = 0;
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
    session.pending_output_ -= count;
    if (stream.wants_drained_ && stream.outbox_.pending() * 4 <= session.limits_.stream_output_bytes) {
      stream.wants_drained_ = false;
      session.drained_.emplace_back(&stream);
    }
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
      return NGHTTP2_ERR_DEFERRED;
    }
    return static_cast<ssize_t>(count);
  }

  static nghttp2_session_callbacks* table() {
    static nghttp2_session_callbacks* const made = [] {
      nghttp2_session_callbacks* all = nullptr;
      ensure(nghttp2_session_callbacks_new(&all) == 0, "there is memory for a table of callbacks");
      nghttp2_session_callbacks_set_on_begin_headers_callback(all, begin_headers);
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
  return option;
}

}  // namespace

Session::Session(Side side, const SessionLimits& limits, Owner& owner)
    : limits_(limits), owner_(owner), side_(side) {
  nghttp2_option* option = options(limits);
  const int outcome = side == Side::server
                          ? nghttp2_session_server_new2(&session_, Callbacks::table(), this, option)
                          : nghttp2_session_client_new2(&session_, Callbacks::table(), this, option);
  nghttp2_option_del(option);
  ensure(outcome == 0, "there is memory for a session");
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window_bytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.header_list_bytes},
      side == Side::server
          ? nghttp2_settings_entry{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.concurrent_streams}
          : nghttp2_settings_entry{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
  };
  ensure(nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings)) == 0,
         "our settings are valid");
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(limits.connection_window_bytes));
}

Session::~Session() {
  abandon(NGHTTP2_CANCEL);
  nghttp2_session_del(session_);
}

bool Session::receive(std::string_view input) {
  if (failed_) return false;
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
  if (drained_.empty()) return;
  for (const StreamPtr& stream : std::exchange(drained_, {})) stream->drained();
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

int Session::idle_frame() {
  if (++idle_frames_ > limits_.idle_frames) {
    idle_frames_ = 0;
    nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
  }
  return 0;
}

void Session::adopt(StreamPtr stream, std::int32_t id) {
  stream->session_ = this;
  stream->id_ = id;
  streams_.push_back(*stream);
  nghttp2_session_set_stream_user_data(session_, id, stream.get());
  intrusive_ptr_add_ref(stream.get());
}

void Session::release(Stream& stream, std::uint32_t error) {
  const StreamPtr held(&stream, false);  // the reference that `adopt` took
  pending_output_ -= stream.outbox_.pending();
  note_half_received(stream, 0);
  // What this stream had not given back is no longer counted against the others.
  if (stream.unconsumed_ > 0) nghttp2_session_consume_connection(session_, stream.unconsumed_);
  stream.unconsumed_ = 0;
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
  pending_output_ += stream.outbox_.pending();
  streams_.push_back(stream);
  intrusive_ptr_add_ref(&stream);
  wake();
  return true;
}

void Session::output_added(Stream& stream, std::size_t count) {
  pending_output_ += count;
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
  while (!streams_.empty()) {
    // nghttp2 may be in the middle of something, and must not meet the stream again.
    nghttp2_session_set_stream_user_data(session_, streams_.front().id_, nullptr);
    release(streams_.front(), error);
  }
}

bool Session::takes_requests() const {
  return !failed_ && nghttp2_session_check_request_allowed(session_) != 0;
}

}  // namespace conclave::rpc
