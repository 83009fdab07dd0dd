// Who watches which keys on this member, and what they have not been told yet.
//
// Watchers are no part of the replicated state. One that keeps up has a short queue. One that does not loses
// the queue and keeps a revision: it reads the history from there when it comes back, and is told if a
// compaction was faster. Nobody is told a revision in halves, nor anything twice, nor out of order.
#pragma once
#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kv/store.hpp"
#include "kv/tree.hpp"

namespace conclave::kv {

struct WatchRequest {
  std::string key = {};
  std::string range_end = {};
  Revision start_revision = 0;  // from now on
  bool no_put = false;
  bool no_delete = false;
};

struct WatchLimits {
  std::size_t queued_events = 1024;
  std::size_t queued_bytes = std::size_t{1} << 20;
  std::size_t read_at_once = 1024;  // changes that one catching up looks at before others have their turn
};

using WatchId = std::uint64_t;

struct Delivery {
  std::vector<Event> events = {};  // whole revisions
  Revision revision = 0;           // up to which the watcher now knows everything
  // A compaction overtook the watcher, which is gone.
  std::optional<Revision> compacted = {};
};

class Watches {
 public:
  explicit Watches(const Store& store, WatchLimits limits = {}) : store_(store), limits_(limits) {}

  // Nothing if no key can be in the range.
  std::optional<WatchId> create(WatchRequest request);
  void cancel(WatchId id);
  std::size_t size() const { return watchers_.size(); }

  // After every command, with its outcome.
  void see(const Outcome& outcome);

  // Those for whom `take` may have something, in the order of their ids.
  const std::set<WatchId>& ready() const { return ready_; }
  // What a watcher should be told next; may be empty, with more to come as long as it is `ready`.
  Delivery take(WatchId id);
  // It has been handed everything up to the current revision.
  bool is_idle(WatchId id) const { return watchers_.contains(id) && !ready_.contains(id); }

 private:
  struct Watcher {
    TreeLinks<Watcher> links = {};
    WatchId id = 0;
    WatchRequest request = {};
    const Watcher* farthest = nullptr;  // of those from here down, whose range ends last
    Revision next = 0;                  // what came before is done with, or was not asked for
    bool is_synced = true;              // what comes is queued
    std::deque<Event> queue = {};
    std::size_t queued_bytes = 0;

    KeyRange range() const { return {request.key, request.range_end}; }
    bool refresh();
  };

  static bool wants(const Watcher& watcher, const Event& event);
  void see_below(Watcher* at, const Event& event);
  void queue(Watcher& watcher, const Event& event);
  void fall_behind(Watcher& watcher);
  Delivery take_queue(Watcher& watcher);
  Delivery catch_up(Watcher& watcher);

  const Store& store_;
  WatchLimits limits_;
  WatchId next_id_ = 0;
  std::map<WatchId, std::unique_ptr<Watcher>> watchers_;
  Tree<Watcher> tree_;  // by the beginning of the range
  std::set<WatchId> ready_;
};

}  // namespace conclave::kv
