// The members' book: who is a member of a Raft cluster, where each is reached, and what shall become of it.
//
// It is a state machine beside the one that clients use: changes of it stand in the same log, every server
// applies them in the same order, and it is in every snapshot. It says what is wished: who shall vote, who
// shall leave, who shall take whose place. Who does vote is Raft's configuration; the leader brings that in
// line with the book, one change at a time, and the book learns of every change that is committed.
//
// Ids are given in ascending order and never twice: a server that was removed and returned with an empty disk
// under its old id would have forgotten its votes.
#pragma once
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/node_set.hpp"

namespace conclave::cluster {

struct BookMember {
  std::string host = {};  // for members
  std::uint16_t port = 0;
  std::string name = {};                  // empty: it has never been there
  std::vector<std::string> clients = {};  // URLs for clients
  bool votes = false;                     // or shall, once it has caught up
  bool leaves = false;
  NodeId replaces = {};    // which leaves when this one votes; 0: nobody
  std::uint64_t data = 0;  // id of its directory; 0: it has not said
  bool operator==(const BookMember&) const = default;
};

// With whom the cluster begins. The first one counts.
struct Found {
  std::map<NodeId, BookMember> members = {};
  bool operator==(const Found&) const = default;
};
struct Enter {
  std::string host = {};
  std::uint16_t port = 0;
  std::vector<std::string> clients = {};
  bool votes = false;
  NodeId replaces = {};
  bool operator==(const Enter&) const = default;
};
struct Leave {
  NodeId id = {};
  bool operator==(const Leave&) const = default;
};
struct Move {  // to another address
  NodeId id = {};
  std::string host = {};
  std::uint16_t port = 0;
  bool operator==(const Move&) const = default;
};
struct Promote {  // or take that back
  NodeId id = {};
  bool votes = true;
  bool operator==(const Promote&) const = default;
};
// What a member says of itself when it is there.
struct Introduce {
  NodeId id = {};
  std::string name = {};
  std::vector<std::string> clients = {};
  std::uint64_t data = 0;
  bool operator==(const Introduce&) const = default;
};

using BookChange = std::variant<Found, Enter, Leave, Move, Promote, Introduce>;

enum class BookError : std::uint8_t {
  not_founded,     // too early
  no_such_member,  // or it was removed
  address_taken,
  not_a_learner,  // it votes already
  too_many,
  no_voter_left,
  is_replaced,  // somebody else is about to take its place
  malformed,    // an address or a name that cannot be one
};
std::string_view describe(BookError error);

struct Book {
  // Which restore from a saved state the cluster began with; 0: it began with nothing. Members that did not
  // begin together are not members of one cluster, whatever they are called.
  std::uint64_t lineage = 0;
  bool founded = false;
  NodeId greatest = {};  // id that was ever given
  std::map<NodeId, BookMember> members = {};
  // The last configuration that was committed.
  NodeSet voters = {};
  NodeSet learners = {};
  bool operator==(const Book&) const = default;

  bool contains(NodeId id) const { return members.contains(id); }
  const BookMember* find(NodeId id) const;

  // The id that it is about; of Enter, the one that was given.
  std::expected<NodeId, BookError> apply(const BookChange& change);
  // This configuration is committed, and no other is under way: who left is forgotten.
  void settle(const NodeSet& now_voting, const NodeSet& now_learning);

  struct Wish {
    NodeSet voters = {};
    NodeSet learners = {};
    bool operator==(const Wish&) const = default;
  };
  // The configuration that the leader should ask for. Nobody new votes before it has caught up: a vote that
  // nobody casts is one that the others lack.
  Wish wish(const NodeSet& voting, const std::function<bool(NodeId)>& has_caught_up) const;

 private:
  std::expected<NodeId, BookError> run(const Found& found);
  std::expected<NodeId, BookError> run(const Enter& enter);
  std::expected<NodeId, BookError> run(const Leave& leave);
  std::expected<NodeId, BookError> run(const Move& move);
  std::expected<NodeId, BookError> run(const Promote& promote);
  std::expected<NodeId, BookError> run(const Introduce& introduce);
  bool is_taken(const std::string& host, std::uint16_t port, NodeId but) const;
  bool is_to_be_replaced(NodeId id) const;
  void forget_those_who_left();
};

inline constexpr std::size_t most_members = 64;
inline constexpr std::size_t most_urls = 8;
inline constexpr std::size_t most_url = 300;

}  // namespace conclave::cluster
