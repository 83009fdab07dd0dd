// etcd's Watch service: streams of changes, each with any number of watchers.
//
// Every watcher is told every change once, in order, and no revision in halves unless it asked for fragments.
// A stream whose client reads slowly waits; what it has not been told is read from the history later.
#pragma once
#include <proto/rpc.pb.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "etcd/machine.hpp"
#include "rpc/offer.hpp"

namespace conclave::etcd {

struct WatchOptions {
  std::size_t watchers = 1'000'000;        // of this member
  std::size_t response_bytes = 1'000'000;  // about; a revision that has more is sent whole, or in fragments
  std::chrono::milliseconds progress{600'000};  // between two notifications of a watcher that asked for them
};

class WatchService {
 public:
  // Fills what every response begins with.
  using Header = std::function<void(etcdserverpb::ResponseHeader*, kv::Revision)>;

  WatchService(rpc::Server& server, Machine& machine, const WatchOptions& options, Header header);
  ~WatchService();
  WatchService(const WatchService&) = delete;
  WatchService& operator=(const WatchService&) = delete;

  // Something may be to be told.
  void changed();
  // The store is another one: clients are to come back, and say from where they want to go on.
  void restored();
  // Nothing changes here any more, though it does elsewhere.
  void stop(const rpc::Status& why);
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Watcher {
    kv::WatchId id = 0;
    bool with_previous = false;
    bool in_fragments = false;
    bool wants_progress = false;
    bool was_told = false;  // since the last notification
  };
  // Whole revisions, or an end, that a stream has yet to be told.
  struct Piece {
    std::int64_t watch = 0;
    std::vector<kv::Event> events = {};
    kv::Revision revision = 0;
    std::optional<kv::Revision> compacted = {};
  };
  struct Stream {
    rpc::CallerPtr caller;
    std::map<std::int64_t, Watcher> watchers = {};
    std::int64_t next_watch = 0;
    std::deque<Piece> pieces = {};
    bool waits_for_room = false;
    bool wants_progress = false;
    bool needs_leader = false;          // it has no use for a member that knows none
    bool one_watch = false;             // by JSON: ends with its watcher
    std::function<void()> resume = {};  // while it is held back: hears on
  };
  using StreamPtr = std::shared_ptr<Stream>;

  void grpc_stream(rpc::Call call);
  StreamPtr open(rpc::CallerPtr caller);
  void hear(const StreamPtr& stream, const etcdserverpb::WatchRequest& request);
  void create(const StreamPtr& stream, const etcdserverpb::WatchCreateRequest& request);
  void refuse(const StreamPtr& stream, const std::string& why);
  void cancel(const StreamPtr& stream, std::int64_t watch);
  void end(const StreamPtr& stream);
  void pump();
  void pump(const StreamPtr& stream);
  void collect(const StreamPtr& stream, kv::WatchId id, std::int64_t watch);
  void send(const StreamPtr& stream, Piece piece);
  void send_events(const StreamPtr& stream, const Piece& piece, const Watcher& watcher);
  void tell_progress(const StreamPtr& stream);
  void notify_progress();
  void look_for_leader();

  rpc::Server& server_;
  Machine& machine_;
  const WatchOptions options_;
  const Header header_;
  std::map<const Stream*, StreamPtr> streams_;
  std::map<kv::WatchId, std::pair<const Stream*, std::int64_t>> owners_;
  bool pump_is_due_ = false;
  boost::asio::steady_timer progress_;
  boost::asio::steady_timer leader_;
  int leaderless_ = 0;  // looks in a row
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::etcd
