#include "etcd/watch_service.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "etcd/translate.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

const rpc::Status come_back = {rpc::Code::unavailable, "etcdserver: leader changed"};

std::size_t size_of(const kv::Event& event) {
  const auto size = [](const kv::RecordRef& record) -> std::size_t { return record ? record->size : 0; };
  return 64 + event.now.key().size() + size(event.now) + size(event.before);
}

}  // namespace

WatchService::WatchService(rpc::Server& server, Machine& machine, const WatchOptions& options, Header header)
    : server_(server),
      machine_(machine),
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
    if (!call.congested()) return;
    // Who asks and does not read is held back.
    call.pause();
    stream->resume = [call]() mutable { call.resume(); };
    boost::asio::post(machine_.loop(), [this, stream, alive = alive_] {
      if (*alive) pump(stream);
    });
  });
  call.on_half_close([this, call, stream]() mutable {
    end(stream);
    call.finish({});
  });
}

WatchService::StreamPtr WatchService::open(rpc::CallerPtr caller) {
  auto stream = std::make_shared<Stream>();
  stream->caller = std::move(caller);
  streams_.emplace(stream.get(), stream);
  stream->caller->on_gone([this, weak = std::weak_ptr(stream)] {
    if (const auto still = weak.lock()) end(still);
  });
  return stream;
}

void WatchService::end(const StreamPtr& stream) {
  for (const auto& [watch, watcher] : std::exchange(stream->watchers, {})) {
    machine_.watches().cancel(watcher.id);
    owners_.erase(watcher.id);
  }
  stream->pieces.clear();
  stream->resume = {};
  streams_.erase(stream.get());
}

void WatchService::restored() {
  owners_.clear();
  const auto streams = std::exchange(streams_, {});
  for (const auto& [key, stream] : streams) {
    stream->watchers.clear();  // the store that knew them is gone
    stream->pieces.clear();
    stream->resume = {};
    stream->caller->refuse(come_back);
  }
}

void WatchService::stop(const rpc::Status& why) {
  for (const auto& [key, stream] : std::map(streams_)) {
    const rpc::CallerPtr caller = stream->caller;
    end(stream);
    caller->refuse(why);
  }
}

void WatchService::hear(const StreamPtr& stream, const pb::WatchRequest& request) {
  if (const rpc::Status& trouble = machine_.trouble(); !trouble.ok()) {
    const rpc::CallerPtr caller = stream->caller;
    end(stream);
    return caller->refuse(trouble);
  }
  switch (request.request_union_case()) {
    case pb::WatchRequest::kCreateRequest: return create(stream, request.create_request());
    case pb::WatchRequest::kCancelRequest: return cancel(stream, request.cancel_request().watch_id());
    case pb::WatchRequest::kProgressRequest: stream->wants_progress = true; return changed();
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

void WatchService::create(const StreamPtr& stream, const pb::WatchCreateRequest& request) {
  if (owners_.size() >= options_.watchers) return refuse(stream, "etcdserver: too many requests");
  if (request.start_revision() < 0)
    return refuse(stream, "etcdserver: mvcc: required revision has been compacted");
  std::int64_t watch = request.watch_id();
  if (watch != 0 && stream->watchers.contains(watch))
    return refuse(stream, "mvcc: duplicate watch ID provided on the WatchStream");
  if (watch == 0) {
    while (stream->watchers.contains(stream->next_watch)) ++stream->next_watch;
    watch = stream->next_watch++;
  }
  const auto filters = [&](pb::WatchCreateRequest::FilterType type) {
    return std::ranges::find(request.filters(), type) != request.filters().end();
  };
  const auto id = machine_.watches().create({.key = request.key(),
                                             .range_end = request.range_end(),
                                             .start_revision = request.start_revision(),
                                             .no_put = filters(pb::WatchCreateRequest::NOPUT),
                                             .no_delete = filters(pb::WatchCreateRequest::NODELETE)});
  if (!id) return refuse(stream, "mvcc: watcher range is empty");
  stream->watchers[watch] = {.id = *id,
                             .with_previous = request.prev_kv(),
                             .in_fragments = request.fragment(),
                             .wants_progress = request.progress_notify()};
  owners_[*id] = {stream.get(), watch};
  pb::WatchResponse response;
  header_(response.mutable_header(), machine_.store().revision());
  response.set_watch_id(watch);
  response.set_created(true);
  stream->caller->tell(response);
  changed();
}

void WatchService::cancel(const StreamPtr& stream, std::int64_t watch) {
  const auto found = stream->watchers.find(watch);
  if (found == stream->watchers.end()) return;
  machine_.watches().cancel(found->second.id);
  owners_.erase(found->second.id);
  stream->watchers.erase(found);
  std::erase_if(stream->pieces, [&](const Piece& piece) { return piece.watch == watch; });
  pb::WatchResponse response;
  header_(response.mutable_header(), machine_.store().revision());
  response.set_watch_id(watch);
  response.set_canceled(true);
  stream->caller->tell(response);
}

// ---- telling

void WatchService::changed() {
  if (std::exchange(pump_is_due_, true)) return;
  boost::asio::post(machine_.loop(), [this, alive = alive_] {
    if (!*alive) return;
    pump_is_due_ = false;
    pump();
  });
}

void WatchService::pump() {
  const std::set<kv::WatchId> ready = machine_.watches().ready();
  for (const kv::WatchId id : ready) {
    const auto owner = owners_.find(id);
    if (owner == owners_.end()) continue;
    const auto [key, watch] = owner->second;
    const StreamPtr stream = streams_.at(key);
    if (stream->waits_for_room) continue;
    collect(stream, id, watch);
    pump(stream);
    // Who has far to go goes on when the others had their turn.
    if (!stream->waits_for_room && machine_.watches().ready().contains(id)) changed();
  }
  for (const auto& [key, stream] : std::map(streams_))
    if (stream->wants_progress) tell_progress(stream);
}

void WatchService::collect(const StreamPtr& stream, kv::WatchId id, std::int64_t watch) {
  kv::Delivery delivery = machine_.watches().take(id);
  if (delivery.compacted) {
    owners_.erase(id);
    stream->pieces.push_back({.watch = watch, .compacted = delivery.compacted});
    return;
  }
  // Cut between revisions, so that no response is longer than it must be.
  Piece piece = {.watch = watch};
  std::size_t bytes = 0;
  for (kv::Event& event : delivery.events) {
    const kv::Revision last = piece.events.empty() ? 0 : piece.events.back().now->mod;
    if (bytes >= options_.response_bytes && event.now->mod != last) {
      piece.revision = last;
      stream->pieces.push_back(std::exchange(piece, {.watch = watch}));
      bytes = 0;
    }
    bytes += size_of(event);
    piece.events.push_back(std::move(event));
  }
  if (piece.events.empty()) return;
  piece.revision = std::max(delivery.revision, piece.events.back().now->mod);
  stream->pieces.push_back(std::move(piece));
}

void WatchService::pump(const StreamPtr& stream) {
  while (!stream->caller->over()) {
    if (stream->caller->congested()) {
      if (std::exchange(stream->waits_for_room, true)) return;
      return stream->caller->on_room([this, weak = std::weak_ptr(stream)] {
        const auto still = weak.lock();
        if (!still) return;
        still->waits_for_room = false;
        pump(still);
        changed();
      });
    }
    if (stream->pieces.empty()) break;
    Piece piece = std::move(stream->pieces.front());
    stream->pieces.pop_front();
    send(stream, std::move(piece));
  }
  if (stream->resume) std::exchange(stream->resume, {})();
}

void WatchService::send(const StreamPtr& stream, Piece piece) {
  const auto found = stream->watchers.find(piece.watch);
  if (found == stream->watchers.end()) return;
  if (!piece.compacted) {
    found->second.was_told = true;
    return send_events(stream, piece, found->second);
  }
  stream->watchers.erase(found);
  pb::WatchResponse response;
  header_(response.mutable_header(), 0);
  response.set_watch_id(piece.watch);
  response.set_canceled(true);
  response.set_compact_revision(*piece.compacted);
  stream->caller->tell(response);
  if (!stream->one_watch || stream->caller->over()) return;
  const rpc::CallerPtr caller = stream->caller;
  end(stream);
  caller->refuse({});
}

void WatchService::send_events(const StreamPtr& stream, const Piece& piece, const Watcher& watcher) {
  pb::WatchResponse response;
  std::size_t bytes = 0;
  const bool in_fragments = watcher.in_fragments;
  const auto tell = [&](bool is_fragment) {
    header_(response.mutable_header(), piece.revision);
    response.set_watch_id(piece.watch);
    response.set_fragment(is_fragment);
    stream->caller->tell(response);
    response.Clear();
    bytes = 0;
  };
  for (const kv::Event& event : piece.events) {
    if (in_fragments && bytes > 0 && bytes + size_of(event) > options_.response_bytes) tell(true);
    bytes += size_of(event);
    fill(*response.add_events(), event, watcher.with_previous);
  }
  tell(false);
}

// ---- progress

// One answer for the stream, when everybody on it knows everything.
void WatchService::tell_progress(const StreamPtr& stream) {
  const auto is_idle = [&](const auto& entry) { return machine_.watches().is_idle(entry.second.id); };
  if (!stream->pieces.empty() || !std::ranges::all_of(stream->watchers, is_idle)) return;
  stream->wants_progress = false;
  pb::WatchResponse response;
  header_(response.mutable_header(), machine_.store().revision());
  response.set_watch_id(-1);
  stream->caller->tell(response);
}

void WatchService::notify_progress() {
  for (const auto& [key, stream] : std::map(streams_)) {
    if (!stream->pieces.empty() || stream->caller->congested()) continue;
    for (auto& [watch, watcher] : stream->watchers) {
      const bool knew = std::exchange(watcher.was_told, false);
      if (!watcher.wants_progress || knew || !machine_.watches().is_idle(watcher.id)) continue;
      pb::WatchResponse response;
      header_(response.mutable_header(), machine_.store().revision());
      response.set_watch_id(watch);
      stream->caller->tell(response);
    }
  }
  progress_.expires_after(options_.progress);
  progress_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) notify_progress();
  });
}

// An election is no reason to look for another member; that nobody is elected is one.
void WatchService::look_for_leader() {
  leaderless_ = machine_.server().leader() ? 0 : leaderless_ + 1;
  if (leaderless_ >= 3) {
    for (const auto& [key, stream] : std::map(streams_)) {
      if (!stream->needs_leader) continue;
      const rpc::CallerPtr caller = stream->caller;
      end(stream);
      caller->refuse(no_leader);
    }
  }
  leader_.expires_after(2 * machine_.options().server.patience);
  leader_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) look_for_leader();
  });
}

}  // namespace conclave::etcd
