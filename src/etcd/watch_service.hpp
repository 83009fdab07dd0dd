// etcd's Watch service: streams of changes, each with any number of watchers.
//
// Every watcher is told every change once, in order, and no revision in halves unless it asked for fragments.
// A stream whose client reads slowly waits, and costs nothing meanwhile; what it has not been told is read
// from the history later. All that may be long, telling and ending, is done a little at a time.
#pragma once
#include <proto/rpc.pb.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "etcd/machine.hpp"
#include "rpc/offer.hpp"
#include "rpc/slices.hpp"

namespace conclave::etcd {

struct WatchOptions {
  // What the watchers of this member may take, some 320 bytes each and their ranges. One connection may have
  // as much as is left for others: half of it if it is alone, and there is always some for a newcomer.
  std::size_t bytes = std::size_t{320} << 20;
  std::size_t response_bytes = 1'000'000;  // about; a revision that has more is sent whole, or in fragments
  std::chrono::milliseconds progress{600'000};  // between two notifications of a watcher that asked for them
};

class WatchService {
 public:
  // Fills what every response begins with.
  using Header = std::function<void(etcdserverpb::ResponseHeader*, kv::Revision)>;

  WatchService(rpc::Server& server, Machine& machine, rpc::Slices& slices, const WatchOptions& options,
               Header header);
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
  std::uint64_t refused() const { return refused_; }  // watchers for whom there was no room

 private:
  struct Stream {
    kv::StreamId id = 0;
    rpc::CallerPtr caller = {};
    std::int64_t next_watch = 0;
    std::uint64_t heard = 0;  // requests, since it had to wait for room
    std::size_t bytes = 0;    // of its watchers
    bool waits_for_room = false;
    bool needs_leader = false;          // it has no use for a member that knows none
    bool one_watch = false;             // by JSON: ends with its watcher
    std::function<void()> resume = {};  // while it is held back: hears on
  };
  using StreamPtr = std::shared_ptr<Stream>;
  // Work of this service that takes turns with what connections ask for.
  struct Work {
    rpc::ConnectionId turns = {};
    bool (kv::Watches::*step)(std::size_t, const kv::Watches::Hear&) = nullptr;
    bool is_due = false;
  };

  void grpc_stream(rpc::Call call);
  StreamPtr open(rpc::CallerPtr caller);
  void hear(const StreamPtr& stream, const etcdserverpb::WatchRequest& request);
  void let_others_pass(const StreamPtr& stream, rpc::Call call);
  void create(const StreamPtr& stream, const etcdserverpb::WatchCreateRequest& request);
  void refuse(const StreamPtr& stream, const std::string& why);
  void cancel(const StreamPtr& stream, std::int64_t watch);
  void end(const StreamPtr& stream);
  bool may_have(const Stream& stream, std::size_t bytes);
  void count(Stream& stream, std::size_t bytes);
  void count(Stream& stream);

  void run(Work& work);
  bool do_some(Work& work);
  bool tell(const kv::Delivery& delivery);
  void tell_end(const StreamPtr& stream, const kv::Delivery& delivery);
  void tell_events(const Stream& stream, const kv::Delivery& delivery);
  void wait_for_room(const StreamPtr& stream);
  void tell_progress();
  void notify_progress();
  void notify_progress(const StreamPtr& stream);
  void look_for_leader();

  rpc::Server& server_;
  Machine& machine_;
  rpc::Slices& slices_;
  const WatchOptions options_;
  const Header header_;
  std::map<kv::StreamId, StreamPtr> streams_ = {};
  kv::StreamId next_stream_ = 0;
  std::map<rpc::ConnectionId, std::size_t> bytes_ = {};  // of the watchers of a connection
  std::set<kv::StreamId> want_progress_ = {};
  std::set<kv::StreamId> overtaken_ = {};  // lose watchers just now
  std::uint64_t refused_ = 0;
  // No connection has these numbers.
  Work news_ = {rpc::ConnectionId{0}, &kv::Watches::tell_news};
  Work history_ = {rpc::ConnectionId{~std::uint64_t{0}}, &kv::Watches::tell_history};
  boost::asio::steady_timer progress_;
  boost::asio::steady_timer leader_;
  int leaderless_ = 0;  // looks in a row
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::etcd
