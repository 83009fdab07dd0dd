// What no server says that keeps Raft's rules. Whoever can reach a server's port, or runs another version
// there, may send anything; a server that believed it would break its own invariants, now or when it is
// started again. So what comes over a network is looked at before it is taken: the first thing that cannot be
// is named, and the message is not taken.
//
// It protects the process and its disk. It makes no Raft that bears liars: who says only what could be true
// is believed.
//
// What each handler would have suffered from:
//   every message      a term or an index so great that the next one overflows
//   Append             a second leader in our term; entries in the place of committed ones, or that our log
//                      refuses later, since terms never fall; members that make no majority, or more of them
//                      than there is memory for
//   AppendReply        agreement beyond the end of our log, or with a round that never was
//   InstallSnapshot    more bytes than announced, or than there is room for; an end that our log contradicts
//   SnapshotReply      more than the snapshot has
//   Forward            commands in somebody else's name, or in an order in which nobody proposes
//   ForwardWish        as the members in Append
//   CommitNotice       another entry in the place of a committed one
//   AskIndex           more questions than anybody has
#pragma once
#include <string_view>

#include "protocols/raft/raft.hpp"

namespace conclave::raft {

struct ObjectionLimits {
  std::uint64_t snapshot_bytes = std::uint64_t{8} << 30;
  std::uint32_t members = 1024;         // of each kind
  std::uint64_t entries = 1 << 17;      // in one message
  std::uint64_t questions = 1 << 16;    // that wait at a leader
  std::uint64_t greatest = 1ull << 62;  // term, index or serial
  // An election takes a term, and no server misses four thousand million of them.
  std::uint64_t terms_ahead = 1ull << 32;
};

// Whether `node` may take this message of `from`: empty, or a sentence that says why not.
class Objection {
 public:
  Objection(const Raft& node, NodeId from, const ObjectionLimits& limits = {})
      : node_(node), from_(from), limits_(limits) {}

  std::string_view to(const Raft::Message& message) const {
    return std::visit([&](const auto& which) { return to(which); }, message);
  }

  std::string_view to(const RequestVote& theirs) const { return to_asking(theirs.term, theirs.last); }
  std::string_view to(const Raft::PreVote& theirs) const { return to_asking(theirs.term, theirs.last); }
  std::string_view to(const VoteReply& theirs) const {
    if (const auto no = to_term(theirs.term); !no.empty()) return no;
    return to_position(theirs.last);
  }
  std::string_view to(const Raft::PreVoteReply& theirs) const { return to_term(theirs.term); }
  std::string_view to(const Raft::TimeoutNow& theirs) const { return to_term(theirs.term); }

  std::string_view to(const Raft::Append& theirs) const {
    if (const auto no = to_leader(theirs.term); !no.empty()) return no;
    if (const auto no = to_position(theirs.previous); !no.empty()) return no;
    if (theirs.committed.value > limits_.greatest) return too_great;
    if (const auto no = to_entries(theirs); !no.empty()) return no;
    return theirs.term < node_.ballot.term ? fine : to_their_place(theirs);
  }

  std::string_view to(const AppendReply& theirs) const {
    if (const auto no = to_term(theirs.term); !no.empty()) return no;
    if (theirs.hint.index.value > limits_.greatest || theirs.hint.term.value > limits_.greatest)
      return too_great;
    const auto* const leader = std::get_if<Raft::Leader>(&node_.role);
    if (!leader || theirs.term != node_.ballot.term) return fine;
    if (theirs.matched && *theirs.matched > node_.log.last_index())
      return "its log agrees with ours beyond the end of ours";
    if (theirs.round > leader->round) return "it answers a round that was never begun";
    return fine;
  }

  std::string_view to(const Raft::InstallSnapshot& theirs) const {
    if (const auto no = to_leader(theirs.term); !no.empty()) return no;
    const Snapshot& about = theirs.about;
    if (const auto no = to_position(about.last); !no.empty()) return no;
    if (about.last.index == Index{}) return "a snapshot of nothing";
    if (about.last.term > theirs.term) return "a snapshot ends in a term that has not begun";
    if (about.state.size() > 0) return "a snapshot's state comes in parts";
    if (has_too_many(about.configuration)) return too_many_members;
    for (const auto& [client, session] : about.sessions.last)
      if (session.serial > limits_.greatest) return too_great;
    if (theirs.size > limits_.snapshot_bytes) return "a snapshot larger than this server takes";
    if (theirs.offset > theirs.size || theirs.part.size() > theirs.size - theirs.offset)
      return "a part beyond the end of its snapshot";
    if (theirs.term < node_.ballot.term || about.last.index <= node_.committed) return fine;
    if (about.last.term < term_of_committed()) return "a snapshot in a term before that of committed entries";
    return fine;
  }

  std::string_view to(const Raft::SnapshotReply& theirs) const {
    if (const auto no = to_term(theirs.term); !no.empty()) return no;
    const bool about_ours = node_.snapshot && theirs.last == node_.snapshot->last.index;
    if (about_ours && theirs.offset > node_.snapshot->state.size())
      return "it has more of the snapshot than there is";
    return theirs.offset > limits_.snapshot_bytes ? too_great : fine;
  }

  std::string_view to(const Raft::Forward& theirs) const {
    if (theirs.commands.empty()) return "it forwards nothing";
    if (theirs.commands.size() > limits_.entries) return too_many;
    if (theirs.oldest == 0 || theirs.oldest > theirs.commands.front().serial)
      return "its oldest open command is later than one that it forwards";
    std::uint64_t before = 0;
    for (const Command& command : theirs.commands) {
      if (command.client != from_) return "it forwards the command of another client";
      if (command.serial > limits_.greatest) return too_great;
      if (command.serial <= before) return "its commands are not in their order";
      before = command.serial;
    }
    return fine;
  }

  std::string_view to(const Raft::ForwardWish& theirs) const {
    const auto* const members = std::get_if<conclave::log::Reconfigure>(&theirs.wish);
    if (!members) return fine;
    return to_members({.voters = members->voters, .learners = members->learners});
  }
  std::string_view to(const Raft::AskIndex&) const {
    const auto* const leader = std::get_if<Raft::Leader>(&node_.role);
    return leader && leader->reads.size() >= limits_.questions ? too_many : fine;
  }
  std::string_view to(const Raft::IndexReply& theirs) const {
    return theirs.index.value > limits_.greatest ? too_great : fine;
  }
  std::string_view to(const Raft::CommitNotice& theirs) const {
    if (const auto no = to_position(theirs.last); !no.empty()) return no;
    if (theirs.last.index == Index{}) return "nothing is committed from the beginning";
    if (theirs.last.index > node_.committed) return fine;
    const auto ours = node_.log.term_at(theirs.last.index);
    return ours && *ours != theirs.last.term ? other_entries : fine;
  }

 private:
  static constexpr std::string_view fine = {};
  static constexpr std::string_view too_great = "a number that no cluster ever counts to";
  static constexpr std::string_view too_many = "more at once than anybody has";
  static constexpr std::string_view too_many_members = "more members than a cluster has";
  static constexpr std::string_view other_entries = "other entries in the place of committed ones";

  std::string_view to_term(Term term) const {
    const std::uint64_t ours = node_.ballot.term.value;
    if (term.value > limits_.greatest) return too_great;
    if (term.value > ours && term.value - ours > limits_.terms_ahead)
      return "a term that no elections can have led to";
    return fine;
  }
  std::string_view to_position(Position place) const {
    if (place.index.value > limits_.greatest || place.term.value > limits_.greatest) return too_great;
    if ((place.index == Index{}) != (place.term == Term{})) return "an entry without a term";
    return fine;
  }
  std::string_view to_asking(Term term, Position last) const {
    if (const auto no = to_term(term); !no.empty()) return no;
    if (term == Term{}) return "a vote in the term before the first";
    if (const auto no = to_position(last); !no.empty()) return no;
    return last.term >= term ? "a log with entries of a term that has not begun" : fine;
  }
  // Of those who say that they lead.
  std::string_view to_leader(Term term) const {
    if (const auto no = to_term(term); !no.empty()) return no;
    if (term == Term{}) return "nobody leads before the first election";
    return node_.leads() && term == node_.ballot.term ? "another leader of the term that we lead" : fine;
  }

  std::string_view to_entries(const Raft::Append& theirs) const {
    if (theirs.entries.size() > limits_.entries) return too_many;
    Term before = theirs.previous.term;
    for (const Entry& entry : theirs.entries) {
      if (entry.term == Term{} || entry.term < before) return "terms that fall along the log";
      before = entry.term;
      if (entry.command && entry.command->serial > limits_.greatest) return too_great;
      if (!entry.configuration) continue;
      if (const auto no = to_members(*entry.configuration); !no.empty()) return no;
    }
    return before > theirs.term ? "entries of a term that has not begun" : fine;
  }
  // The leader of our term or of a later one has all that is committed here.
  std::string_view to_their_place(const Raft::Append& theirs) const {
    Index index = theirs.previous.index;
    for (const Entry& entry : theirs.entries) {
      index = index + 1;
      if (index > node_.committed) break;
      const auto ours = node_.log.term_at(index);
      if (ours && *ours != entry.term) return other_entries;
    }
    return fine;
  }
  Term term_of_committed() const { return node_.log.term_at(node_.committed).value_or(Term{}); }

  std::string_view to_members(const Configuration& members) const {
    if (members.voters.empty()) return "a cluster in which nobody votes";
    return has_too_many(members) ? too_many_members : fine;
  }
  // A few bytes can say that there are thousands of millions.
  bool has_too_many(const Configuration& members) const {
    return std::max({members.voters.size(), members.outgoing.size(), members.learners.size()}) >
           limits_.members;
  }

  const Raft& node_;
  NodeId from_;
  ObjectionLimits limits_;
};

inline std::string_view objection(const Raft& node, NodeId from, const Raft::Message& message,
                                  const ObjectionLimits& limits = {}) {
  return Objection(node, from, limits).to(message);
}

}  // namespace conclave::raft
