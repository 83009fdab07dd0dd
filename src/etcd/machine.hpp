// The replicated store of one member: what clients ask goes into Raft's log, comes back as applied, and
// answers whoever asked.
//
//   auto machine = etcd::Machine::open(loop, options, failed, log);
//   (*machine)->listen({.changed = …, .restored = …});
//   (*machine)->propose(kv::Put{…}, [](Machine::Outcome outcome) { … });
//   (*machine)->read([&](const rpc::Status& status) { … (*machine)->store().range(…) … });
//
// It also keeps the cluster's clock while this member leads, and writes snapshots. Everything happens on the
// loop. Nobody is called before the function that asked has returned.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/server.hpp"
#include "etcd/compactor.hpp"
#include "etcd/heap.hpp"
#include "kv/agreement.hpp"
#include "kv/lines.hpp"
#include "kv/snapshot.hpp"
#include "kv/store.hpp"
#include "kv/watches.hpp"
#include "rpc/status.hpp"
#include "storage/drafts.hpp"

namespace conclave::etcd {

struct MachineOptions {
  cluster::ServerOptions server = {};
  // What clients of this member may have under way.
  std::size_t most_proposals = 20'000;
  std::size_t most_proposed_bytes = 32u << 20;
  std::size_t most_readers = 100'000;
  std::size_t most_renewals = 20'000;                  // of leases
  std::size_t request_bytes = 3u << 19;                // as etcd: 1.5 MiB
  std::uint64_t quota_bytes = std::uint64_t{2} << 30;  // of the store; beyond it nothing more is put
  std::chrono::milliseconds patience{6'000};           // of who asks; then nobody knows what came of it
  std::chrono::milliseconds tick{200};                 // of the cluster's clock, while there are leases
  std::chrono::milliseconds renewal_pause{10};         // between two entries of renewals, at least
  // A snapshot is due when the log since the last one takes so large a part of what that one took, at least
  // so many bytes, or so many entries: what a command costs does not grow with the store.
  std::uint64_t snapshot_part = 2;  // a half
  std::size_t snapshot_bytes = std::size_t{32} << 20;
  std::uint64_t snapshot_entries = 1'000'000;
  std::size_t snapshot_piece = std::size_t{64} << 10;  // written in one turn of the loop
  std::uint64_t vouch_entries = 4096;                  // after every so many, members compare their states
  CompactorOptions history = {};                       // when it ends
};

struct MachineEvents {
  std::function<void(const kv::Outcome&)> changed;  // after every command: `store` has it
  // The store is another one: all watches and all who stood in lines are forgotten, and nothing that was
  // read from the former one is true any more.
  std::function<void()> restored;
  std::function<void()> members_changed = {};
  std::function<void(std::uint64_t serial, std::expected<NodeId, cluster::BookError>)> answered = {};
  // The log has an entry that cannot be applied here: the store is not what it should be.
  std::function<void()> stopped = {};
};

// Counted from the start; for /metrics.
struct MachineStats {
  std::uint64_t proposals = 0;
  std::uint64_t applied = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t turned_away = 0;
  std::uint64_t reads = 0;
  std::uint64_t read_rounds = 0;  // of Raft; many reads share one
  std::uint64_t renewals = 0;
  std::uint64_t renewal_entries = 0;  // of the log; many renewals share one, and most need none
  std::uint64_t snapshots = 0;
  std::uint64_t restored = 0;
  std::uint64_t agreed_index = 0;  // after this entry, a majority had the state that we had
};

class Machine {
 public:
  using Outcome = std::expected<kv::Answer, rpc::Status>;  // errors of the store are statuses here
  using Answered = std::move_only_function<void(Outcome)>;
  using Readable = std::move_only_function<void(const rpc::Status&)>;
  using Renewed = std::move_only_function<void(std::expected<std::int64_t, rpc::Status>)>;

  // This member takes no part any more: its disk is broken, its log is not one that it understands, or it
  // was removed.
  enum class End { failed, expelled };
  using Failed = std::function<void(End how, const std::string& why)>;

  static std::expected<std::unique_ptr<Machine>, std::string> open(boost::asio::io_context& loop,
                                                                   const MachineOptions& options,
                                                                   Failed failed, live::Log log);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void listen(MachineEvents events) { events_ = std::move(events); }

  void propose(const kv::Command& command, Answered then);
  // Calls when the store has everything that was acknowledged to anybody before this call.
  void read(Readable then);
  // Seconds that the lease has from now on, 0 if there is none. Many renewals go through the log as one;
  // those that would change nothing there are answered as reads are.
  void renew(kv::LeaseId lease, Renewed then);

  // The state as bytes, as it is now or a little later: what the store was after the entry with this index.
  // If a snapshot of Raft's is due, it is the same file; otherwise one that is gone when nobody reads it.
  struct Saved {
    std::uint64_t index = 0;
    Bulk state = {};
  };
  using Saver = std::move_only_function<void(const std::expected<Saved, rpc::Status>&)>;
  void save(Saver then);

  const kv::Store& store() const { return *store_; }
  const Compactor& compactor() const { return compactor_; }
  const Heap& heap() const { return heap_; }
  kv::Watches& watches() { return *watches_; }
  kv::Lines& lines() { return *lines_; }
  cluster::Server& server() { return *server_; }
  const cluster::Server& server() const { return *server_; }
  const MachineOptions& options() const { return options_; }
  const MachineStats& stats() const { return stats_; }
  boost::asio::io_context& loop() { return loop_; }
  // The least time to live that a lease is granted: who must ask a new leader has time to find it.
  std::int64_t least_ttl() const;
  bool is_expelled() const { return expelled_; }
  // Why this member serves nothing, if so: the log has an entry that it cannot apply. What is asked for is
  // refused with this.
  const rpc::Status& trouble() const { return trouble_; }
  // Something was proposed here so long ago that whoever asked gave up, and nothing of ours was applied
  // since.
  bool writes_stand_still() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Proposal {
    std::uint64_t serial = 0;
    std::size_t bytes = 0;
    Clock::time_point deadline = {};
    Answered then = {};  // empty: was told that nobody knows
  };
  struct Reader {
    Clock::time_point deadline = {};
    Readable then = {};
  };
  struct Round {
    std::uint64_t serial = 0;
    std::vector<Reader> readers = {};
  };
  struct Renewal {
    kv::LeaseId lease = 0;
    Renewed then = {};
  };
  // Of leases that run: each once, however many ask, and in the order in which they were asked for.
  struct Renewals {
    std::deque<kv::LeaseId> order = {};
    std::unordered_map<kv::LeaseId, std::vector<Renewed>> asked = {};
  };

  Machine(boost::asio::io_context& loop, const MachineOptions& options, Failed failed, live::Log log);
  cluster::Events server_events();
  void renew_store(std::unique_ptr<kv::Store> store);

  std::string applied(std::uint64_t index, std::uint64_t term, const Payload& command, std::uint64_t mine);
  void stopped(const std::string& why);
  void skipped(std::uint64_t index);
  void answer(std::uint64_t serial, kv::Answer answer);
  bool state_comes(bool begins, std::span<const std::uint8_t> bytes);
  bool state_is_there(std::uint64_t index, std::uint64_t term);
  std::expected<std::unique_ptr<kv::Store>, std::string> read_state(std::uint64_t index,
                                                                    const Bulk& state) const;
  void restored(std::uint64_t index, const Bulk& state);
  void taken(std::uint64_t serial);
  void readable(std::uint64_t serial);
  void leading();
  void fail(const std::string& why);
  void expelled(const std::string& why);

  void begin_round();
  void settle_rounds();
  bool needs_entry(kv::LeaseId lease) const;
  void look_again();
  void enter(Renewal renewal);
  void plan_renewals();
  void propose_renewals();
  void put_into_log(const Bytes& bytes, Answered then);
  void renewed(Renewed& then, const std::expected<std::int64_t, rpc::Status>& ttl);
  void look_at_clock();
  void look_after_history();
  void consider_history(std::size_t bytes);
  void look_at_deadlines();
  void expire(std::vector<Reader>& readers, Clock::time_point now);
  void compare_states();
  void hear(const kv::Vouch& vouch);
  void consider_snapshot(std::size_t bytes);
  std::uint64_t snapshot_after() const;
  void plan_snapshot();  // for Raft
  void plan_writing();
  void begin_snapshot();
  void write_snapshot();
  void wrote_snapshot(std::uint64_t draft, storage::Result<storage::SnapshotReader> file);
  void give_up_snapshot(const storage::Failure& why);
  void later(std::move_only_function<void()> then);
  template <class Then>
  void after(boost::asio::steady_timer& timer, std::chrono::milliseconds time, Then then);

  boost::asio::io_context& loop_;
  const MachineOptions options_;
  const Failed tell_failed_;
  const live::Log log_;
  const std::uint64_t table_seed_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  MachineEvents events_ = {};
  bool failed_ = false;
  bool expelled_ = false;
  rpc::Status trouble_ = {};
  boost::asio::steady_timer ending_;

  std::unique_ptr<kv::Store> store_;
  std::optional<kv::SnapshotReader> reader_;  // of what a leader sends
  std::unique_ptr<kv::Store> arriving_;       // all of that, about to be taken over
  std::unique_ptr<kv::Watches> watches_;
  std::unique_ptr<kv::Lines> lines_;
  kv::Outcome outcome_;
  kv::Agreement agreement_;

  std::deque<Proposal> proposals_;  // by serial
  std::size_t proposed_bytes_ = 0;
  Clock::time_point answered_ = {};  // when the last of ours was applied
  std::deque<Round> rounds_;         // that Raft was asked for
  std::vector<Reader> readers_;      // for the next one
  std::size_t reading_ = 0;
  std::uint64_t readable_ = 0;
  bool round_is_due_ = false;
  Renewals renewals_;              // for the next entry
  std::vector<Renewal> doubtful_;  // to be looked at again when the store is known to be up to date
  std::size_t renewing_ = 0;       // all that are not answered
  bool looking_is_due_ = false;
  bool renewing_is_due_ = false;  // or under way
  Clock::time_point entered_ = {};
  boost::asio::steady_timer renewal_clock_;
  boost::asio::steady_timer deadlines_;

  boost::asio::steady_timer clock_;
  Clock::time_point ticked_ = {};
  bool ticking_ = false;  // a Tick is on its way

  Compactor compactor_;
  Heap heap_;
  boost::asio::steady_timer history_clock_;
  bool shortens_history_ = false;    // a command of its own is on its way
  std::uint64_t history_bytes_ = 0;  // of commands, since it was looked at for their sake

  std::uint64_t snapshot_index_ = 0;
  std::uint64_t snapshot_size_ = 0;
  std::size_t bytes_since_ = 0;
  Clock::time_point not_before_ = {};  // the last one could not be written
  std::uint64_t index_ = 0;
  std::unique_ptr<kv::SnapshotWriter> writer_;
  std::unique_ptr<storage::Draft> draft_;  // while one is written
  bool writing_is_due_ = false;
  bool is_for_raft_ = false;    // what is written next, or now
  std::uint64_t drafts_ = 0;    // begun; of an earlier one than the last, nobody wants to hear
  std::uint64_t written_ = 0;   // the index that it is about
  std::size_t preface_ = 0;     // bytes of it that are not the store's
  std::vector<Saver> savers_;   // for the next one
  std::vector<Saver> serving_;  // for the one that is being written

  MachineStats stats_ = {};
  std::unique_ptr<cluster::Server> server_;  // last: nobody speaks to what is gone
};

// etcd's code and text for what the store refused.
rpc::Status status_of(kv::Error error);

inline const rpc::Status timed_out = {rpc::Code::unavailable, "etcdserver: request timed out"};
inline const rpc::Status too_many_requests = {rpc::Code::resource_exhausted, "etcdserver: too many requests"};
inline const rpc::Status nothing_is_applied = {
    rpc::Code::unavailable, "what clients of this member write is not applied, although there is a leader"};
inline const rpc::Status no_leader = {rpc::Code::unavailable, "etcdserver: no leader"};
inline const rpc::Status leader_changed = {rpc::Code::unavailable, "etcdserver: leader changed"};
inline const rpc::Status lease_not_found = {rpc::Code::not_found, "etcdserver: requested lease not found"};

}  // namespace conclave::etcd
