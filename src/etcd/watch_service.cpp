#include "etcd/watch_service.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <limits>

#include "etcd/translate.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

// Of what may be long, so much is done before somebody looks at the time.
constexpr std::size_t steps = 512;
constexpr std::uint64_t heard_at_once = 512;
// Requests that are heard between two times that a stream had to wait for room. Events alone would keep it
// full.
constexpr std::uint64_t heard_without_room = 2048;

const rpc::Status come_back = {rpc::Code::unavailable, "etcdserver: leader changed"};

std::size_t size_of(const kv::Event& event) {
  const auto size = [](const kv::RecordRef& record) -> std::size_t { return record ? record->size : 0; };
  return 64 + event.now.key().size() + size(event.now) + size(event.before);
}

}  // namespace

WatchService::WatchService(rpc::Server& server, Machine& machine, rpc::Slices& slices,
                           const WatchOptions& options, Header header)
    : server_(server),
      machine_(machine),
      slices_(slices),
      options_(options),
      header_(std::move(header)),
      progress_(machine.loop()),
      leader_(machine.loop()) {
  // By JSON there is one request, and its answers come as long as the watcher lives.
  rpc::offer<pb::WatchRequest>(
      server_, "/etcdserverpb.Watch/Watch", "/v3/watch",
      [this](const pb::WatchRequest& request, const rpc::CallerPtr& caller) {
        const StreamPtr stream = open(caller);
        stream->one_watch = true;
        hear(stream, request);
      },
      true);
  server_.stream("/etcdserverpb.Watch/Watch", [this](rpc::Call call) { grpc_stream(std::move(call)); });
  notify_progress();
  look_for_leader();
}

WatchService::~WatchService() { *alive_ = false; }

// ---- streams

void WatchService::grpc_stream(rpc::Call call) {
  const StreamPtr stream = open(rpc::grpc_caller(call));
  stream->needs_leader = call.metadata().get("hasleader").has_value();
  call.begin();
  call.on_message([this, call, stream, request = pb::WatchRequest()](std::string_view bytes) mutable {
    if (!rpc::typed::parse(request, bytes)) {
      end(stream);
      return call.finish(rpc::unreadable);
    }
    hear(stream, request);
    const bool others_wait = ++stream->heard % heard_at_once == 0;
    if (!call.congested() || stream->heard < heard_without_room) {
      if (others_wait) let_others_pass(stream, call);
      return;
    }
    // Who asks and does not read is held back.
    call.pause();
    stream->resume = [call]() mutable { call.resume(); };
    wait_for_room(stream);
  });
  call.on_half_close([this, call, stream]() mutable {
    end(stream);
    call.finish({});
  });
}

// One piece of what is read may have thousands of requests.
void WatchService::let_others_pass(const StreamPtr& stream, rpc::Call call) {
  call.pause();
  boost::asio::post(machine_.loop(), [this, stream, call, alive = alive_] {
    if (!*alive) return;
    slices_.run(stream->caller->peer().connection, [call]() mutable {
      call.resume();
      return false;
    });
  });
}

WatchService::StreamPtr WatchService::open(rpc::CallerPtr caller) {
  auto stream = std::make_shared<Stream>();
  stream->id = next_stream_++;
  stream->caller = std::move(caller);
  streams_.emplace(stream->id, stream);
  stream->caller->on_gone([this, weak = std::weak_ptr(stream)] {
    if (const auto still = weak.lock()) end(still);
  });
  return stream;
}

void WatchService::end(const StreamPtr& stream) {
  if (streams_.erase(stream->id) == 0) return;
  want_progress_.erase(stream->id);
  stream->resume = {};
  stream->caller->hold(0);
  count(*stream, 0);
  slices_.run(stream->caller->peer().connection,
              [this, id = stream->id] { return machine_.watches().close(id, steps); });
}

void WatchService::restored() {
  want_progress_.clear();
  for (const auto& [id, stream] : std::exchange(streams_, {})) {
    count(*stream, 0);
    stream->resume = {};
    stream->caller->refuse(come_back);
  }
}

void WatchService::stop(const rpc::Status& why) {
  for (const auto& [id, stream] : std::map(streams_)) {
    end(stream);
    stream->caller->refuse(why);
  }
}

void WatchService::hear(const StreamPtr& stream, const pb::WatchRequest& request) {
  if (const rpc::Status& trouble = machine_.trouble(); !trouble.ok()) {
    end(stream);
    return stream->caller->refuse(trouble);
  }
  switch (request.request_union_case()) {
    case pb::WatchRequest::kCreateRequest: return create(stream, request.create_request());
    case pb::WatchRequest::kCancelRequest: return cancel(stream, request.cancel_request().watch_id());
    case pb::WatchRequest::kProgressRequest: want_progress_.insert(stream->id); return changed();
    case pb::WatchRequest::REQUEST_UNION_NOT_SET: return;
  }
}

// ---- watchers

void WatchService::refuse(const StreamPtr& stream, const std::string& why) {
  pb::WatchResponse response;
  header_(response.mutable_header(), machine_.store().revision());
  response.set_watch_id(-1);
  response.set_created(true);
  response.set_canceled(true);
  response.set_cancel_reason(why);
  stream->caller->tell(response);
}

// Nobody else may be left without: not by a connection, and not by those that are still being ended.
bool WatchService::may_have(const Stream& stream, std::size_t bytes) {
  const std::size_t used = machine_.watches().bytes();
  const auto its = bytes_.find(stream.caller->peer().connection);
  const std::size_t has = its == bytes_.end() ? 0 : its->second;
  if (used + has + bytes <= options_.bytes && stream.caller->hold(stream.bytes + bytes)) return true;
  ++refused_;
  return false;
}

// So much the watchers of a stream take now.
void WatchService::count(Stream& stream, std::size_t bytes) {
  std::size_t& its = bytes_[stream.caller->peer().connection];
  its = its - std::exchange(stream.bytes, bytes) + bytes;
  if (its == 0) bytes_.erase(stream.caller->peer().connection);
}

void WatchService::count(Stream& stream) {
  count(stream, machine_.watches().bytes_of(stream.id));
  stream.caller->hold(stream.bytes);
}

void WatchService::create(const StreamPtr& stream, const pb::WatchCreateRequest& request) {
  kv::Watches& watches = machine_.watches();
  if (request.start_revision() < 0)
    return refuse(stream, "etcdserver: mvcc: required revision has been compacted");
  std::int64_t watch = request.watch_id();
  if (watch != 0 && watches.contains(stream->id, watch))
    return refuse(stream, "mvcc: duplicate watch ID provided on the WatchStream");
  const auto filters = [&](pb::WatchCreateRequest::FilterType type) {
    return std::ranges::find(request.filters(), type) != request.filters().end();
  };
  kv::WatchRequest wish = {.key = request.key(),
                           .range_end = request.range_end(),
                           .start_revision = request.start_revision(),
                           .no_put = filters(pb::WatchCreateRequest::NOPUT),
                           .no_delete = filters(pb::WatchCreateRequest::NODELETE),
                           .manner = {.with_previous = request.prev_kv(),
                                      .in_fragments = request.fragment(),
                                      .wants_progress = request.progress_notify()}};
  if (!may_have(*stream, wish.cost())) return refuse(stream, too_many_requests.message);
  if (watch == 0) {
    while (watches.contains(stream->id, stream->next_watch)) ++stream->next_watch;
    watch = stream->next_watch++;
  }
  const bool exists = watches.create(stream->id, watch, std::move(wish));
  count(*stream);
  if (!exists) return refuse(stream, "mvcc: watcher range is empty");
  pb::WatchResponse response;
  header_(response.mutable_header(), machine_.store().revision());
  response.set_watch_id(watch);
  response.set_created(true);
  stream->caller->tell(response);
  run(history_);
}

void WatchService::cancel(const StreamPtr& stream, std::int64_t watch) {
  kv::Watches& watches = machine_.watches();
  if (!watches.contains(stream->id, watch)) return;
  watches.cancel(stream->id, watch);
  count(*stream);
  pb::WatchResponse response;
  header_(response.mutable_header(), machine_.store().revision());
  response.set_watch_id(watch);
  response.set_canceled(true);
  stream->caller->tell(response);
}

// ---- telling

void WatchService::changed() { run(news_); }

// Not at once: what comes in the same turn of the loop is told together.
void WatchService::run(Work& work) {
  if (std::exchange(work.is_due, true)) return;
  boost::asio::post(machine_.loop(), [this, &work, alive = alive_] {
    if (!*alive) return;
    // What becomes known while it works comes with a new turn.
    slices_.run(work.turns, [this, &work] {
      work.is_due = false;
      return do_some(work) && !std::exchange(work.is_due, true);
    });
  });
}

bool WatchService::do_some(Work& work) {
  const auto hear = [this](const kv::Delivery& delivery) { return tell(delivery); };
  const bool more = (machine_.watches().*work.step)(steps, hear);
  for (const kv::StreamId id : std::exchange(overtaken_, {}))
    if (const auto found = streams_.find(id); found != streams_.end()) count(*found->second);
  if (!more) tell_progress();
  return more;
}

// False if the stream has no room.
bool WatchService::tell(const kv::Delivery& delivery) {
  const auto found = streams_.find(delivery.stream);
  if (found == streams_.end()) return true;
  const StreamPtr stream = found->second;
  if (stream->waits_for_room || stream->caller->congested()) {
    wait_for_room(stream);
    return false;
  }
  if (!delivery.compacted) {
    tell_events(*stream, delivery);
    return true;
  }
  overtaken_.insert(stream->id);
  tell_end(stream, delivery);
  return true;
}

void WatchService::wait_for_room(const StreamPtr& stream) {
  if (std::exchange(stream->waits_for_room, true)) return;
  stream->caller->on_room([this, weak = std::weak_ptr(stream)] {
    const auto still = weak.lock();
    if (!still) return;
    still->waits_for_room = false;
    still->heard = 0;
    machine_.watches().room(still->id);
    if (still->resume) std::exchange(still->resume, {})();
    run(history_);
  });
}

void WatchService::tell_end(const StreamPtr& stream, const kv::Delivery& delivery) {
  pb::WatchResponse response;
  header_(response.mutable_header(), 0);
  response.set_watch_id(delivery.watch);
  response.set_canceled(true);
  response.set_compact_revision(*delivery.compacted);
  stream->caller->tell(response);
  if (!stream->one_watch || stream->caller->over()) return;
  end(stream);
  stream->caller->refuse({});
}

// Cut between revisions, so that no response is longer than it must be; and within them for who wants that.
void WatchService::tell_events(const Stream& stream, const kv::Delivery& delivery) {
  pb::WatchResponse response;
  std::size_t bytes = 0;
  kv::Revision last = 0;
  const auto send = [&](bool is_fragment) {
    header_(response.mutable_header(), last);
    response.set_watch_id(delivery.watch);
    response.set_fragment(is_fragment);
    stream.caller->tell(response);
    response.Clear();
    bytes = 0;
  };
  for (const kv::Event& event : delivery.events) {
    const bool same = event.now->mod == last;
    if (bytes >= options_.response_bytes && !same) send(false);
    if (delivery.manner.in_fragments && bytes > 0 && bytes + size_of(event) > options_.response_bytes)
      send(same);
    last = event.now->mod;
    bytes += size_of(event);
    fill(*response.add_events(), event, delivery.manner.with_previous);
  }
  send(false);
}

// ---- progress

// One answer for a stream, when everybody on it knows everything.
void WatchService::tell_progress() {
  for (const kv::StreamId id : std::set(want_progress_)) {
    const auto found = streams_.find(id);
    if (found == streams_.end() || !machine_.watches().is_idle(id)) continue;
    want_progress_.erase(id);
    pb::WatchResponse response;
    header_(response.mutable_header(), machine_.store().revision());
    response.set_watch_id(-1);
    found->second->caller->tell(response);
  }
}

void WatchService::notify_progress() {
  for (const auto& [id, stream] : std::map(streams_))
    if (!stream->waits_for_room) notify_progress(stream);
  progress_.expires_after(options_.progress);
  progress_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) notify_progress();
  });
}

void WatchService::notify_progress(const StreamPtr& stream) {
  const auto show = [this, stream](kv::WatchName watch) {
    pb::WatchResponse response;
    header_(response.mutable_header(), machine_.store().revision());
    response.set_watch_id(watch);
    stream->caller->tell(response);
  };
  constexpr kv::WatchName first = std::numeric_limits<kv::WatchName>::min();
  slices_.run(stream->caller->peer().connection, [this, stream, show, at = first]() mutable {
    if (!streams_.contains(stream->id) || stream->caller->congested()) return false;
    const auto next = machine_.watches().look_for_quiet(stream->id, at, steps, show);
    at = next.value_or(at);
    return next.has_value();
  });
}

// An election is no reason to look for another member; that nobody is elected is one.
void WatchService::look_for_leader() {
  leaderless_ = machine_.server().leader() ? 0 : leaderless_ + 1;
  if (leaderless_ >= 3) {
    for (const auto& [id, stream] : std::map(streams_)) {
      if (!stream->needs_leader) continue;
      end(stream);
      stream->caller->refuse(no_leader);
    }
  }
  leader_.expires_after(2 * machine_.options().server.patience);
  leader_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) look_for_leader();
  });
}

}  // namespace conclave::etcd
