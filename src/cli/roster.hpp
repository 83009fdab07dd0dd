// The members of a cluster as verbs see them that change it, whether it is conclave's or etcd's: who votes,
// who is up, who leads, and whether those who are up could go on after a change.
#pragma once
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/servers.hpp"

namespace conclave::cli {

struct RosterMember {
  std::uint64_t id = 0;
  std::string name = {};
  std::string address = {};  // for members, host:port
  std::vector<std::string> clients = {};
  bool votes = false;
  bool up = false;
  // Only conclave says these.
  bool shall_vote = false;
  bool leaves = false;
  std::uint64_t replaces = 0;
  std::optional<std::uint64_t> behind = {};  // entries of the log
  bool gets_snapshot = false;
};

struct Roster {
  std::string endpoint = {};  // of the leader if it answers, else of somebody who does
  bool is_conclave = false;
  std::string group = {};    // of conclave's
  std::uint64_t leader = 0;  // nobody
  std::vector<RosterMember> members = {};

  const RosterMember* find(std::uint64_t id) const;
  std::set<std::uint64_t> voters() const;
  std::set<std::uint64_t> up() const;
};

// Asks the endpoints for the members, and then each member.
std::expected<Roster, std::string> look_at_members(const ServerFlags& servers);
// The same flags, with all members that clients can reach: the one we asked so far may be the one that goes.
ServerFlags with_all_members(const ServerFlags& servers, const Roster& roster);

// Whether a set of voters can decide, and how many may fail before it cannot.
struct Standing {
  std::set<std::uint64_t> voters = {};
  std::set<std::uint64_t> up = {};  // of the voters

  std::size_t quorum() const { return voters.size() / 2 + 1; }
  std::size_t tolerates() const { return voters.empty() ? 0 : voters.size() - quorum(); }
  bool decides() const { return !voters.empty() && up.size() >= quorum(); }
};
Standing standing_of(const std::set<std::uint64_t>& voters, const std::set<std::uint64_t>& up);

}  // namespace conclave::cli
