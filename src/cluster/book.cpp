#include "cluster/book.hpp"

#include <algorithm>

namespace conclave::cluster {
namespace {

using Error = std::unexpected<BookError>;

bool is_address(const std::string& host, std::uint16_t port) {
  return !host.empty() && host.size() <= 255 && port != 0;
}
bool are_urls(const std::vector<std::string>& urls) {
  return urls.size() <= most_urls &&
         std::ranges::all_of(urls, [](const std::string& url) { return url.size() <= most_url; });
}

}  // namespace

std::string_view describe(BookError error) {
  switch (error) {
    case BookError::not_founded: return "the cluster is just being founded";
    case BookError::no_such_member: return "no such member";
    case BookError::address_taken: return "another member has this address";
    case BookError::not_a_learner: return "the member votes already";
    case BookError::too_many: return "too many members";
    case BookError::no_voter_left: return "nobody would be left to vote";
    case BookError::is_replaced: return "somebody else is about to take the member's place";
    case BookError::malformed: return "this is no address of a member";
  }
  return "unknown error";
}

const BookMember* Book::find(NodeId id) const {
  const auto found = members.find(id);
  return found == members.end() ? nullptr : &found->second;
}

std::expected<NodeId, BookError> Book::apply(const BookChange& change) {
  if (!founded && !std::holds_alternative<Found>(change)) return Error(BookError::not_founded);
  return std::visit([this](const auto& one) { return run(one); }, change);
}

std::expected<NodeId, BookError> Book::run(const Found& found) {
  if (founded) return greatest;
  if (found.members.empty() || found.members.size() > most_members) return Error(BookError::too_many);
  founded = true;
  members = found.members;
  voters = {};
  for (auto& [id, member] : members) {
    member.votes = true;
    voters.insert(id);
    greatest = std::max(greatest, id);
  }
  return greatest;
}

std::expected<NodeId, BookError> Book::run(const Enter& enter) {
  if (!is_address(enter.host, enter.port) || !are_urls(enter.clients)) return Error(BookError::malformed);
  if (members.size() >= most_members) return Error(BookError::too_many);
  const bool replaces = enter.replaces.value != 0;
  if (replaces) {
    const BookMember* const old = find(enter.replaces);
    if (!old) return Error(BookError::no_such_member);
    if (old->leaves || is_to_be_replaced(enter.replaces)) return Error(BookError::is_replaced);
  }
  if (is_taken(enter.host, enter.port, enter.replaces)) return Error(BookError::address_taken);
  greatest = {greatest.value + 1};
  members[greatest] = {.host = enter.host,
                       .port = enter.port,
                       .clients = enter.clients,
                       .votes = enter.votes || replaces,
                       .replaces = enter.replaces};
  return greatest;
}

// Whoever waits to take its place just enters.
std::expected<NodeId, BookError> Book::run(const Leave& leave) {
  const auto found = members.find(leave.id);
  if (found == members.end() || found->second.leaves) return Error(BookError::no_such_member);
  const bool others_vote = std::ranges::any_of(members, [&](const auto& one) {
    return one.first != leave.id && one.second.votes && !one.second.leaves;
  });
  if (!others_vote) return Error(BookError::no_voter_left);
  found->second.leaves = true;
  for (auto& [id, member] : members)
    if (member.replaces == leave.id) member.replaces = {};
  forget_those_who_left();
  return leave.id;
}

std::expected<NodeId, BookError> Book::run(const Move& move) {
  const auto found = members.find(move.id);
  if (found == members.end() || found->second.leaves) return Error(BookError::no_such_member);
  if (!is_address(move.host, move.port)) return Error(BookError::malformed);
  if (is_taken(move.host, move.port, move.id)) return Error(BookError::address_taken);
  found->second.host = move.host;
  found->second.port = move.port;
  return move.id;
}

std::expected<NodeId, BookError> Book::run(const Promote& promote) {
  const auto found = members.find(promote.id);
  if (found == members.end() || found->second.leaves) return Error(BookError::no_such_member);
  if (voters.contains(promote.id)) return Error(BookError::not_a_learner);
  found->second.votes = promote.votes;
  return promote.id;
}

std::expected<NodeId, BookError> Book::run(const Introduce& introduce) {
  const auto found = members.find(introduce.id);
  if (found == members.end()) return Error(BookError::no_such_member);
  if (introduce.name.size() > most_url || !are_urls(introduce.clients)) return Error(BookError::malformed);
  BookMember& member = found->second;
  member.name = introduce.name;
  member.clients = introduce.clients;
  if (member.data == 0) member.data = introduce.data;
  return introduce.id;
}

bool Book::is_taken(const std::string& host, std::uint16_t port, NodeId but) const {
  return std::ranges::any_of(members, [&](const auto& one) {
    return one.first != but && !one.second.leaves && one.second.host == host && one.second.port == port;
  });
}

bool Book::is_to_be_replaced(NodeId id) const {
  return std::ranges::any_of(members, [&](const auto& one) { return one.second.replaces == id; });
}

void Book::settle(const NodeSet& now_voting, const NodeSet& now_learning) {
  voters = now_voting;
  learners = now_learning;
  for (auto& [id, member] : members) {
    if (member.replaces.value == 0 || !voters.contains(id)) continue;
    if (const auto old = members.find(member.replaces); old != members.end()) old->second.leaves = true;
    member.replaces = {};
  }
  forget_those_who_left();
}

void Book::forget_those_who_left() {
  std::erase_if(members, [this](const auto& one) {
    return one.second.leaves && !voters.contains(one.first) && !learners.contains(one.first);
  });
}

Book::Wish Book::wish(const NodeSet& voting, const std::function<bool(NodeId)>& has_caught_up) const {
  Wish wish;
  NodeSet replaced;
  for (const auto& [id, member] : members) {
    if (member.leaves) continue;
    const bool votes = member.votes && (voting.contains(id) || has_caught_up(id));
    if (votes && member.replaces.value != 0) replaced.insert(member.replaces);
    (votes ? wish.voters : wish.learners).insert(id);
  }
  for (NodeId old : replaced) {
    wish.voters.erase(old);
    wish.learners.erase(old);
  }
  return wish;
}

}  // namespace conclave::cluster
