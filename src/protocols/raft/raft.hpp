// Raft: a replicated log with a strong leader.
// Time is cut into terms, each with at most one leader. A server that hears of no leader asks for votes in
// the next term, and gets those of the servers whose log holds no more than its own. The leader alone
// appends; it sends its log to everybody, makes theirs equal to its own, and calls an entry of its term
// committed, with all before it, as soon as a majority holds it.
//
// Paper     D. Ongaro, J. Ousterhout. In search of an understandable consensus algorithm. USENIX ATC, 2014;
//           pre-vote: D. Ongaro. Consensus: bridging theory and practice, 2014, section 9.6.
// Assumes   nothing of the links; term, vote and log survive crashes. Progress needs a majority that is up,
//           and delays shorter than the time-outs.
// Costs     2(N-1) messages per command of the leader, and three more if another server proposed it;
//           2(N-1) for an election, and as many for the pre-vote.
// Departs   docs/raft.md says where, and why.
//
//   currentTerm, votedFor         ballot
//   commitIndex, lastApplied      committed; what is known to be committed is applied at once
//   nextIndex[], matchIndex[]     Leader::next, Leader::match
//   leaderId                      Follower::leader
#pragma once
#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "core/judge.hpp"
#include "core/protocol.hpp"
#include "protocols/log/spec.hpp"
#include "protocols/raft/log.hpp"
#include "protocols/raft/quorum.hpp"
#include "protocols/raft/replication.hpp"
#include "protocols/raft/sessions.hpp"
#include "protocols/raft/voting.hpp"

namespace conclave::raft {

struct Raft {
  using Command = conclave::log::Entry;
  using Committed = conclave::log::Committed;
  struct Entry {
    Term term = {};
    std::optional<Command> command = {};  // none: the entry with which a leader begins its term
    bool operator==(const Entry&) const = default;
  };

  using Append = AppendEntries<Entry>;
  struct PreVote {  // would we get a vote in this term?
    Term term = {};
    Position last = {};
    bool operator==(const PreVote&) const = default;
  };
  struct PreVoteReply {
    Term term = {};  // the one asked for if granted, else the voter's
    bool granted = false;
    bool operator==(const PreVoteReply&) const = default;
  };
  struct Forward {  // to the leader
    Command command = {};
    bool operator==(const Forward&) const = default;
  };

  struct Follower {
    std::optional<NodeId> leader;
    bool operator==(const Follower&) const = default;
  };
  struct PreCandidate {
    NodeSet granted;
    bool operator==(const PreCandidate&) const = default;
  };
  struct Candidate {
    NodeSet votes;
    bool operator==(const Candidate&) const = default;
  };
  struct Leader {
    std::map<NodeId, Index> next;   // the first entry not sent to each of the others
    std::map<NodeId, Index> match;  // up to where each log is known to agree; our own is one of them
    bool operator==(const Leader&) const = default;
  };

  using Spec = conclave::log::Spec;
  using Message = std::variant<RequestVote, VoteReply, Append, AppendReply, PreVote, PreVoteReply, Forward>;
  enum class Timer { election, heartbeat, retry };
  using Out = Effects<Raft>;
  struct Setup {
    std::uint64_t heartbeat_ticks = 40;
    std::uint64_t patience_ticks = 120;  // a follower waits once to twice this long for its leader
    std::uint64_t most_entries = 64;     // in one message
    bool pre_vote = true;
    bool operator==(const Setup&) const = default;
  };
  struct Durable {
    Ballot ballot = {};
    Log<Entry> log = {};
    bool operator==(const Durable&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::lossy, .crashes = Crashes::recover};
  static constexpr bool never_rests = true;
  struct Done {  // all there is to answer: the command is in the log
    bool operator==(const Done&) const = default;
  };

  NodeId self = {};
  Configuration configuration = {};
  Setup setup = {};
  Ballot ballot = {};
  Log<Entry> log = {};
  Index committed = {};
  Sessions<NodeId, Done> sessions = {};  // of what is committed
  std::optional<Command> wanted = {};    // our client's proposal, until it is committed
  std::variant<Follower, PreCandidate, Candidate, Leader> role = {};

  bool operator==(const Raft&) const = default;
  bool leads() const { return std::holds_alternative<Leader>(role); }
  std::optional<NodeId> known_leader() const {
    if (leads()) return self;
    const auto* const follower = std::get_if<Follower>(&role);
    return follower ? follower->leader : std::nullopt;
  }
  NodeSet peers() const { return configuration.voters.without(self); }
  Term next_term() const { return {ballot.term.value + 1}; }

  static Spec::Client client(NodeId self, const Setup&) { return {.self = self}; }

  static Raft start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    Raft node = {.self = self, .configuration = {.voters = all}, .setup = setup};
    node.wait_for_leader(out);
    return node;
  }

  // How far the log is committed, the next leader will tell.
  static Raft recover(NodeId self, const NodeSet& all, const Setup& setup, const Durable& durable, Out& out) {
    Raft node = start(self, all, setup, out);
    node.ballot = durable.ballot;
    node.log = durable.log;
    return node;
  }

  void on_command(Out& out, const conclave::log::Propose& proposal) {
    wanted = Command{self, proposal.serial, proposal.value};
    out.arm(Timer::retry, patience());
    submit(out);
  }

  void on_timer(Out& out, Timer timer) {
    switch (timer) {
      case Timer::election:
        if (leads()) return;  // alone one is elected while the timer is being set
        return setup.pre_vote ? ask_before_standing(out) : stand_for_election(out);
      case Timer::heartbeat:
        if (leads()) beat(out);
        return;
      case Timer::retry:
        if (!wanted) return;
        out.arm(Timer::retry, patience());
        return submit(out);
    }
  }

  TickRange patience() const { return {{setup.patience_ticks}, {2 * setup.patience_ticks}}; }
  void wait_for_leader(Out& out) const { out.arm(Timer::election, patience()); }

  // Terms and elections: sections 5.1, 5.2 and 5.4.1.

  // A later term ends whatever we were in ours. Of itself it is no reason to wait longer for a leader.
  void observe(Out& out, Term term) {
    if (!ballot.observe(term)) return;
    save(out);
    if (leads()) {
      out.disarm(Timer::heartbeat);
      wait_for_leader(out);
    }
    role = Follower{};
  }

  // Who was cut off and comes back would end the term of a leader that served everybody else: it asks first.
  void ask_before_standing(Out& out) {
    role = PreCandidate{.granted = {self}};
    wait_for_leader(out);
    out.broadcast(peers(), PreVote{next_term(), log.last()});
    if (configuration.is_quorum({self})) stand_for_election(out);
  }

  // Nobody promises anything, so nothing is written down. We know our leader until we time out ourselves.
  void on_message(Out& out, NodeId from, const PreVote& theirs) {
    const bool granted = theirs.term > ballot.term && !known_leader() && theirs.last >= log.last();
    out.send(from, PreVoteReply{granted ? theirs.term : ballot.term, granted});
  }

  void on_message(Out& out, NodeId from, const PreVoteReply& theirs) {
    if (!theirs.granted) return observe(out, theirs.term);
    auto* const asking = std::get_if<PreCandidate>(&role);
    if (!asking || theirs.term != next_term()) return out.note("would have voted in an earlier election");
    asking->granted.insert(from);
    if (configuration.is_quorum(asking->granted)) stand_for_election(out);
  }

  void stand_for_election(Out& out) {
    ballot = {.term = next_term(), .voted_for = self};
    save(out);
    role = Candidate{.votes = {self}};
    wait_for_leader(out);
    out.broadcast(peers(), RequestVote{ballot.term, log.last()});
    if (configuration.is_quorum({self})) lead(out);
  }

  void on_message(Out& out, NodeId from, const RequestVote& theirs) {
    observe(out, theirs.term);
    const VoteReply reply = ballot.answer(from, theirs, log.last());
    if (reply.granted) {
      save(out);  // a vote that a crash undoes is given twice
      if (!std::holds_alternative<Follower>(role)) role = Follower{};
      wait_for_leader(out);
    }
    out.send(from, reply);
  }

  void on_message(Out& out, NodeId from, const VoteReply& theirs) {
    observe(out, theirs.term);
    auto* const candidate = std::get_if<Candidate>(&role);
    if (!candidate || theirs.term != ballot.term) return out.note("vote in an earlier election");
    if (!theirs.granted) return out.note("somebody else has the vote, or our log lacks something");
    candidate->votes.insert(from);
    if (configuration.is_quorum(candidate->votes)) lead(out);
  }

  // Until it has committed an entry of its own term, a leader does not know what is committed: it begins with
  // one that nobody had to propose (section 8).
  void lead(Out& out) {
    Leader leader;
    for (NodeId peer : peers()) {
      leader.next[peer] = log.last_index() + 1;
      leader.match[peer] = {};
    }
    role = std::move(leader);
    out.disarm(Timer::election);
    out.announce(conclave::log::Leading{ballot.term.value});
    log.append({.term = ballot.term});
    if (wanted && !has(*wanted)) log.append({ballot.term, wanted});
    save(out);
    beat(out);
    advance(out);
  }

  // Replication: sections 5.3 and 5.4.2.

  // To the leader, whoever that is.
  void submit(Out& out) {
    if (!wanted) return;
    if (leads()) return take(out, *wanted);
    if (const auto leader = known_leader()) out.send(*leader, Forward{*wanted});
  }

  void on_message(Out& out, NodeId, const Forward& theirs) {
    if (!leads()) return out.note("forwarded to somebody who does not lead");
    take(out, theirs.command);
  }

  void take(Out& out, const Command& command) {
    if (has(command)) return out.note("proposed again although it is in the log");
    log.append({ballot.term, command});
    save(out);
    for (NodeId peer : peers()) send_entries(out, peer);
    advance(out);
  }

  bool has(const Command& command) const {
    if (is_applied(command)) return true;
    const auto open = log.after(committed);
    return std::ranges::find(open, command, &Entry::command) != open.end();
  }

  bool is_applied(const Command& command) const { return sessions.applied(command.client, command.serial); }

  void beat(Out& out) {
    out.arm(Timer::heartbeat, {{setup.heartbeat_ticks}, {setup.heartbeat_ticks}});
    for (NodeId peer : peers()) send_entries(out, peer);
  }

  // What is sent counts as received: if it was not, the next message does not match and is refused.
  void send_entries(Out& out, NodeId peer) {
    Index& next = std::get<Leader>(role).next.at(peer);
    const Index previous = next - 1;
    const auto entries = log.after(previous, setup.most_entries);
    next = next + entries.size();
    out.send(peer, Append{.term = ballot.term,
                          .previous = {*log.term_at(previous), previous},
                          .entries = {entries.begin(), entries.end()},
                          .committed = committed});
  }

  void on_message(Out& out, NodeId from, const Append& theirs) {
    observe(out, theirs.term);
    if (theirs.term == ballot.term) follow(out, from);
    const auto conflict = log.conflict(theirs.previous, theirs.entries);
    Index known = committed;
    const AppendReply reply = take_entries(ballot, log, known, theirs);
    if (reply.matched) ensure(!conflict || *conflict > committed, "what is committed is never removed");
    if (reply.matched && !theirs.entries.empty()) save(out);
    out.send(from, reply);
    commit(out, known);
  }

  void follow(Out& out, NodeId leader) {
    ensure(!leads(), "a term has one leader");
    wait_for_leader(out);
    if (known_leader() == leader) return;
    role = Follower{leader};
    submit(out);
  }

  void on_message(Out& out, NodeId from, const AppendReply& theirs) {
    observe(out, theirs.term);
    auto* const leader = std::get_if<Leader>(&role);
    if (!leader || theirs.term != ballot.term) return out.note("answer to an earlier leader");
    Index& match = leader->match.at(from);
    Index& next = leader->next.at(from);
    if (!theirs.matched) {
      const Index lower = std::max(match, log.latest_within(theirs.hint).index) + 1;
      if (lower >= next) return out.note("refused before");
      next = lower;
      return send_entries(out, from);
    }
    ensure(*theirs.matched <= log.last_index(), "nobody's log agrees beyond the end of ours");
    match = std::max(match, *theirs.matched);
    next = std::max(next, match + 1);
    advance(out);
    if (next <= log.last_index()) send_entries(out, from);
  }

  // Whoever proposed something that is now committed is told at once, the others with what comes next.
  void advance(Out& out) {
    auto& match = std::get<Leader>(role).match;
    match[self] = log.last_index();
    const Index before = committed;
    commit(out, advance_commit(committed, ballot.term, log, configuration, match));
    NodeSet waiting;
    for (const Entry& entry : log.after(before, committed.value - before.value)) {
      if (entry.command && peers().contains(entry.command->client)) waiting.insert(entry.command->client);
    }
    for (NodeId peer : waiting) send_entries(out, peer);
  }

  // A command may be in the log twice; it counts at the first place.
  void commit(Out& out, Index until) {
    while (committed < until) {
      committed = committed + 1;
      const std::optional<Command>& command = log.at(committed).command;
      const bool counts = command && !is_applied(*command);
      if (counts) sessions.apply(command->client, command->serial, [] { return Done{}; });
      out.announce(Committed{committed.value, counts ? command : std::nullopt});
      if (!counts || command != wanted) continue;
      wanted.reset();
      out.disarm(Timer::retry);
    }
  }

  // What holds of all servers together, whoever asks: log matching and leader completeness
  // (section 5.3, 5.4).
  static std::vector<Wrong> invariants(std::span<const Raft* const> servers) {
    std::vector<Wrong> wrongs;
    for (const Raft* one : servers) {
      for (const Raft* other : servers) {
        if (one->self < other->self && !one->log_matches(*other))
          wrongs.push_back({"log matching", in_words(one->self) + " and " + in_words(other->self) +
                                                " agree on an entry and differ before it"});
        if (one->leads() && other->ballot.term <= one->ballot.term && !one->has_all_committed_by(*other))
          wrongs.push_back({"leader completeness", in_words(one->self) + " leads without an entry that " +
                                                       in_words(other->self) + " knows to be committed"});
      }
    }
    return wrongs;
  }
  bool log_matches(const Raft& other) const {
    bool agreed_later = false;
    for (Index i = std::min(log.last_index(), other.log.last_index()); i.value > 0; i = i - 1) {
      if (!log.term_at(i) || !other.log.term_at(i)) return true;  // a snapshot has replaced it
      const bool same = *log.term_at(i) == *other.log.term_at(i);
      if (agreed_later && !same) return false;
      if (same && i > log.base.index && i > other.log.base.index && log.at(i) != other.log.at(i))
        return false;
      agreed_later = agreed_later || same;
    }
    return true;
  }
  bool has_all_committed_by(const Raft& other) const {
    if (log.last_index() < other.committed) return false;
    for (Index i = other.committed; i > other.log.base.index && i > log.base.index; i = i - 1) {
      if (log.at(i) != other.log.at(i)) return false;
    }
    return true;
  }

  // Whatever we tell others about our term, our vote and our log is on disk before they hear of it.
  void save(Out& out) const { out.persist({ballot, log}); }
};
static_assert(Protocol<Raft>);
static_assert(Recovers<Raft>);

}  // namespace conclave::raft
