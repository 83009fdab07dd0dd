// The vote of one server: its term, whom it voted for in it, and to whom it may give its vote.
//
// Paper     D. Ongaro, J. Ousterhout. USENIX ATC, 2014, sections 5.1, 5.2 and 5.4.1.
#pragma once
#include <optional>

#include "core/node_id.hpp"
#include "protocols/raft/log.hpp"

namespace conclave::raft {

struct RequestVote {
  Term term = {};
  Position last = {};  // of the candidate's log
  bool operator==(const RequestVote&) const = default;
};

struct VoteReply {
  Term term = {};
  bool granted = false;
  Position last = {};  // of the log that the vote was given to
  bool operator==(const VoteReply&) const = default;
};

// A vote is a promise: both fields are on disk before anybody hears of them. Lose them in a crash, and the
// server votes twice in one term.
struct Ballot {
  Term term = {};
  std::optional<NodeId> voted_for = {};
  bool operator==(const Ballot&) const = default;

  // A later term makes every older vote and every older leader void. True if this was one.
  bool observe(Term theirs) {
    if (theirs <= term) return false;
    *this = {.term = theirs};
    return true;
  }

  // The voting rule, `ours` being the end of the voter's log. First come, first served, one vote per term,
  // and none for a candidate whose log lacks what ours may have committed.
  VoteReply answer(NodeId candidate, const RequestVote& request, Position ours) {
    observe(request.term);
    const bool current = request.term == term;
    const bool free = !voted_for || voted_for == candidate;
    const bool granted = current && free && request.last >= ours;
    if (!granted) return {term, false};
    voted_for = candidate;
    return {term, true, request.last};
  }
};

}  // namespace conclave::raft
