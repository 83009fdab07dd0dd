// Who watches which keys on this member, and who tells them.
//
// Watchers are no part of the replicated state. Nobody has a queue: a put notes once what happened, whoever
// watches. One cursor goes over what happened and looks up who watches each key, among those who know all
// before it. A watcher whose stream takes nothing more at that moment leaves them with the revision from
// which it has to go on, and costs nothing until there is room. Those who have to go on from earlier share a
// scan of the history, which tells them all, and ends where the cursor is.
//
// Whoever calls says how much is done at once. Nobody is told a revision in halves, nor anything twice, nor
// out of order; a watcher that a compaction overtook is told so. docs/kv.md has the whole,
// docs/decisions/0023 why.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kv/store.hpp"
#include "kv/tree.hpp"

namespace conclave::kv {

// What several watchers hear through: it has room for all of them, or for none.
using StreamId = std::uint64_t;
// What a stream calls one of its watchers.
using WatchName = std::int64_t;

// How a watcher wants to be told, for those who tell it.
struct WatchManner {
  bool with_previous = false;
  bool in_fragments = false;
  bool wants_progress = false;
};

struct WatchRequest {
  std::string key = {};
  std::string range_end = {};
  Revision start_revision = 0;  // from now on
  bool no_put = false;
  bool no_delete = false;
  WatchManner manner = {};

  // Of memory, about.
  std::size_t cost() const;
};

struct WatchLimits {
  // What happened and was not told yet. Of what is more the history has to know.
  std::size_t noted_events = 1 << 16;
  std::size_t noted_bytes = std::size_t{8} << 20;
  // What is gathered to be told at once.
  std::size_t gathered_bytes = std::size_t{128} << 10;
  // Watchers that are not farther behind do not wait for those who are.
  Revision near = 1024;
};

struct Delivery {
  StreamId stream = 0;
  WatchName watch = 0;
  WatchManner manner = {};
  std::vector<Event> events = {};  // whole revisions
  // A compaction overtook the watcher, which is gone when it was told.
  std::optional<Revision> compacted = {};
};

// What was done, counted from the start.
struct WatchWork {
  std::uint64_t changes = 0;   // that were looked at, from the notes or from the history
  std::uint64_t watchers = 0;  // that were looked at in search of those who watch, or moved
  std::uint64_t told = 0;      // deliveries
};

class Watches {
 public:
  // Takes what a watcher is told. False: its stream has no room, and nothing was taken; `room` says when
  // there is.
  using Hear = std::function<bool(const Delivery&)>;

  explicit Watches(const Store& store, WatchLimits limits = {});
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // False if no key can be in the range. A stream begins with its first watcher.
  bool create(StreamId stream, WatchName watch, WatchRequest request);
  bool contains(StreamId stream, WatchName watch) const { return find(stream, watch) != nullptr; }
  void cancel(StreamId stream, WatchName watch);
  // The stream takes something again.
  void room(StreamId stream);
  // The stream hears no more, and so many of its watchers are forgotten. True while there are others.
  bool close(StreamId stream, std::size_t watchers);

  // After every command, with its outcome.
  void see(const Outcome& outcome);

  // Tell what happened: to those who know what came before; to those who are behind. A step costs about as
  // much as looking at so many changes or watchers. True while there is more to do.
  bool tell_news(std::size_t steps, const Hear& hear);
  bool tell_history(std::size_t steps, const Hear& hear);

  // Somebody has yet to be told what happened from there on; `never`: nobody has. Who waits on a stream that
  // took nothing since then, by the caller's clock, does not count. Looks at some of the streams that are
  // full, and says the least that it may be: until the next time it comes to a stream, that is as it was.
  Revision needed(std::uint64_t now, std::uint64_t since, std::size_t streams);

  // It knows everything up to the current revision; all of a stream do.
  bool is_idle(StreamId stream, WatchName watch) const;
  bool is_idle(StreamId stream) const;
  // Goes over some of a stream's watchers, from that name on. Those that know everything, want to hear of
  // progress, and heard nothing since this was asked last, are shown. Returns where to go on.
  std::optional<WatchName> look_for_quiet(StreamId stream, WatchName from, std::size_t watchers,
                                          const std::function<void(WatchName)>& show);

  std::size_t size() const { return size_; }
  std::size_t behind() const { return behind_; }
  // What they cost; also of one stream's.
  std::size_t bytes() const { return bytes_; }
  std::size_t bytes_of(StreamId stream) const;
  const WatchWork& work() const { return work_; }

 private:
  // Puts, and deletions: each watcher wants one of them or both.
  static constexpr std::size_t kinds = 2;
  static std::size_t kind_of(const Event& event) { return event.now->is_deletion() ? 1 : 0; }

  enum class State : std::uint8_t {
    news,     // knows what came before, and is in the tree of those
    future,   // the same, but nothing is for it before some revision
    history,  // in a tree of those who are told what happened earlier
    stalled,  // waits for room on its stream
    nowhere,
  };
  struct Stream;
  struct Watcher {
    TreeLinks<Watcher> links = {};
    std::array<const Watcher*, kinds> farthest = {};  // of those from here down, whose range ends last
    Tree<Watcher>* tree = nullptr;                    // that it is in
    Stream* stream = nullptr;
    WatchName name = 0;
    std::uint64_t id = 0;
    Revision next = 0;  // what came before is done with, or was not asked for
    std::int32_t gathered = -1;
    std::uint8_t height = 1;
    State state = State::nowhere;
    bool is_admitted = false;  // after waiting for room, and not done yet
    bool was_told = false;     // since somebody looked
    bool party = false;        // of those that wait for room: with whom it came
    WatchRequest request = {};

    KeyRange range() const { return {request.key, request.range_end}; }
    bool wants(std::size_t kind) const { return kind == 0 ? !request.no_put : !request.no_delete; }
    bool refresh();
  };
  struct Stream {
    StreamId id = 0;
    std::map<WatchName, Watcher> watchers = {};
    std::size_t bytes = 0;
    std::size_t behind = 0;  // of its watchers
    bool is_full = false;
    bool is_admitting = false;
    // Those that wait for room, in the order of coming.
    Watcher* first_stalled = nullptr;
    Watcher* last_stalled = nullptr;
    // They are in two parties: those who came while others waited go on after these. Of each it is known from
    // where on somebody in it has to be told, at least.
    struct Party {
      std::size_t watchers = 0;
      Revision next = never;
    };
    std::array<Party, 2> parties = {};
    bool first_party = false;  // which of them it is
    Revision next() const { return std::min(parties[0].next, parties[1].next); }
    std::uint64_t had_room = 0;  // when, by the clock of `needed`
    // Not all of them go on when there is room: as many as may find some, more if that was too few.
    std::size_t batch = 64;
    std::size_t admitted = 0;
    std::size_t told = 0;  // since there was room
  };
  // A place among the watchers of a tree, whoever leaves meanwhile.
  struct Mark {
    std::string key = {};
    std::uint64_t id = 0;
  };
  // Goes over revisions in their order, and tells the watchers of a tree. Those who came too late for the
  // present round are in the other tree.
  struct Cursor {
    std::array<Tree<Watcher>, 2> trees = {};
    bool other = false;
    Revision at = 1;              // comes next
    Revision next_round = never;  // begins there
    // Of the revision `at`, while it is being told: its events by key, which of them, and to whom next.
    std::vector<Event> events = {};
    std::size_t event = 0;
    std::optional<Mark> mark = {};
    // While those are told that a compaction overtook: up to where.
    std::optional<Revision> overtaken = {};

    Tree<Watcher>& tree() { return trees[other ? 1 : 0]; }
    Tree<Watcher>& waiting() { return trees[other ? 0 : 1]; }
    const Tree<Watcher>& tree() const { return trees[other ? 1 : 0]; }
    const Tree<Watcher>& waiting() const { return trees[other ? 0 : 1]; }
    bool is_amid() const { return !events.empty() || overtaken.has_value(); }
    void stop_at(Revision revision);
  };
  // What is done at once.
  struct Run {
    std::size_t steps = 0;
    std::size_t bytes = 0;  // that may be gathered
    bool is_over() const { return steps == 0 || bytes == 0; }
    void step(std::size_t count = 1) { steps -= std::min(steps, count); }
    void gather(std::size_t count) { bytes -= std::min(bytes, count); }
  };
  struct Gathered {
    Watcher* watcher = nullptr;
    Delivery delivery = {};
    Revision from = 0;  // if it is not taken, to be told again from here
  };

  static bool is_hit(const Watcher& watcher, std::string_view key, std::size_t kind);
  Watcher* first_hit(Watcher* at, std::string_view key, std::size_t kind);
  Watcher* next_hit(Watcher& from, std::string_view key, std::size_t kind);
  static Watcher* seek(Watcher* at, const Mark& mark);
  static bool stands_before(const Watcher& watcher, std::string_view key, std::uint64_t id);

  const Watcher* find(StreamId stream, WatchName watch) const;
  Watcher* find(StreamId stream, WatchName watch);
  bool is_told_everything() const { return !news_.is_amid() && news_.at > store_.revision(); }
  void leave(Watcher& watcher);
  void settle(Watcher& watcher);  // where it belongs, after `leave`
  void enter(Watcher& watcher, Tree<Watcher>& tree, State state);
  void stall(Watcher& watcher);
  void leave_party(Watcher& watcher);
  Revision told_next() const;
  void not_admitted_any_more(Watcher& watcher);
  void forget(Watcher& watcher);

  bool is_up_to_news(Revision next) const;
  bool is_overtaken(const Cursor& cursor) const;
  bool has_news();
  bool has_history() const;
  void read_noted();
  void read_history(Cursor& cursor);
  void begin_revision(Cursor& cursor, Run& run);
  bool tell_revision(Cursor& cursor, Run& run);
  bool tell_overtaken(Cursor& cursor, Run& run);
  bool admit_future(Revision up_to, Run& run);
  void admit_stalled(Run& run);
  void go_through(Cursor& cursor, Run& run);
  Delivery& gather_for(Watcher& watcher, Revision from);
  void gather(const Cursor& cursor, Watcher& watcher, Run& run);
  void hand_over(const Hear& hear);
  void refused(const Gathered& what);

  const Store& store_;
  WatchLimits limits_;
  std::uint64_t next_id_ = 0;
  std::map<StreamId, Stream> streams_;
  std::size_t size_ = 0;
  std::size_t behind_ = 0;
  std::size_t bytes_ = 0;

  Cursor news_ = {};
  std::array<Cursor, 2> history_ = {};  // for those who are not far behind, and for the others
  std::map<std::pair<Revision, std::uint64_t>, Watcher*> future_;  // by revision and id
  std::deque<StreamId> admitting_;        // have room for watchers that waited for it
  std::map<StreamId, Stream*> stalling_;  // have watchers that wait for it
  // What they need; and as far as is known from a round that is not over.
  std::uint64_t now_ = 0;
  Revision needed_ = never;
  Revision needed_so_far_ = never;
  StreamId next_looked_at_ = 0;

  // What happened from a revision on, and was not told yet.
  std::deque<Event> noted_;
  std::size_t noted_bytes_ = 0;
  Revision noted_from_ = 0;

  std::vector<Gathered> gathered_;
  WatchWork work_ = {};
};

}  // namespace conclave::kv
