// How a follower takes entries, and when the leader may call an entry committed.
//
// Paper     D. Ongaro, J. Ousterhout. USENIX ATC, 2014, sections 5.3 and 5.4.2.
// Adds      to the reply: up to where the logs agree, because replies may be late, repeated or overtaken and
//           the leader must not conclude from its own log what they refer to; and, on a refusal, where the
//           logs may agree.
#pragma once
#include <optional>
#include <vector>

#include "protocols/raft/log.hpp"
#include "protocols/raft/quorum.hpp"
#include "protocols/raft/voting.hpp"

namespace conclave::raft {

template <HasTerm E>
struct AppendEntries {
  Term term = {};
  Position previous = {};  // of the entry before those sent
  std::vector<E> entries = {};
  Index committed = {};
  std::uint64_t round = 0;  // the last that the leader began, to learn whether it still leads
  bool operator==(const AppendEntries&) const = default;
};

struct AppendReply {
  Term term = {};
  std::optional<Index> matched = {};  // up to where the logs agree for certain; none: refused
  Position hint = {};                 // on a refusal for mismatch: the logs do not agree after this
  std::uint64_t round = 0;            // of the message that is answered
  bool operator==(const AppendReply&) const = default;
};

// The follower's side. `committed` grows no further than what this very message has verified: beyond that the
// log may hold what another leader will remove.
template <HasTerm E>
AppendReply take_entries(Ballot& ballot, Log<E>& log, Index& committed, const AppendEntries<E>& message) {
  ballot.observe(message.term);
  if (message.term < ballot.term) return {.term = ballot.term};
  const auto matched = log.merge(message.previous, message.entries);
  if (!matched) return {.term = ballot.term, .hint = log.latest_within(message.previous)};
  committed = std::max(committed, std::min(message.committed, *matched));
  return {.term = ballot.term, .matched = matched};
}

// The leader's side: how far the log is committed, `match` including the leader itself. An entry of an
// earlier term may stand on a majority and yet be overwritten (figure 8 of the paper), so replicas are
// counted only for entries of the leader's own term; the earlier ones are committed together with the first
// of those.
template <HasTerm E>
Index advance_commit(Index committed, Term term, const Log<E>& log, const Configuration& configuration,
                     const TellsIndex auto& match) {
  const Index held = configuration.held_by_quorum(match);
  return held > committed && log.term_at(held) == term ? held : committed;
}

}  // namespace conclave::raft
