// What a leader knows of another server's log, and how much it sends before it hears again.
//
// Probing: it does not know where the two logs agree, and asks with one message at a time. Otherwise messages
// follow each other without waiting for answers, up to a bound; beyond it entries gather and go together with
// the next answer, so a busy leader sends few large messages and an idle one sends at once. A server that
// needs entries which the leader no longer has gets the snapshot, a part after each answer.
#pragma once
#include <cstdint>
#include <optional>

#include "protocols/raft/log.hpp"

namespace conclave::raft {

struct Progress {
  Index next = {};   // the first entry not sent
  Index match = {};  // up to where the logs are known to agree
  bool probing = true;
  std::uint64_t unanswered = 0;              // messages with entries
  std::optional<std::uint64_t> offset = {};  // of the snapshot: so much of it has arrived
  std::uint64_t round = 0;                   // the last one answered
  bool operator==(const Progress&) const = default;

  bool may_send(std::uint64_t most_unanswered) const {
    return !offset && unanswered < (probing ? 1 : most_unanswered);
  }
  // What is sent counts as received: if it was not, the next message does not match and is refused.
  void sent(std::size_t entries) {
    next = next + entries;
    ++unanswered;
  }
  void matched(Index index) {
    match = std::max(match, index);
    next = std::max(next, match + 1);
    probing = false;
    unanswered = unanswered > 0 && match + 1 < next ? unanswered - 1 : 0;
    offset.reset();
  }
  // The logs may agree up to `hint`. False if that is no news.
  bool refused(Index hint) {
    const Index lower = std::max(match, hint) + 1;
    if (lower >= next) return false;
    next = lower;
    probing = true;
    unanswered = 0;
    return true;
  }
};

}  // namespace conclave::raft
