// The links of one member to all others: reliable, in order, exactly once between two incarnations, over TCP.
//
//   auto links = live::Links::open(loop, options, {.message = …, .up = …, .down = …, .broken_promise = …},
//   log);
//   (*links)->send({2}, bytes);
//
// There is one connection for each pair of members; the one with the smaller id dials. Everything happens on
// the thread that runs the loop, and every function here is called from it. What is sent in one turn of the
// loop leaves together at its end. docs/decisions/0014-links.md has the reasons.
#pragma once
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "live/link_state.hpp"
#include "live/log.hpp"
#include "live/members.hpp"
#include "live/tls.hpp"

namespace conclave::live {

// Different for every start of a process; usually greater than before, which nobody relies on.
std::uint64_t fresh_incarnation();

struct LinkOptions {
  NodeId self = {};
  std::vector<Peer> members = {};  // all of them, this one too
  std::string group = {};
  std::string algorithm = {};
  std::string key = {};     // shared by all members; use 32 random bytes
  bool insecure = false;    // listens for anybody, on any address, without key and TLS
  std::uint64_t epoch = 0;  // of the configuration; where members change: which data this one has
  MemberList list = MemberList::fixed;
  std::uint64_t incarnation = 0;  // 0: a fresh one
  Tls tls = {};
  Address listen = {};  // where to listen; empty: where the list of members says
  std::map<NodeId, Address> via =
      {};  // peers that are dialled elsewhere than the list says, behind a forward

  using Duration = std::chrono::nanoseconds;
  Duration heartbeat = std::chrono::milliseconds(100);
  Duration down_after = std::chrono::seconds(1);
  Duration ack_delay = std::chrono::milliseconds(20);
  Duration handshake_time = std::chrono::seconds(2);  // from the first byte to the last
  Duration redial_least = std::chrono::milliseconds(20);
  Duration redial_most = std::chrono::seconds(1);
  Duration knock_after = std::chrono::seconds(2);  // the greater id dials too, where members change
  Duration rest = std::chrono::seconds(1);         // before who said what cannot be is let in again
  // Connections at a time of those who have not said yet who they are; half of them from one address at most.
  std::size_t half_open = 64;
  LinkLimits limits = {};
};

struct LinkStatus {
  enum class State { never_met, connected, disconnected, down };
  State state = State::never_met;
  std::uint64_t incarnation = 0;      // of the peer; 0 if it was never met
  std::uint64_t queued_messages = 0;  // unsent or unacknowledged
  std::size_t queued_bytes = 0;
  std::chrono::nanoseconds silent = {};  // for how long we have listened in vain
  std::uint64_t sent = 0;                // messages of the owner, and to the owner
  std::uint64_t delivered = 0;
  std::uint64_t connects = 0;    // finished handshakes
  std::uint64_t sent_again = 0;  // messages, after reconnects
  std::uint64_t duplicates = 0;  // that were dropped
  std::uint64_t writes = 0;      // how often the kernel was given something
  std::uint64_t broken_promises = 0;
  std::uint64_t refusals = 0;      // by either side
  std::uint64_t objections = 0;    // of the owner, to what the peer said
  std::uint64_t wrong_frames = 0;  // that were not sealed by the peer, or not as its next one
  std::string last_refusal = {};
};

// Of connections that belong to no peer (yet).
struct DoorStatus {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::size_t half_open = 0;
  std::size_t most_half_open = 0;  // at any time
};

class Links {
 public:
  // None of them may destroy the links; all may send. What bytes point to is valid during the call.
  struct Events {
    std::function<void(NodeId from, ByteView payload)> message;
    // First contact, a new incarnation, or back after `down`. A new incarnation has lost whatever the former
    // one was sent; broken_promise says so just before.
    std::function<void(NodeId peer, std::uint64_t incarnation)> up;
    std::function<void(NodeId peer)> down;
    // Messages to or from this peer are lost for good: its process or ours was replaced, or a queue was full.
    std::function<void(NodeId peer, const std::string& why)> broken_promise;
    // The connection broke: long before `down`, and perhaps for nothing. May be left out.
    std::function<void(NodeId peer)> disconnected;
    // A link that was congested is no more. May be left out.
    std::function<void(NodeId peer)> drained;
    // A peer that has proved to be one says that this member is none any more. May be left out.
    std::function<void(NodeId peer, const Refusal& why)> turned_away;
  };

  // Listens and begins to dial; says what is wrong with the options or the address.
  static std::expected<std::unique_ptr<Links>, std::string> open(boost::asio::io_context& loop,
                                                                 LinkOptions options, Events events, Log log);
  ~Links();

  // Queues a message, whether the peer is there or not. Beyond the bound of the queue the promise is broken.
  void send(NodeId to, ByteView payload);
  bool congested(NodeId to) const;
  // The peer said what cannot be: its connection ends, the peer hears why, and for a moment there is no
  // other. The promise for what it was sent stands. May be called for a message while that is delivered.
  void object(NodeId peer, const Refusal& why);

  // Where members come and go. A peer that is added again may have another address, or have said by now which
  // data it has (0: it has not). One that is removed is told so, and the link is gone with the next turn of
  // the loop; ids are not used twice.
  void add_peer(const Peer& peer, std::uint64_t data = 0);
  void remove_peer(NodeId peer);
  void change_list(NodeId greatest);  // the list is in the group's hands now; the greatest id ever given
  void welcome(bool unknown);         // while we may have missed who came
  bool knows(NodeId peer) const;
  std::vector<NodeId> peers() const;

  LinkStatus status(NodeId peer) const;
  DoorStatus door() const;
  std::uint64_t incarnation() const;

  class Loop;  // where the work is done

 private:
  explicit Links(std::shared_ptr<Loop> loop);
  std::shared_ptr<Loop> loop_;  // only ours: what waits in the io_context sees when it is gone
};

}  // namespace conclave::live
