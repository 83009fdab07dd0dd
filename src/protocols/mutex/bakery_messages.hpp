// Lamport's bakery, by messages.
// Every process serves its own two variables, `choosing` and `number`, and the others read them by asking.
// The doorway draws a number above all others'; then one waits for each peer until it is not choosing,
// and until it has no number or a greater one.
//
// Paper     L. Lamport. A New Solution of Dijkstra's Concurrent Programming Problem. CACM 17(8), 1974, with
//           the reads of shared variables turned into questions and answers.
// Assumes   reliable links, no failures; order does not matter: questions are numbered.
// Costs     6(N-1) messages per entry; 6 hops to enter.
// Departs   a peer keeps a question back until the answer is the awaited one, where the shared-memory form
//           reads again and again; a question about the number therefore carries the asker's ticket.
// Keeps     first come, first served: who is through the doorway before we come to it enters before us.
// Fence     answers carry the highest one known; the entrant takes the maximum plus one.
#pragma once
#include <algorithm>

#include "core/protocol.hpp"
#include "protocols/mutex/spec.hpp"

namespace conclave::mutex {

struct BakeryMessages {
  struct ReadNum {
    std::uint64_t seq = 0;
    std::optional<Stamp> ticket = {};  // answer only when it is this ticket's turn before yours
    bool operator==(const ReadNum&) const = default;
  };
  struct ReadChoosing {  // answer only when you are not choosing
    std::uint64_t seq = 0;
    bool operator==(const ReadChoosing&) const = default;
  };
  struct Value {
    std::uint64_t seq = 0;
    std::uint64_t value = 0;
    Fence highest = {};
    bool operator==(const Value&) const = default;
  };
  struct Question {
    NodeId from = {};
    std::uint64_t seq = 0;
    bool operator==(const Question&) const = default;
  };

  using Spec = mutex::Spec;
  using Message = std::variant<ReadNum, ReadChoosing, Value>;
  using Timer = NoTimer;
  using Out = Effects<BakeryMessages>;
  using Setup = NoSetup;
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};

  NodeId self = {};
  NodeSet peers = {};
  // The variables we serve, and the questions we keep back.
  bool choosing = false;
  std::uint64_t number = 0;
  std::vector<Question> until_chosen = {};
  std::vector<Question> until_left = {};
  // The exchange under way: with each peer we are at one of three questions, or done.
  std::uint64_t seq = 0;  // of this entry
  NodeSet unread = {};    // doorway: number not read yet
  NodeSet choosing_peers = {};
  NodeSet ahead = {};
  std::uint64_t greatest = 0;  // number read in the doorway
  Fence highest = {};

  bool operator==(const BakeryMessages&) const = default;
  bool inside() const { return number > 0 && !choosing && choosing_peers.empty() && ahead.empty(); }
  Stamp ticket() const { return {number, self}; }
  NodeSet waits_for() const {
    NodeSet silent = unread;
    for (NodeId peer : choosing_peers) silent.insert(peer);
    for (NodeId peer : ahead) silent.insert(peer);
    return silent;
  }

  static BakeryMessages start(NodeId self, const NodeSet& all, const Setup&, Out&) {
    return {.self = self, .peers = all.without(self)};
  }

  void on_command(Out& out, const Acquire&) {
    ensure(!choosing && number == 0, "a node asks for one entry at a time");
    choosing = true;
    ++seq;
    greatest = 0;
    unread = peers;
    out.broadcast(peers, ReadNum{seq, {}});
    if (unread.empty()) leave_doorway(out);
  }

  void on_command(Out& out, const Release&) {
    ensure(inside(), "only the holder releases");
    number = 0;
    answer_all(out, until_left);
  }

  void on_message(Out& out, NodeId from, const ReadNum& theirs) {
    const bool we_go_first = theirs.ticket && number > 0 && ticket() < *theirs.ticket;
    if (we_go_first) {
      until_left.push_back({from, theirs.seq});
    } else {
      answer(out, {from, theirs.seq});
    }
  }

  void on_message(Out& out, NodeId from, const ReadChoosing& theirs) {
    if (choosing) {
      until_chosen.push_back({from, theirs.seq});
    } else {
      answer(out, {from, theirs.seq});
    }
  }

  void on_message(Out& out, NodeId from, const Value& theirs) {
    if (theirs.seq != seq) return out.note("answer to an older question");
    highest = std::max(highest, theirs.highest);
    if (unread.contains(from)) {
      unread.erase(from);
      greatest = std::max(greatest, theirs.value);
      if (unread.empty()) leave_doorway(out);
    } else if (choosing_peers.contains(from)) {
      // Its number may be read only now: before, it may have been drawing one below ours.
      choosing_peers.erase(from);
      out.send(from, ReadNum{seq, ticket()});
    } else {
      ahead.erase(from);
      if (inside()) enter(out);
    }
  }

  void leave_doorway(Out& out) {
    number = greatest + 1;
    choosing = false;
    out.announce(Queued{});
    answer_all(out, until_chosen);
    choosing_peers = peers;
    ahead = peers;
    out.broadcast(peers, ReadChoosing{seq});
    if (inside()) enter(out);
  }

  void answer(Out& out, const Question& question) {
    out.send(question.from, Value{question.seq, number, highest});
  }

  void answer_all(Out& out, std::vector<Question>& questions) {
    for (const Question& question : questions) answer(out, question);
    questions.clear();
  }

  void enter(Out& out) {
    ++highest.value;
    out.announce(Granted{highest});
  }
};
static_assert(Protocol<BakeryMessages>);

}  // namespace conclave::mutex
