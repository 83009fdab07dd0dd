// One HTTP/2 connection, either side: nghttp2 keeps the protocol's state, a Session turns its callbacks into
// streams, watches the limits, and collects what is to be written. It knows no socket.
#pragma once
#include <nghttp2/nghttp2.h>

#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <exception>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/account.hpp"
#include "rpc/bucket.hpp"
#include "rpc/limits.hpp"
#include "rpc/metadata.hpp"
#include "rpc/outbox.hpp"

namespace conclave::rpc {

class Session;

// One stream, as its session sees it. The session holds it from opening to closing; whoever else holds it may
// do so for longer, and finds `session()` empty then.
class Stream : public boost::intrusive::list_base_hook<> {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // What arrives. Inside these calls anything may be submitted; the session outlives the call.
  virtual void header(std::string_view name, std::string_view value) = 0;
  virtual void headers_complete(bool last) = 0;   // the peer's head, or its trailers
  virtual void data(std::string_view bytes) = 0;  // to be given back with `consumed`
  virtual void ended() = 0;                       // the peer sends nothing more
  virtual void drained() = 0;                     // there is room again, as was asked for
  virtual void go_on() {}                         // what was held back may be taken, as was asked for
  virtual void too_slow() {}                      // a message of the peer does not come to its end
  virtual void not_taken() {}                     // the peer does not take what was reserved for it
  virtual void closed(std::uint32_t error) = 0;   // an error code of HTTP/2; the session forgets the stream
  // The last thing sent after the outbox; none: the stream just ends.
  virtual const Metadata* trailers() { return nullptr; }

  Session* session() const { return session_; }
  std::int32_t id() const { return id_; }
  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }

 protected:
  friend class Session;
  Session* session_ = nullptr;
  std::int32_t id_ = 0;
  Outbox outbox_ = {};
  std::size_t unconsumed_ = 0;  // received, but the peer may not send more in its place
  std::size_t half_received_ = 0;
  Bucket::Time half_since_ = {};  // … since then
  Bucket::Time half_heard_ = {};  // … and the last of it came then
  std::size_t head_bytes_ = 0;    // of the peer's head, while the stream is there
  std::size_t reserved_ = 0;      // for an answer that is being made
  std::size_t reserved_then_ = 0;
  Bucket::Time reserved_since_ = {};
  std::size_t held_ = 0;   // as long as the call
  bool deferred_ = false;  // nghttp2 waits until we resume
  bool last_ = false;      // after the outbox comes the end
  bool remote_ended_ = false;
  bool wants_drained_ = false;  // told when the outbox and the session have room …
  bool queued_ = false;         // … and the outbox has

 private:
  // Counted without atomics: streams belong to their loop.
  friend void intrusive_ptr_add_ref(Stream* stream) { ++stream->references_; }
  friend void intrusive_ptr_release(Stream* stream) {
    if (--stream->references_ == 0) stream->unreferenced();
  }
  virtual void unreferenced() { delete this; }
  std::size_t references_ = 0;
};
using StreamPtr = boost::intrusive_ptr<Stream>;

class Session {
 public:
  enum class Side { server, client };

  // Who owns the session.
  class Owner {
   public:
    virtual StreamPtr open_stream() = 0;  // the peer begins a stream (servers only)
    virtual void output_waits() = 0;      // there is something to write, from outside of `receive`
    virtual void goaway_received() = 0;   // the peer takes no new streams
    virtual void pong_received() = 0;
    virtual void stream_reset() {}  // the peer cancelled a stream

   protected:
    ~Owner() = default;
  };

  using Time = Bucket::Time;

  // What the session uses is counted in `above`, too.
  Session(Side side, const SessionLimits& limits, Owner& owner, Account* above = nullptr);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // False if the connection is beyond saving. What is merely wrong is answered with a GOAWAY, see `over`.
  bool receive(std::string_view bytes, Time now);
  // Appends frames to `out` until nothing is left or `out` has about `enough` bytes.
  void produce(std::string& out, std::size_t enough);
  bool wants_write() const { return nghttp2_session_want_write(session_) != 0 || somebody_may_go_on(); }
  bool over() const;  // nothing more will be read or written

  // ---- for streams
  // A server's answer begins; `last`: nothing follows, not even trailers.
  void respond(Stream& stream, const Metadata& head, bool last);
  // A client's request begins. False if this connection takes none any more.
  bool request(Stream& stream, const Metadata& head);
  void output_added(Stream& stream, std::size_t bytes);
  void end_output(Stream& stream);  // after what is in the outbox
  void reset(Stream& stream, std::uint32_t error);
  void consumed(Stream& stream, std::size_t bytes);
  // So much of small answers waits that nobody should add to it.
  // It stays so until a quarter of that is left.
  bool crowded() const { return crowded_; }
  // How large an answer may be now. A small one is always taken; a large one where not too much waits.
  std::size_t room() const;
  // `drained` once the stream has a quarter of what it may have, and the session is not crowded.
  void wait_for_room(Stream& stream);
  // `drained` once an answer of this size may be made.
  void wait_for_room(Stream& stream, std::size_t bytes);
  // `go_on` once the session is not crowded.
  void wait_for_turn(Stream& stream);

  // ---- for owners
  void refuse_new_streams();            // servers: from now on none are taken, and clients know which were
  void terminate(std::uint32_t error);  // GOAWAY, and every stream is over
  void ping();
  // The connection is lost: every stream is closed with `error`.
  void abandon(std::uint32_t error);
  bool takes_requests() const;

  const SessionLimits& limits() const { return limits_; }
  std::size_t streams() const { return streams_.size(); }
  template <class Visit>
  void for_each_stream(Visit&& visit);

  // Over all streams.
  std::size_t pending_output() const { return account_.used(Use::answers); }
  std::size_t half_received() const { return half_received_; }
  // Of a message that is not complete, this much is there now.
  void note_half_received(Stream& stream, std::size_t bytes);
  // A stream keeps its head: a few bytes on the wire may stand for thousands.
  void count_head(Stream& stream, std::size_t bytes);
  // Of an answer that is being made, so much is not in the outbox yet.
  void reserve(Stream& stream, std::size_t bytes);
  // So much is kept for who watches by the stream. False if there is no room for more.
  bool hold(Stream& stream, std::size_t bytes);
  // Streams whose message is overdue, and those whose answer is not taken, are told.
  void look_for_slow(Time now);
  // What the library keeps is counted, and what waits for the socket.
  void count_frames(std::size_t written);
  std::size_t queued_frames() const { return nghttp2_session_get_outbound_queue_size(session_); }
  bool settings_acknowledged() const { return settings_acknowledged_; }
  // Somebody waits, and not for this connection but for memory that others use.
  bool waits_for_memory() const;
  const Account& account() const { return account_; }

 private:
  struct Callbacks;  // the functions nghttp2 calls

  void adopt(StreamPtr stream, std::int32_t id);
  void release(Stream& stream, std::uint32_t error);
  bool takes_answer(Stream& stream) const;
  void idle_frame();
  void wake();
  void rethrow();
  void output_changed(Stream& stream, std::size_t before);
  void small_output_is(std::size_t bytes);
  void queue_if_drained(Stream& stream);
  bool somebody_may_go_on() const;
  bool large_may_go_on() const;
  bool next_may_go_on();
  void hear_next();
  void drain_next();
  void allow_next();

  SessionLimits limits_;
  Owner& owner_;
  Side side_;
  nghttp2_session* session_ = nullptr;
  boost::intrusive::list<Stream> streams_ = {};
  // Who waits, in order: for a turn to be heard, for room in the session, for room for a large answer. Lists:
  // they take nothing while nobody waits, which is nearly always, on each of ten thousand connections.
  std::list<StreamPtr> wait_for_turn_ = {};
  std::list<StreamPtr> wait_for_some_ = {};
  struct Large {
    StreamPtr stream;
    std::size_t bytes;
  };
  std::list<Large> wait_for_large_ = {};
  Account account_;
  std::size_t small_output_ = 0;  // of every stream no more than `stream_output_bytes`
  bool crowded_ = false;
  bool heard_last_ = false;  // of those who wait for a turn and for room, who went on last
  std::size_t half_received_ = 0;
  std::size_t half_streams_ = 0;
  std::size_t reserving_streams_ = 0;
  std::size_t unconsumed_ = 0;
  Time now_ = {};
  Bucket idle_frames_;
  bool settings_acknowledged_ = false;
  std::exception_ptr thrown_ = {};  // by a handler, inside nghttp2
  bool receiving_ = false;
  bool producing_ = false;
  bool failed_ = false;
};

template <class Visit>
void Session::for_each_stream(Visit&& visit) {
  for (auto i = streams_.begin(); i != streams_.end();) {
    const StreamPtr stream(&*i++);  // the visitor may not close other streams
    visit(*stream);
  }
}

}  // namespace conclave::rpc
