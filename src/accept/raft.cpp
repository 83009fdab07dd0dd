#include <fmt/format.h>

#include <charconv>
#include <map>
#include <span>

#include "accept/families.hpp"
#include "protocols/raft/quorum.hpp"
#include "protocols/raft/replication.hpp"
#include "protocols/raft/sessions.hpp"
#include "protocols/raft/voting.hpp"

namespace conclave::accept {
namespace {

using namespace raft;

// In vectors a log is the list of its entries' terms.
struct Entry {
  Term term = {};
  bool operator==(const Entry&) const = default;
};

std::uint64_t number(const Json& value) {
  if (!value.is_number_unsigned()) throw CannotPlay(fmt::format("{} is no number from 0", value.dump()));
  return value.get<std::uint64_t>();
}

std::uint64_t number(const Json& object, const char* key) { return number(need(object, key)); }

std::uint64_t number_or_zero(const Json& object, const char* key) {
  return object.contains(key) ? number(object[key]) : 0;
}

NodeId node(const Json& value) {
  const std::uint64_t id = number(value);
  if (id > UINT32_MAX) throw CannotPlay(fmt::format("{} is no server", id));
  return {static_cast<std::uint32_t>(id)};
}

std::vector<Entry> entries_of(const Json& terms) {
  std::vector<Entry> entries;
  for (const Json& term : terms) entries.push_back({{number(term)}});
  return entries;
}

Log<Entry> log_of(const Json& terms) {
  const auto entries = entries_of(terms);
  return {.entries = {entries.begin(), entries.end()}};
}

Json terms_of(const Log<Entry>& log) {
  Json terms = Json::array();
  for (const Entry& entry : log.entries) terms.push_back(entry.term.value);
  return terms;
}

Ballot ballot_of(const Json& server) {
  Ballot ballot = {.term = {number_or_zero(server, "currentTerm")}};
  if (server.contains("votedFor") && !server["votedFor"].is_null())
    ballot.voted_for = node(server["votedFor"]);
  return ballot;
}

Json voted_for(const Ballot& ballot) { return ballot.voted_for ? Json(ballot.voted_for->value) : Json(); }

Json majorities(const Vector& vector) {
  Json table = Json::array();
  for (const Json& n : need(vector.inputs, "n")) {
    const auto voters = node(n).value;
    if (voters == 0) throw CannotPlay("no servers, no majority");
    table.push_back(
        {{"n", voters}, {"majority", majority(voters)}, {"tolerated_crashes", tolerated_crashes(voters)}});
  }
  return {{"table", table}};
}

Json request_vote(const Json& test) {
  const Json& voter = need(test, "voter");
  const Json& args = need(test, "args");
  Ballot ballot = ballot_of(voter);
  const RequestVote request = {.term = {number(args, "term")},
                               .last = {{number(args, "lastLogTerm")}, {number(args, "lastLogIndex")}}};
  const Position ours = log_of(voter.value("log", Json::array())).last();
  const VoteReply reply = ballot.answer(node(need(args, "candidateId")), request, ours);
  return {{"term", reply.term.value}, {"voteGranted", reply.granted}, {"votedFor", voted_for(ballot)}};
}

Json append_entries(const Json& test) {
  const Json& follower = need(test, "follower");
  const Json& args = need(test, "args");
  Ballot ballot = ballot_of(follower);
  Log<Entry> log = log_of(follower.value("log", Json::array()));
  Index committed = {number_or_zero(follower, "commitIndex")};
  const AppendEntries<Entry> message = {
      .term = {number(args, "term")},
      .previous = {{number(args, "prevLogTerm")}, {number(args, "prevLogIndex")}},
      .entries = entries_of(args.value("entries", Json::array())),
      .committed = {number_or_zero(args, "leaderCommit")}};
  const AppendReply reply = take_entries(ballot, log, committed, message);
  return {{"term", reply.term.value},
          {"success", reply.matched.has_value()},
          {"log", terms_of(log)},
          {"commitIndex", committed.value},
          {"votedFor", voted_for(ballot)}};
}

Json cases(const Vector& vector) {
  Json results = Json::array();
  for (const Json& test : vector.inputs["cases"]) {
    if (test.contains("voter")) {
      results.push_back(request_vote(test));
    } else if (test.contains("follower")) {
      results.push_back(append_entries(test));
    } else {
      throw CannotPlay(fmt::format("neither a voter nor a follower in {}", test.dump()));
    }
  }
  return {{"results", results}};
}

// A candidate whose log ends at `last` asks each of the others, none of whom has voted in its term.
Json election(const Vector& vector) {
  const Json& end = need(vector.config, "candidate_last");
  const Position last = {{number(end, "term")}, {number(end, "index")}};
  const Json& voters = need(vector.inputs, "voter_logs");
  std::map<std::string, Log<Entry>> logs;
  for (const auto& [name, terms] : voters.items()) logs[name] = log_of(terms);
  Term term = last.term;
  for (const auto& [name, log] : logs) term = std::max(term, log.last().term);
  const std::uint64_t servers = vector.config.contains("n") ? number(vector.config["n"]) : voters.size() + 1;
  if (servers <= voters.size() || servers > UINT32_MAX)
    throw CannotPlay(fmt::format("{} voters and a candidate are not {} servers", voters.size(), servers));

  const NodeId candidate = {1};
  NodeSet votes = {candidate};
  Json grants = Json::object();
  NodeId voter = candidate;
  for (const auto& [name, log] : logs) {
    ++voter.value;
    Ballot ballot = {.term = term};
    const bool granted = ballot.answer(candidate, {.term = term, .last = last}, log.last()).granted;
    if (granted) votes.insert(voter);
    grants[name] = granted;
  }
  const Configuration all = {.voters = NodeSet::range({1}, static_cast<std::uint32_t>(servers))};
  return {{"grants", grants}, {"votes_including_own", votes.size()}, {"elected", all.is_quorum(votes)}};
}

// A state of the cluster, as in figure 8 of the paper: who has which log, and who leads.
struct Cluster {
  std::vector<std::string> names;  // the server with id i is names[i - 1]
  std::vector<Log<Entry>> logs;
  Configuration all;
  NodeId leader = {};
  Term term = {};
  Index committed = {};

  NodeId id(std::string_view name) const {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw CannotPlay(fmt::format("there is no server '{}'", name));
    return {static_cast<std::uint32_t>(found - names.begin()) + 1};
  }
  const Log<Entry>& log(NodeId server) const { return logs[server.value - 1]; }

  // How far each log agrees with that of the leader.
  std::map<NodeId, Index> match() const {
    std::map<NodeId, Index> match;
    for (NodeId server : all.voters) {
      const auto& ours = log(leader).entries;
      const auto& theirs = log(server).entries;
      const auto differ = std::ranges::mismatch(ours, theirs).in1;
      match[server] = {static_cast<std::uint64_t>(differ - ours.begin())};
    }
    return match;
  }

  // Who votes for the candidate in that term, if those in `crashed` are down.
  NodeSet voters_for(NodeId candidate, Term in, const NodeSet& crashed) const {
    NodeSet voters;
    for (NodeId server : all.voters) {
      if (crashed.contains(server)) continue;
      Ballot ballot = {.term = log(server).last().term};
      if (ballot.answer(candidate, {.term = in, .last = log(candidate).last()}, log(server).last()).granted)
        voters.insert(server);
    }
    return voters;
  }
};

Cluster cluster_of(const Json& state) {
  Cluster cluster;
  for (const auto& [name, value] : state.items()) {
    if (!value.is_array()) continue;
    cluster.names.push_back(name);
    cluster.logs.push_back(log_of(value));
  }
  cluster.all = {.voters = NodeSet::range({1}, static_cast<std::uint32_t>(cluster.names.size()))};
  cluster.leader = cluster.id(need(state, "leader").get<std::string>());
  cluster.term = {number(state, "term")};
  if (state.contains("commitIndex")) {
    cluster.committed = {number(state["commitIndex"])};
  } else {
    // What every server has can be lost no more; whoever led before may have committed it.
    const auto match = cluster.match();
    cluster.committed = std::ranges::min_element(match, {}, &std::pair<const NodeId, Index>::second)->second;
  }
  return cluster;
}

// The parts of `key` around and between the marks, if it has exactly that form: "voters_for_S5" with the mark
// "voters_for_" is "" and "S5".
std::optional<std::vector<std::string>> parts(std::string_view key, std::span<const std::string_view> marks) {
  std::vector<std::string> found;
  for (const std::string_view mark : marks) {
    const std::size_t at = key.find(mark);
    if (at == std::string_view::npos) return std::nullopt;
    found.emplace_back(key.substr(0, at));
    key.remove_prefix(at + mark.size());
  }
  found.emplace_back(key);
  return found;
}

std::uint64_t parse_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw CannotPlay(fmt::format("'{}' is no number", text));
  return value;
}

// What is asked of a state is in the names of what is expected: index2_on_majority, voters_for_S5, …
class Question {
 public:
  Question(const Cluster& cluster, const Json& expected) : cluster_(cluster), next_{cluster.term.value + 1} {
    for (const auto& [key, value] : expected.items()) look(key);
  }

  Json answer(const std::string& key) const {
    const auto form = [&](std::initializer_list<std::string_view> marks) { return parts(key, marks); };
    const auto match = cluster_.match();
    const Index held = cluster_.all.held_by_quorum(Matches{match});
    if (key == "naive_commit_index") return std::max(held, cluster_.committed).value;
    if (key == "raft_commit_index")
      return advance_commit(cluster_.committed, cluster_.term, cluster_.log(cluster_.leader), cluster_.all,
                            Matches{match})
          .value;
    if (const auto found = form({"index", "_on_majority"})) return held.value >= parse_number(found->at(1));
    if (const auto found = form({"index", "_overwritten_with_term"})) {
      if (!candidate_) throw CannotPlay(fmt::format("nobody stands for election: {}", key));
      if (!wins(*candidate_)) return nullptr;
      const Index index = {parse_number(found->at(1))};
      const auto theirs = cluster_.log(*candidate_).term_at(index);
      return theirs && theirs != cluster_.log(cluster_.leader).term_at(index) ? Json(theirs->value) : Json();
    }
    if (const auto found = form({"voters_for_"})) {
      Json names = Json::array();
      for (NodeId voter : voters(cluster_.id(found->at(1)))) names.push_back(cluster_.names[voter.value - 1]);
      return names;
    }
    if (const auto found = form({"then_", "_crashes_", "_can_win_term_"}))
      return wins(cluster_.id(found->at(2)));
    if (const auto found = form({"_can_win"})) return wins(cluster_.id(found->at(0)));
    throw CannotPlay(fmt::format("do not know what '{}' asks", key));
  }

 private:
  void look(const std::string& key) {
    const auto form = [&](std::initializer_list<std::string_view> marks) { return parts(key, marks); };
    if (const auto crash = form({"then_", "_crashes_", "_can_win_term_"})) {
      crashed_.insert(cluster_.id(crash->at(1)));
      candidate_ = cluster_.id(crash->at(2));
      next_ = {parse_number(crash->at(3))};
    } else if (const auto named = form({"voters_for_"})) {
      candidate_ = cluster_.id(named->at(1));
    } else if (const auto winner = form({"_can_win"})) {
      candidate_ = cluster_.id(winner->at(0));
    }
  }
  NodeSet voters(NodeId candidate) const { return cluster_.voters_for(candidate, next_, crashed_); }
  bool wins(NodeId candidate) const { return cluster_.all.is_quorum(voters(candidate)); }

  const Cluster& cluster_;
  NodeSet crashed_;
  std::optional<NodeId> candidate_;
  Term next_;
};

Json commit_rule(const Vector& vector) {
  Json got = Json::object();
  for (const auto& [name, state] : vector.inputs["states"].items()) {
    const Cluster cluster = cluster_of(state);
    const Json expected = vector.expected.value(name, Json::object());
    const Question question(cluster, expected);
    got[name] = Json::object();
    for (const auto& [key, value] : expected.items()) got[name][key] = question.answer(key);
  }
  return got;
}

// A counter; "add x" returns its new value, "get" its value.
struct Counter {
  std::int64_t value = 0;
  std::int64_t run(const std::string& command) {
    if (command == "get") return value;
    std::int64_t amount = 0;
    const std::string_view digits =
        std::string_view(command).substr(std::min<std::size_t>(4, command.size()));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount);
    if (!command.starts_with("add ") || error != std::errc{} || end != digits.data() + digits.size())
      throw CannotPlay(fmt::format("a counter does not know '{}'", command));
    return value += amount;
  }
};

Json exactly_once(const Vector& vector) {
  Counter counter;
  Sessions<std::string, std::int64_t> sessions;
  Json replies = Json::array();
  for (const Json& request : vector.inputs["applied"]) {
    const auto reply = sessions.apply(need(request, "client").dump(), number(request, "serial"),
                                      [&] { return counter.run(need(request, "cmd").get<std::string>()); });
    if (const auto* answer = std::get_if<std::int64_t>(&reply)) {
      replies.push_back(*answer);
    } else {
      replies.push_back("stale: serial below last, ignored");
    }
  }
  return {{"replies", replies}, {"final_value", counter.value}};
}

}  // namespace

std::optional<Result> run_raft(const Vector& vector) {
  if (vector.algorithm != "raft") return std::nullopt;
  return answered(vector, [&]() -> Json {
    if (vector.variant != "canonical")
      throw CannotPlay(fmt::format("no variant '{}' of raft", vector.variant));
    if (vector.inputs.contains("cases")) return cases(vector);
    if (vector.inputs.contains("voter_logs")) return election(vector);
    if (vector.inputs.contains("states")) return commit_rule(vector);
    if (vector.inputs.contains("applied")) return exactly_once(vector);
    if (vector.inputs.contains("n")) return majorities(vector);
    throw CannotPlay(fmt::format("nothing in {} tells what to do", vector.inputs.dump()));
  });
}

}  // namespace conclave::accept
