// One server of a Raft cluster between real processes: the protocol, its links and its disk.
//
//   auto server = cluster::Server::open(loop, options, {.applied = …, .failed = …}, log);
//   const std::uint64_t serial = (*server)->propose(bytes);   // applied(index, bytes, serial) will answer
//
// Whatever is proposed anywhere is applied everywhere in the same order. Everything happens on the loop.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cluster/book.hpp"
#include "core/bulk.hpp"
#include "core/codec.hpp"
#include "core/node_set.hpp"
#include "core/payload.hpp"
#include "live/links.hpp"
#include "storage/drafts.hpp"

namespace conclave::cluster {

struct ServerOptions {
  // Its list of members is the one to begin with; later the disk knows better.
  live::LinkOptions links = {};
  std::map<NodeId, std::vector<std::string>> clients = {};  // where clients reach them, as far as it is known
  bool join = false;                                        // the cluster is there: we come in addition
  std::string data = {};                                    // the directory
  std::chrono::milliseconds heartbeat{50};
  std::chrono::milliseconds patience{300};  // for its leader; a follower waits once to twice this long
  std::chrono::milliseconds handicap{0};    // and this much longer, if others had better lead
  std::uint64_t most_entries = 4096;        // in one message
  std::uint64_t keep_entries = 10'000;      // before a snapshot, for those who are a little behind
  std::string trace = {};                   // a file for its part of the trace; empty: none
  std::chrono::nanoseconds spin{0};         // for which the flushing thread looks for work before it sleeps
  std::set<std::uint64_t> skip = {};  // entries that count as nothing, as an operator says at every member
};

struct Events {
  // Whether these bytes of a peer are a command at all: one that is not is kept out of the log. May be left
  // out, then all are.
  std::function<bool(NodeId from, const Payload& command)> acceptable = {};
  // The same of a state that a leader sends, which is to be that after this entry: the next of its bytes,
  // from its beginning if `begins`; and that these were all. If it is acceptable, `restored` follows.
  std::function<bool(bool begins, std::span<const std::uint8_t> bytes)> state_comes = {};
  std::function<bool(std::uint64_t index, std::uint64_t term)> state_is_there = {};
  // The log has this command at this place. `mine` is what `propose` returned for it here; 0: it came from
  // elsewhere, or from an earlier process. Says why it cannot be applied, if so; empty: it is.
  std::function<std::string(std::uint64_t index, std::uint64_t term, const Payload& command,
                            std::uint64_t mine)>
      applied;
  // An entry could not be applied, and nothing that comes after it is, until a state of later comes instead.
  // The sentence tells an operator what can be done.
  std::function<void(const std::string& why)> stopped = {};
  // An entry was counted as nothing.
  std::function<void(std::uint64_t index)> skipped = {};
  // Instead of what was before this place, the state that it leads to.
  std::function<void(std::uint64_t index, const Bulk& state)> restored = {};
  // What was proposed here up to this is in that state; what came of it nobody here knows.
  std::function<void(std::uint64_t serial)> taken = {};
  // Everything that was committed before `read` returned this is applied.
  std::function<void(std::uint64_t serial)> readable = {};
  std::function<void(std::uint64_t term)> leading = {};
  std::function<void(const std::string& why)> failed = {};  // its disk: it takes no part any more
  // The book, or who votes, is another one.
  std::function<void()> members_changed = {};
  // What came of a change that was asked for here.
  std::function<void(std::uint64_t serial, std::expected<NodeId, BookError>)> answered = {};
  // This server is no member any more, and will not be one again.
  std::function<void(const std::string& why)> expelled = {};
};

struct PeerStatus {
  live::LinkStatus link = {};
  // To the leader.
  std::uint64_t match = 0;
  std::uint64_t next = 0;
  bool gets_snapshot = false;
};

struct ServerStatus {
  NodeId self = {};
  std::string role = {};  // one word
  std::uint64_t term = 0;
  std::optional<NodeId> leader = {};
  std::uint64_t first_index = 0;
  std::uint64_t last_index = 0;
  std::uint64_t committed = 0;
  std::uint64_t snapshot_index = 0;
  NodeSet voters = {};
  NodeSet outgoing = {};  // while the members change
  NodeSet learners = {};
  std::map<NodeId, PeerStatus> peers = {};
  live::DoorStatus door = {};    // where peers come in, and strangers try to
  std::uint64_t stopped_at = 0;  // the entry that cannot be applied here; 0: none
  std::uint64_t open_proposals = 0;
  std::uint64_t flushes = 0;  // of the disk
  std::chrono::nanoseconds flush_median = {};
  std::chrono::nanoseconds flush_worst = {};
};

class Server {
 public:
  // Events may come before it returns: what the disk has of a snapshot.
  static std::expected<std::unique_ptr<Server>, std::string> open(boost::asio::io_context& loop,
                                                                  const ServerOptions& options, Events events,
                                                                  live::Log log);
  virtual ~Server() = default;

  virtual std::uint64_t propose(Payload command) = 0;
  virtual std::uint64_t read() = 0;
  // A snapshot: the state as it is now, and what it looks like once it is saved. The bytes that `capture`
  // returns come before it. What was written to a draft lies on the disk already.
  virtual Bytes capture() = 0;
  virtual void compact(Bulk state) = 0;
  virtual storage::Result<std::unique_ptr<storage::Draft>> draft(storage::Draft::Events events) = 0;
  // Somebody is in the middle of getting the last one.
  virtual bool sends_snapshot() const = 0;
  virtual void transfer(NodeId to) = 0;

  // What the members call themselves among each other: the group's name, and which restore it began with.
  virtual const std::string& group() const = 0;
  // Who the members are. A change is answered when it is in the book; the leader then sees to it.
  virtual const Book& book() const = 0;
  virtual std::uint64_t change(const BookChange& change) = 0;
  virtual void introduce(std::string name, std::vector<std::string> clients) = 0;  // ourselves
  virtual bool has_caught_up(NodeId learner) const = 0;                            // as the leader knows

  virtual bool leads() const = 0;
  virtual std::uint64_t term() const = 0;
  virtual std::optional<NodeId> leader() const = 0;
  virtual ServerStatus status() const = 0;
};

}  // namespace conclave::cluster
