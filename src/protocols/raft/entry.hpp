// What stands in the log, and what a snapshot puts in its place.
#pragma once
#include <optional>

#include "core/boxed.hpp"
#include "core/payload.hpp"
#include "protocols/log/spec.hpp"
#include "protocols/raft/log.hpp"
#include "protocols/raft/quorum.hpp"
#include "protocols/raft/sessions.hpp"

namespace conclave::raft {

using Command = conclave::log::Entry;

// With neither command nor configuration: the entry with which a leader begins its term.
struct Entry {
  Term term = {};
  std::optional<Command> command = {};
  Boxed<Configuration> configuration = {};  // who decides from here on
  bool operator==(const Entry&) const = default;
};

struct Done {  // all there is to answer: the command is in the log
  bool operator==(const Done&) const = default;
};

// Everything up to an entry, in the form that a state machine gave it, with what else a server has to know:
// who the members were, and which commands of whom were taken (sections 7 and 8).
struct Snapshot {
  Position last = {};
  Configuration configuration = {};
  Sessions<NodeId, Done> sessions = {};
  Payload state = {};
  bool operator==(const Snapshot&) const = default;
};

}  // namespace conclave::raft
