// Raft: a replicated log with a strong leader.
// Time is cut into terms, each with at most one leader. A server that hears of no leader asks for votes in
// the next term, and gets those of the servers whose log holds no more than its own. The leader alone
// appends; it sends its log to everybody, makes theirs equal to its own, and calls an entry of its term
// committed, with all before it, as soon as a majority holds it.
//
// Paper     D. Ongaro, J. Ousterhout. In search of an understandable consensus algorithm. USENIX ATC, 2014;
//           D. Ongaro. Consensus: bridging theory and practice, 2014, which adds transfer of the lead (3.10),
//           changes of the members (4), snapshots (5), reads without an entry (6.4) and pre-vote (9.6).
// Assumes   nothing of the links; term, vote and log survive crashes. Progress needs a majority that is up,
//           and delays shorter than the time-outs.
// Costs     3(N-1) messages per command of the leader, and one more if another server proposed it; of these
//           N-1 say that it is committed, unless entries that leave then do. 2(N-1) for an election, and as
//           many for the pre-vote; 2(N-1) for any number of reads together.
// Departs   docs/raft.md says where, and why.
//
//   currentTerm, votedFor         ballot
//   commitIndex, lastApplied      committed; what is known to be committed is applied at once
//   nextIndex[], matchIndex[]     Leader::others
//   leaderId                      Follower::leader
#pragma once
#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "core/judge.hpp"
#include "core/protocol.hpp"
#include "protocols/log/spec.hpp"
#include "protocols/raft/durable.hpp"
#include "protocols/raft/log.hpp"
#include "protocols/raft/progress.hpp"
#include "protocols/raft/quorum.hpp"
#include "protocols/raft/replication.hpp"
#include "protocols/raft/sessions.hpp"
#include "protocols/raft/voting.hpp"

namespace conclave::raft {

struct Raft {
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
  struct Forward {             // to the leader
    std::uint64_t oldest = 0;  // the first command of this client that is still open
    std::vector<Command> commands = {};
    bool operator==(const Forward&) const = default;
  };
  struct ForwardWish {  // of an operator
    std::variant<conclave::log::Reconfigure, conclave::log::Transfer> wish = {};
    bool operator==(const ForwardWish&) const = default;
  };
  struct AskIndex {  // for a read
    std::uint64_t serial = 0;
    bool operator==(const AskIndex&) const = default;
  };
  struct IndexReply {
    std::uint64_t serial = 0;
    Index index = {};
    bool operator==(const IndexReply&) const = default;
  };
  struct InstallSnapshot {
    Term term = {};
    Snapshot about = {};  // without its state
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    Payload part = {};
    bool operator==(const InstallSnapshot&) const = default;
  };
  struct SnapshotReply {
    Term term = {};
    Index last = {};
    std::uint64_t offset = 0;  // so much of it has arrived
    bool operator==(const SnapshotReply&) const = default;
  };
  struct TimeoutNow {  // stand for election, I step aside
    Term term = {};
    bool operator==(const TimeoutNow&) const = default;
  };
  struct CommitNotice {  // this entry is committed, with all before it
    Position last = {};
    bool operator==(const CommitNotice&) const = default;
  };

  struct Incoming {  // the part of a leader's snapshot that has arrived
    Snapshot about = {};
    Bulk state = {};
    bool operator==(const Incoming&) const = default;
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
  struct PendingRead {
    NodeId reader = {};
    std::uint64_t serial = 0;
    Index index = {};
    std::uint64_t round = 0;  // when a quorum has answered this one, we led after the question came
    bool operator==(const PendingRead&) const = default;
  };
  struct Leader {
    std::map<NodeId, Progress> others = {};
    Index durable = {};                          // up to where our own disk has the log
    Index begun = {};                            // the entry with which the term began
    std::map<NodeId, std::uint64_t> taken = {};  // the last command of each client in the log
    NodeSet heard = {};                          // who has answered since the last look
    Index end_before = {};                       // the end of the log at the last look
    std::optional<NodeId> heir = {};             // who shall lead
    std::uint64_t round = 0;
    std::vector<PendingRead> reads = {};
    bool operator==(const Leader&) const = default;
  };

  using Spec = conclave::log::Spec;
  using Message =
      std::variant<RequestVote, VoteReply, Append, AppendReply, PreVote, PreVoteReply, Forward, ForwardWish,
                   AskIndex, IndexReply, InstallSnapshot, SnapshotReply, TimeoutNow, CommitNotice>;
  enum class Timer { election, heartbeat, retry, quorum, transfer };
  using Out = Effects<Raft>;
  using Write = raft::Write;
  using Durable = raft::Durable;
  struct Setup {
    std::uint64_t heartbeat_ticks = 40;
    std::uint64_t patience_ticks = 120;       // a follower waits once to twice this long for its leader
    std::uint64_t handicap_ticks = 0;         // … and this much longer, if others had better lead
    std::uint64_t stagger_ticks = 10;         // between those who stand because the leader is suspected
    std::uint64_t most_entries = 64;          // in one message
    std::uint64_t most_bytes = 1 << 18;       // of the commands in it, but for the first
    std::uint64_t most_unanswered = 4;        // messages with entries under way to one server
    std::uint64_t most_forwarded = 1 << 22;   // bytes of commands on the way to the leader
    std::uint64_t part_bytes = 1 << 16;       // of a snapshot in one message
    std::uint64_t keep_entries = 0;           // before a snapshot's end, for those who are a little behind,
    std::uint64_t keep_bytes = 1 << 25;       // … but no more bytes than this
    std::uint64_t most_dropped = UINT64_MAX;  // entries that a snapshot has replaced, in one step
    bool pre_vote = true;
    bool check_quorum = true;  // a leader that hears from too few, or not from its own disk, steps down
    NodeSet voters = {};       // at the beginning; empty: everybody
    Spec::Client::Habits habits = {};
    bool operator==(const Setup&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::lossy, .crashes = Crashes::recover};
  static constexpr bool never_rests = true;
  static constexpr bool is_large = true;

  NodeId self = {};
  Setup setup = {};
  Ballot ballot = {};
  Boxed<Snapshot> snapshot = {};
  Log<Entry> log = {};
  Configuration first_configuration = {};
  Configuration configuration = {};  // the latest in the log, committed or not
  Index configured = {};             // where it stands; 0: from the beginning
  Index committed = {};
  Sessions<NodeId, Done> sessions = {};  // of what is committed
  std::vector<Command> wanted = {};      // our client's proposals that are not committed
  std::uint64_t wanted_bytes = 0;        // of them
  std::uint64_t retried = 0;             // the first of them at the last retry
  std::vector<PendingRead> asked = {};   // our client's questions; without an index: unanswered
  Boxed<Snapshot> capture = {};          // where the state stood that our client is saving
  Boxed<Incoming> incoming = {};
  Index spare = {};  // up to here nobody needs the log; what of it is still here goes a little at a time
  std::variant<Follower, PreCandidate, Candidate, Leader> role = {};

  bool operator==(const Raft&) const = default;
  bool leads() const { return std::holds_alternative<Leader>(role); }
  std::optional<NodeId> known_leader() const {
    if (leads()) return self;
    const auto* const follower = std::get_if<Follower>(&role);
    return follower ? follower->leader : std::nullopt;
  }
  NodeSet other_voters() const { return configuration.all_voters().without(self); }
  Term next_term() const { return {ballot.term.value + 1}; }

  static Spec::Client client(NodeId self, const Setup& setup) {
    return {.self = self, .habits = setup.habits};
  }

  static Raft start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    Raft node = {.self = self, .setup = setup};
    // Who joins later learns from the leader who the members are.
    const NodeSet& voters = setup.voters.empty() ? all : setup.voters;
    if (voters.contains(self)) node.first_configuration.voters = voters;
    node.configuration = node.first_configuration;
    node.wait_for_leader(out);
    return node;
  }

  // How far the log is committed, the next leader will tell.
  static Raft recover(NodeId self, const NodeSet& all, const Setup& setup, const Durable& durable, Out& out) {
    ensure(durable.known(), "a snapshot has what the log no longer has");
    Raft node = start(self, all, setup, out);
    node.ballot = durable.ballot;
    node.log = durable.log;
    if (durable.snapshot) node.restore(out, *durable.snapshot);
    node.look_up_configuration();
    return node;
  }

  void on_command(Out& out, const conclave::log::Propose& proposal) {
    wanted.push_back({self, proposal.serial, proposal.value, proposal.bytes});
    wanted_bytes += proposal.bytes.size();
    if (wanted.size() + asked.size() == 1) wait_for_answers(out);
    submit(out, wanted.size() - 1);
  }

  void on_timer(Out& out, Timer timer) {
    switch (timer) {
      case Timer::election:
        if (leads()) return;  // alone one is elected while the timer is being set
        if (!may_stand()) return forget_leader(out);
        return setup.pre_vote ? ask_before_standing(out) : stand_for_election(out);
      case Timer::heartbeat:
        if (leads()) beat(out);
        return;
      case Timer::retry: return retry(out);
      case Timer::quorum:
        if (leads()) look_around(out);
        return;
      case Timer::transfer:
        if (auto* const leader = std::get_if<Leader>(&role)) leader->heir.reset();
        return;
    }
  }

  // Who loses its vote by an entry that is not committed may be the only one to have that entry, and those
  // who lack it may need this server's vote: it has to lead once more (thesis, 4.2.2).
  bool may_stand() const {
    if (configuration.votes(self)) return true;
    return configured > committed && configuration_at(configured - 1).votes(self);
  }

  TickRange patience() const {
    return {{setup.patience_ticks + setup.handicap_ticks}, {2 * setup.patience_ticks + setup.handicap_ticks}};
  }
  void wait_for_leader(Out& out) const { out.arm(Timer::election, patience()); }
  void forget_leader(Out& out) {
    role = Follower{};
    wait_for_leader(out);
  }

  // Terms and elections: sections 5.1, 5.2 and 5.4.1.

  // A later term ends whatever we were in ours. Of itself it is no reason to wait longer for a leader.
  void observe(Out& out, Term term) {
    if (!ballot.observe(term)) return;
    save_ballot(out);
    if (leads()) return step_down(out);
    role = Follower{};
  }

  void step_down(Out& out) {
    for (const Timer timer : {Timer::heartbeat, Timer::quorum, Timer::transfer}) out.disarm(timer);
    forget_leader(out);
  }

  // Who was cut off and comes back would end the term of a leader that served everybody else: it asks first.
  void ask_before_standing(Out& out) {
    role = PreCandidate{.granted = {self}};
    wait_for_leader(out);
    for (NodeId peer : other_voters()) out.send_at_once(peer, PreVote{next_term(), log.last()});
    if (configuration.is_quorum({self})) stand_for_election(out);
  }

  // Nobody promises anything, so nothing is written down. We know our leader until we time out ourselves.
  void on_message(Out& out, NodeId from, const PreVote& theirs) {
    const bool granted = theirs.term > ballot.term && !known_leader() && theirs.last >= log.last();
    out.send_at_once(from, PreVoteReply{granted ? theirs.term : ballot.term, granted});
    // It may have refused us because it had not missed the leader yet. By now it has, and its log lacks
    // something of ours: if we waited until our patience ends again, so would everybody.
    const bool rather_we = std::holds_alternative<PreCandidate>(role) && theirs.last < log.last();
    if (rather_we) out.send_at_once(from, PreVote{next_term(), log.last()});
  }

  void on_message(Out& out, NodeId from, const PreVoteReply& theirs) {
    if (!theirs.granted) return observe(out, theirs.term);
    auto* const asking = std::get_if<PreCandidate>(&role);
    if (!asking || theirs.term != next_term()) return out.note("would have voted in an earlier election");
    asking->granted.insert(from);
    if (configuration.is_quorum(asking->granted)) stand_for_election(out);
  }

  // The others' disks write while ours does. Who crashes before its own has the term may stand in it again,
  // with less of a log than it asked with: a vote says which log it was given to, and counts for no other.
  void stand_for_election(Out& out) {
    ballot = {.term = next_term(), .voted_for = self};
    save_ballot(out);
    role = Candidate{};
    wait_for_leader(out);
    for (NodeId peer : other_voters()) out.send_at_once(peer, RequestVote{ballot.term, log.last()});
  }
  // Our own is among them as soon as our disk has it, and nobody leads before that, whoever else would do:
  // who led in a term that its disk forgot could lead in it again, and put other entries where the first ones
  // are.
  void count_vote(Out& out, NodeId voter) {
    auto& votes = std::get<Candidate>(role).votes;
    votes.insert(voter);
    const bool on_disk = votes.contains(self);
    if (on_disk && configuration.is_quorum(votes)) lead(out);
  }

  void on_message(Out& out, NodeId from, const RequestVote& theirs) {
    observe(out, theirs.term);
    const VoteReply reply = ballot.answer(from, theirs, log.last());
    if (reply.granted) {
      save_ballot(out);  // a vote that a crash undoes is given twice
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
    if (theirs.last != log.last()) return out.note("a vote for a log that we have lost");
    count_vote(out, from);
  }

  // Until it has committed an entry of its own term, a leader does not know what is committed: it begins with
  // one that nobody had to propose (section 8).
  void lead(Out& out) {
    role = Leader{.begun = log.last_index() + 1, .end_before = log.last_index()};
    for (const Entry& entry : log.after(committed)) note_taken(entry);
    out.disarm(Timer::election);
    if (setup.check_quorum) watch_quorum(out);
    out.announce(conclave::log::Leading{ballot.term.value});
    log.append({.term = ballot.term});
    take_own(out);
    save_after(out, std::get<Leader>(role).begun - 1);
    acquaint();
    // What our client asked of our predecessor, nobody else will answer.
    if (asked.empty()) {
      beat(out);
    } else {
      ask_again(out);
    }
    advance(out);
  }

  // A message that says it all at once: who believes the leader to be down need not wait for its silence.
  // They stand one after the other, or they would split the votes.
  void on_command(Out& out, const conclave::log::Suspect& suspicion) {
    if (leads() || known_leader() != suspicion.node) return out.note("somebody else leads");
    if (!may_stand()) return out.note("has no vote");
    role = Follower{};
    std::uint64_t before_us = 0;
    for (NodeId voter : configuration.all_voters()) before_us += voter < self && voter != suspicion.node;
    const Ticks turn = {before_us * setup.stagger_ticks};
    out.arm(Timer::election, {turn, turn});
  }

  // A leader that hears from too few leads nobody, and one whose disk stands still holds everybody up
  // (thesis, 6.2).
  void watch_quorum(Out& out) const {
    out.arm(Timer::quorum, {{setup.patience_ticks}, {setup.patience_ticks}});
  }
  void look_around(Out& out) {
    auto& leader = std::get<Leader>(role);
    NodeSet heard = std::exchange(leader.heard, {});
    heard.insert(self);
    const bool disk_works = leader.durable >= leader.end_before;
    if (!configuration.is_quorum(heard) || !disk_works) return step_down(out);
    leader.end_before = log.last_index();
    watch_quorum(out);
  }

  // Transfer of the lead: thesis, 3.10. Until it is over, nothing is taken that the heir would have to fetch.
  void on_command(Out& out, const conclave::log::Transfer& wish) { pass_on(out, wish); }
  void on_command(Out& out, const conclave::log::Reconfigure& wish) { pass_on(out, wish); }
  template <class Wish>
  void pass_on(Out& out, const Wish& wish) {
    if (leads()) return fulfil(out, wish);
    if (const auto leader = known_leader()) return out.send(*leader, ForwardWish{wish});
    out.note("nobody leads");
  }
  void on_message(Out& out, NodeId, const ForwardWish& theirs) {
    if (!leads()) return out.note("forwarded to somebody who does not lead");
    std::visit([&](const auto& wish) { fulfil(out, wish); }, theirs.wish);
  }

  void fulfil(Out& out, const conclave::log::Transfer& wish) {
    auto& leader = std::get<Leader>(role);
    if (wish.to == self || !configuration.voters.contains(wish.to)) return out.note("cannot be the heir");
    // However often somebody wishes: what is proposed waits no longer for several heirs than for one.
    if (!leader.heir) out.arm(Timer::transfer, {{setup.patience_ticks}, {setup.patience_ticks}});
    leader.heir = wish.to;
    if (leader.others.at(wish.to).match == log.last_index())
      out.send_at_once(wish.to, TimeoutNow{ballot.term});
  }
  void on_message(Out& out, NodeId, const TimeoutNow& theirs) {
    if (theirs.term != ballot.term || leads() || !may_stand()) return out.note("made heir too late");
    stand_for_election(out);
  }

  // Members: thesis, 4.3. The change is an entry that holds from the moment it is in the log; in between,
  // both the old and the new voters must agree.
  void fulfil(Out& out, const conclave::log::Reconfigure& wish) {
    if (wish.voters.empty()) return out.note("somebody has to vote");
    if (configuration.joint() || configured > committed) return out.note("another change is under way");
    if (!has_committed_in_term()) return out.note("leads for too short a time");
    const Index before = log.last_index();
    configure(configuration.joint_with(wish.voters, wish.learners));
    save_after(out, before);
    replicate(out);
  }
  bool has_committed_in_term() const { return committed >= std::get<Leader>(role).begun; }

  void configure(Configuration next) {
    configured = log.append({.term = ballot.term, .configuration = next});
    configuration = std::move(next);
    acquaint();
  }
  // With whomever the configuration names and nobody else.
  void acquaint() {
    auto& others = std::get<Leader>(role).others;
    const NodeSet everybody = configuration.everybody();
    std::erase_if(others, [&](const auto& other) { return !everybody.contains(other.first); });
    for (NodeId node : everybody) {
      if (node != self) others.try_emplace(node, Progress{.next = std::get<Leader>(role).begun});
    }
  }
  // After entries came or went.
  void look_up_configuration() {
    for (Index i = log.last_index(); i > log.base.index; i = i - 1) {
      if (const auto& found = log.at(i).configuration) {
        configuration = *found;
        configured = i;
        return;
      }
    }
    configuration = snapshot ? snapshot->configuration : first_configuration;
    configured = snapshot ? snapshot->last.index : Index{};
  }

  // Replication: sections 5.3 and 5.4.2.

  // To the leader, whoever that is.
  void submit(Out& out, std::size_t first = 0) {
    if (wanted.empty()) return;
    if (leads()) {
      const Index before = log.last_index();
      take_own(out, first);
      if (log.last_index() == before) return;
      save_after(out, before);
      return replicate(out);
    }
    if (const auto leader = known_leader()) forward(out, *leader, first, setup.most_forwarded);
  }
  // In messages that are not too large, as long as what comes before it is no more than `window` bytes. What
  // is beyond that waits until those before it are in the log: a leader that is slow, or not there, is not
  // sent everything again and again.
  void forward(Out& out, NodeId leader, std::size_t first, std::uint64_t window) const {
    std::uint64_t before = wanted_bytes;
    for (std::size_t i = wanted.size(); i-- > first;) before -= wanted[i].bytes.size();
    std::size_t end = first;
    for (std::uint64_t bytes = 0; end < wanted.size() && before <= window; ++end) {
      const std::uint64_t size = wanted[end].bytes.size();
      const bool full = end - first == setup.most_entries || bytes + size > setup.most_bytes;
      if (full && end > first) {
        send_forward(out, leader, first, end);
        first = end;
        bytes = 0;
      }
      bytes += size;
      before += size;
    }
    if (end > first) send_forward(out, leader, first, end);
  }
  void send_forward(Out& out, NodeId leader, std::size_t first, std::size_t end) const {
    const auto begin = wanted.begin();
    out.send(leader,
             Forward{wanted.front().serial,
                     {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(end)}});
  }
  void take_own(Out& out, std::size_t first = 0) {
    for (; first < wanted.size(); ++first) take(out, wanted[first], wanted.front().serial);
  }

  void on_message(Out& out, NodeId, const Forward& theirs) {
    if (!leads()) return out.note("forwarded to somebody who does not lead");
    const Index before = log.last_index();
    for (const Command& command : theirs.commands) take(out, command, theirs.oldest);
    if (log.last_index() == before) return;
    save_after(out, before);
    replicate(out);
  }

  // Commands of a client stand in the log in their order and without a gap, or nobody could tell one that was
  // lost on the way from one that was taken. Before the oldest open one, none is missed.
  void take(Out& out, const Command& command, std::uint64_t oldest) {
    const std::uint64_t last = last_taken(command.client);
    if (command.serial <= last) return out.note("proposed again although it is in the log");
    if (command.serial > last + 1 && command.serial > oldest)
      return out.note("an earlier command is missing");
    if (std::get<Leader>(role).heir) return out.note("somebody else is about to lead");
    log.append({ballot.term, command, {}});
    note_taken(log.entries.back());
  }
  std::uint64_t last_taken(NodeId client) const {
    const auto& taken = std::get<Leader>(role).taken;
    if (const auto found = taken.find(client); found != taken.end()) return found->second;
    const auto found = sessions.last.find(client);
    return found == sessions.last.end() ? 0 : found->second.serial;
  }
  void note_taken(const Entry& entry) {
    if (!entry.command) return;
    std::uint64_t& last = std::get<Leader>(role).taken[entry.command->client];
    last = std::max(last, entry.command->serial);
  }

  bool is_applied(const Command& command) const { return sessions.applied(command.client, command.serial); }

  // From the first that is open on, and not anew with each that comes: whoever always proposes something
  // would put off for ever what another one waits for.
  void wait_for_answers(Out& out) {
    retried = wanted.empty() ? 0 : wanted.front().serial;
    out.arm(Timer::retry, patience());
  }
  // Only if nothing has moved: a client may always have something under way.
  void retry(Out& out) {
    if (wanted.empty() && asked.empty()) return;
    if (!wanted.empty() && wanted.front().serial == retried) submit(out);
    ask_again(out);
    wait_for_answers(out);
  }

  void beat(Out& out) {
    out.arm(Timer::heartbeat, {{setup.heartbeat_ticks}, {setup.heartbeat_ticks}});
    for (auto& [peer, progress] : std::get<Leader>(role).others) {
      if (progress.offset) {
        send_sign(out, peer);
      } else {
        send_entries(out, peer, progress);
      }
    }
  }
  // Parts of a snapshot say nothing of rounds. Whoever is getting one refuses this, and so gets again what
  // may have been lost.
  void send_sign(Out& out, NodeId peer) const {
    out.send_at_once(peer, Append{.term = ballot.term,
                                  .previous = log.base,
                                  .committed = committed,
                                  .round = std::get<Leader>(role).round});
  }
  // What is new to whoever may get more; the others get it with their next answer.
  void replicate(Out& out) {
    for (auto& [peer, progress] : std::get<Leader>(role).others) {
      if (may_get_more(progress)) send_entries(out, peer, progress);
    }
  }
  bool may_get_more(const Progress& progress) const {
    return progress.next <= log.last_index() && progress.may_send(setup.most_unanswered);
  }

  // Our own disk need not have the entries yet: that is not what the others rely on.
  void send_entries(Out& out, NodeId peer, Progress& progress) {
    if (progress.next <= log.base.index) return send_snapshot(out, peer, progress);
    const Index previous = progress.next - 1;
    Append append = {.term = ballot.term,
                     .previous = {*log.term_at(previous), previous},
                     .committed = committed,
                     .round = std::get<Leader>(role).round};
    if (progress.may_send(setup.most_unanswered)) {
      std::uint64_t bytes = 0;
      for (const Entry& entry : log.after(previous, setup.most_entries)) {
        bytes += entry.command ? entry.command->bytes.size() : 0;
        if (bytes > setup.most_bytes && !append.entries.empty()) break;
        append.entries.push_back(entry);
      }
      if (!append.entries.empty()) progress.sent(append.entries.size());
    }
    out.send_at_once(peer, std::move(append));
  }

  void on_message(Out& out, NodeId from, const Append& theirs) {
    observe(out, theirs.term);
    if (theirs.term == ballot.term) follow(out, from);
    const auto conflict = log.conflict(theirs.previous, theirs.entries);
    const Index before = log.last_index();
    Index known = committed;
    AppendReply reply = take_entries(ballot, log, known, theirs);
    // Whoever leads in our term may have led before: its rounds then were others.
    if (theirs.term == ballot.term) reply.round = theirs.round;
    if (reply.matched) {
      ensure(!leads(), "a leader only appends to its log");
      ensure(!conflict || *conflict > committed, "what is committed is never removed");
      const Index kept = conflict ? *conflict - 1 : before;
      if (conflict || log.last_index() > before) {
        save_after(out, kept);
        note_configurations(kept);
      }
    }
    out.send(from, reply);
    commit(out, known);
  }
  void note_configurations(Index kept) {
    const bool lost = configured > kept;
    const bool found = std::ranges::any_of(log.after(std::max(kept, log.base.index)), [](const Entry& entry) {
      return entry.configuration.has_value();
    });
    if (lost || found) look_up_configuration();
  }

  void follow(Out& out, NodeId leader) {
    ensure(!leads(), "a term has one leader");
    wait_for_leader(out);
    if (known_leader() == leader) return;
    role = Follower{leader};
    submit(out);
    ask_again(out);
  }

  void on_message(Out& out, NodeId from, const AppendReply& theirs) {
    Progress* const progress = answered(out, from, theirs.term);
    if (!progress) return;
    progress->round = std::max(progress->round, theirs.round);
    if (!theirs.matched) {
      confirm_reads(out);
      if (progress->offset) return send_snapshot(out, from, *progress);
      if (!progress->refused(log.latest_within(theirs.hint).index)) return out.note("refused before");
      return send_entries(out, from, *progress);
    }
    ensure(*theirs.matched <= log.last_index(), "nobody's log agrees beyond the end of ours");
    matched(out, from, *progress, *theirs.matched);
  }
  // Whose answer it is, if we still lead in the term that it is about.
  Progress* answered(Out& out, NodeId from, Term term) {
    observe(out, term);
    auto* const leader = std::get_if<Leader>(&role);
    const auto found =
        leader && term == ballot.term ? leader->others.find(from) : decltype(leader->others.end()){};
    if (!leader || term != ballot.term || found == leader->others.end()) {
      out.note("answer to an earlier leader");
      return nullptr;
    }
    if (setup.check_quorum) leader->heard.insert(from);
    return &found->second;
  }
  void matched(Out& out, NodeId from, Progress& progress, Index index) {
    progress.matched(index);
    const bool is_heir = std::get<Leader>(role).heir == from;
    if (is_heir && progress.match == log.last_index()) out.send_at_once(from, TimeoutNow{ballot.term});
    if (advance(out)) return;  // and sent this one what is new
    confirm_reads(out);
    if (may_get_more(progress)) send_entries(out, from, progress);
  }

  // Our disk has caught up with us.
  static Write::Mark mark(const Write& write) { return write.mark; }
  void on_synced(Out& out, const Write::Mark& mark) {
    if (mark.term != ballot.term) return;
    if (std::holds_alternative<Candidate>(role)) return count_vote(out, self);
    auto* const leader = std::get_if<Leader>(&role);
    if (!leader) return;
    leader->durable = std::max(leader->durable, mark.end);
    advance(out);
  }

  // Whether more is committed than before: then everybody has been told.
  bool advance(Out& out) {
    const auto& leader = std::get<Leader>(role);
    const auto match = [&](NodeId node) {
      if (node == self) return leader.durable;
      const auto found = leader.others.find(node);
      return found == leader.others.end() ? Index{} : found->second.match;
    };
    const Index before = committed;
    commit(out, advance_commit(committed, ballot.term, log, configuration, match));
    if (committed == before) return false;
    // The first half of a change may have been committed by an earlier leader, which did not get to the
    // second.
    const bool changed = (configured > before || configuration.joint()) && configured <= committed;
    const bool over = changed && !configuration.joint();
    if (changed && configuration.joint()) {
      const Index end = log.last_index();
      configure(configuration.final());
      save_after(out, end);
    }
    // Those whose answers a round lacked may have no vote any more. And the next round says what is
    // committed.
    if (!confirm_reads(out)) tell_committed(out, before);
    // Its last act was to commit that it is no member any more.
    if (over && !configuration.votes(self)) step_down(out);
    return true;
  }

  // To each with the entries that it may get, or else alone. Of what it has not been sent it hears with that.
  void tell_committed(Out& out, Index before) {
    for (auto& [peer, progress] : std::get<Leader>(role).others) {
      const Index known = std::min(committed, progress.next - 1);
      if (may_get_more(progress)) {
        send_entries(out, peer, progress);
      } else if (known > before && !progress.offset) {
        out.send_at_once(peer, CommitNotice{{*log.term_at(known), known}});
      }
    }
  }
  // What need not leave if, soon after it, something else does that says it too.
  static bool is_notice(const Message& message) { return std::holds_alternative<CommitNotice>(message); }
  static bool gives_notice(const Message& message) { return std::holds_alternative<Append>(message); }
  // It says nothing of who leads, and wants no answer: what is committed stays so, and whoever has this very
  // entry has all that is before it.
  void on_message(Out& out, NodeId, const CommitNotice& theirs) {
    if (leads()) return out.note("a leader finds out by itself");
    if (log.term_at(theirs.last.index) != theirs.last.term)
      return out.note("has other entries, or lacks some");
    commit(out, theirs.last.index);
  }

  // A command may be in the log twice; it counts at the first place.
  void commit(Out& out, Index until) {
    if (committed >= until) return;
    std::uint64_t ours = 0;
    while (committed < until) {
      committed = committed + 1;
      const std::optional<Command>& command = log.at(committed).command;
      const bool counts = command && !is_applied(*command);
      if (counts) sessions.apply(command->client, command->serial, [] { return Done{}; });
      if (command && command->client == self) ours = std::max(ours, command->serial);
      out.announce(conclave::log::Committed{committed.value, counts ? command : std::nullopt});
      if (const auto& members = log.at(committed).configuration) announce_members(out, *members);
    }
    answer_client(out, ours);
    answer_reads(out);
    drop_spare();
  }
  static void announce_members(Out& out, const Configuration& members) {
    if (!members.joint()) out.announce(conclave::log::Members{members.voters, members.learners});
  }
  void answer_client(Out& out, std::uint64_t serial) {
    if (wanted.empty() || serial < wanted.front().serial) return;
    const auto open =
        std::ranges::find_if(wanted, [&](const Command& command) { return command.serial > serial; });
    std::uint64_t answered_bytes = 0;
    for (auto command = wanted.begin(); command != open; ++command) answered_bytes += command->bytes.size();
    const bool some_waited = wanted_bytes > setup.most_forwarded;
    wanted.erase(wanted.begin(), open);
    wanted_bytes -= answered_bytes;
    if (wanted.empty() && asked.empty()) out.disarm(Timer::retry);
    if (some_waited && !leads()) forward_what_waited(out, answered_bytes);
  }

  // So many bytes before them are in the log now.
  void forward_what_waited(Out& out, std::uint64_t answered_bytes) const {
    const auto leader = known_leader();
    std::size_t first = 0;
    for (std::uint64_t before = answered_bytes; first < wanted.size() && before <= setup.most_forwarded;
         ++first)
      before += wanted[first].bytes.size();
    if (leader && first < wanted.size()) forward(out, *leader, first, setup.most_forwarded);
  }

  // Reads without an entry: section 8, thesis 6.4. Whoever led after the question came knows all that was
  // committed before it. Questions that come while others wait for an answer share the next round.

  void on_command(Out& out, const conclave::log::Read& read) {
    asked.push_back({.reader = self, .serial = read.serial});
    if (wanted.size() + asked.size() == 1) wait_for_answers(out);
    ask_index(out, asked.size() - 1);
  }
  // Also what has an answer and waits for the log to get there: it may be that of a leader whose last entries
  // are lost, and then no log gets there by itself.
  void ask_again(Out& out) { ask_index(out, 0); }
  void ask_index(Out& out, std::size_t first) {
    if (leads()) {
      const bool idle = std::get<Leader>(role).reads.empty();
      for (std::size_t i = first; i < asked.size(); ++i) note_question(self, asked[i].serial);
      if (idle && first < asked.size()) begin_round(out);
    } else if (const auto leader = known_leader()) {
      for (std::size_t i = first; i < asked.size(); ++i) out.send(*leader, AskIndex{asked[i].serial});
    }
  }
  void on_message(Out& out, NodeId from, const AskIndex& theirs) {
    if (!leads()) return out.note("asked somebody who does not lead");
    const bool idle = std::get<Leader>(role).reads.empty();
    note_question(from, theirs.serial);
    if (idle) begin_round(out);
  }
  // Before the first entry of our term is committed we do not know what is; but all of that is before it.
  void note_question(NodeId reader, std::uint64_t serial) {
    auto& leader = std::get<Leader>(role);
    const bool known = std::ranges::any_of(leader.reads, [&](const PendingRead& read) {
      return read.reader == reader && read.serial == serial;
    });
    if (!known) leader.reads.push_back({reader, serial, std::max(committed, leader.begun), leader.round + 1});
  }
  void begin_round(Out& out) {
    ++std::get<Leader>(role).round;
    beat(out);
    confirm_reads(out);
  }
  // Whether another round begins, in which everybody hears what is committed.
  bool confirm_reads(Out& out) {
    auto& leader = std::get<Leader>(role);
    if (leader.reads.empty() || !has_answers(leader.reads.front().round)) return false;
    const std::uint64_t round = leader.round;
    const auto open =
        std::ranges::find_if(leader.reads, [&](const auto& read) { return read.round > round; });
    const std::vector<PendingRead> confirmed(leader.reads.begin(), open);
    leader.reads.erase(leader.reads.begin(), open);
    const bool more = !leader.reads.empty();
    for (const PendingRead& read : confirmed) {
      if (read.reader == self) {
        learn_index(out, read.serial, read.index);
      } else {
        out.send(read.reader, IndexReply{read.serial, read.index});
      }
    }
    if (more) begin_round(out);
    return more;
  }
  bool has_answers(std::uint64_t round) const {
    NodeSet answered = {self};
    for (const auto& [peer, progress] : std::get<Leader>(role).others) {
      if (progress.round >= round) answered.insert(peer);
    }
    return configuration.is_quorum(answered);
  }
  void on_message(Out& out, NodeId, const IndexReply& theirs) {
    learn_index(out, theirs.serial, theirs.index);
  }
  void learn_index(Out& out, std::uint64_t serial, Index index) {
    const auto found = std::ranges::find(asked, serial, &PendingRead::serial);
    if (found == asked.end()) return out.note("nobody asks that any more");
    // Each answer is right by itself, so the nearest will do.
    const bool nearer = found->index.value == 0 || index < found->index;
    if (!nearer) return out.note("has an answer to that");
    found->index = index;
    answer_reads(out);
  }
  void answer_reads(Out& out) {
    std::erase_if(asked, [&](const PendingRead& read) {
      if (read.index.value == 0 || read.index > committed) return false;
      out.announce(conclave::log::Readable{read.serial, read.index.value});
      return true;
    });
    if (wanted.empty() && asked.empty()) out.disarm(Timer::retry);
  }

  // Snapshots: section 7, thesis 5.

  // Saving takes time, and the log goes on.
  void on_command(Out& out, const conclave::log::Capture&) {
    if (committed.value == 0) return out.note("nothing to save");
    capture = Snapshot{.last = {*log.term_at(committed), committed},
                       .configuration = configuration_at(committed),
                       .sessions = sessions};
  }
  void on_command(Out& out, const conclave::log::Compact& saved) {
    if (!capture) return out.note("a snapshot of the leader came first");
    if (capture->last.index <= (snapshot ? snapshot->last.index : Index{})) return capture.reset();
    snapshot = std::exchange(capture, {});
    snapshot->state = saved.state;
    const Index end = snapshot->last.index;
    spare = std::max(spare, end - kept_before(end));
    drop_spare();
    save_snapshot(out);
    forget_offsets();
  }
  void drop_spare() {
    if (spare == Index{}) return;
    const std::uint64_t left = spare.value - log.base.index.value;
    log.compact(log.base.index + std::min(left, setup.most_dropped));
    if (log.base.index == spare) spare = {};
  }
  // Where the log begins for whoever reads it from the disk.
  Position needed_base() const { return spare == Index{} ? log.base : Position{*log.term_at(spare), spare}; }
  // For those who are a little behind. Whoever lacks more than that gets the snapshot.
  std::uint64_t kept_before(Index end) const {
    std::uint64_t bytes = 0;
    std::uint64_t kept = 0;
    for (Index index = end; index > log.base.index && kept < setup.keep_entries; index = index - 1, ++kept) {
      if (const auto& command = log.at(index).command) bytes += command->bytes.size();
      if (bytes > setup.keep_bytes) break;
    }
    return kept;
  }
  // Who is in the middle of an earlier snapshot has to begin again.
  void forget_offsets() {
    if (auto* const leader = std::get_if<Leader>(&role)) {
      for (auto& [peer, progress] : leader->others) {
        if (progress.offset) progress.offset = 0;
      }
    }
  }
  Configuration configuration_at(Index index) const {
    for (; index > log.base.index; index = index - 1) {
      if (const auto& found = log.at(index).configuration) return *found;
    }
    return snapshot ? snapshot->configuration : first_configuration;
  }

  void send_snapshot(Out& out, NodeId peer, Progress& progress) {
    ensure(snapshot.has_value(), "entries give way only to a snapshot");
    if (!progress.offset) progress.offset = 0;
    Snapshot about = {snapshot->last, snapshot->configuration, snapshot->sessions, {}};
    out.send_at_once(peer, InstallSnapshot{.term = ballot.term,
                                           .about = std::move(about),
                                           .offset = *progress.offset,
                                           .size = snapshot->state.size(),
                                           .part = snapshot->state.part(*progress.offset, setup.part_bytes)});
  }

  void on_message(Out& out, NodeId from, const InstallSnapshot& theirs) {
    observe(out, theirs.term);
    if (theirs.term < ballot.term)
      return out.send(from, SnapshotReply{ballot.term, theirs.about.last.index, 0});
    follow(out, from);
    const Position last = theirs.about.last;
    // What is committed here is in the leader's log too.
    if (last.index <= committed)
      return out.send(from, AppendReply{.term = ballot.term, .matched = committed});
    const bool is_another = !incoming || incoming->about.last != last || incoming->state.size() > theirs.size;
    if (is_another) incoming = Incoming{.about = theirs.about};
    Bulk& state = incoming->state;
    if (theirs.offset == state.size()) state.append(theirs.part);
    if (state.size() < theirs.size)
      return out.send(from, SnapshotReply{ballot.term, last.index, state.size()});
    install(out);
    out.send(from, AppendReply{.term = ballot.term, .matched = last.index});
  }
  void on_message(Out& out, NodeId from, const SnapshotReply& theirs) {
    Progress* const progress = answered(out, from, theirs.term);
    if (!progress || !progress->offset || !snapshot || theirs.last != snapshot->last.index)
      return out.note("about an earlier snapshot");
    // Only news asks for more. Whoever has less than it had gets the rest from there with the next heartbeat.
    const bool news = theirs.offset > *progress->offset;
    progress->offset = theirs.offset;
    if (news) send_snapshot(out, from, *progress);
  }

  void install(Out& out) {
    Snapshot whole = std::move(incoming->about);
    whole.state = std::move(incoming->state);
    incoming.reset();
    spare = {};
    log.install(whole.last, whole.last);
    restore(out, whole);
    look_up_configuration();
    save_snapshot(out);
    answer_reads(out);
  }
  void restore(Out& out, const Snapshot& whole) {
    snapshot = whole;
    capture.reset();
    committed = whole.last.index;
    sessions = whole.sessions;
    out.announce(conclave::log::Restored{committed.value, whole.state});
    announce_members(out, whole.configuration);
    const auto ours = sessions.last.find(self);
    if (ours == sessions.last.end() || wanted.empty() || wanted.front().serial > ours->second.serial) return;
    out.announce(conclave::log::Taken{ours->second.serial});
    answer_client(out, ours->second.serial);
  }

  // What holds of all servers together, whoever asks: log matching and leader completeness
  // (section 5.3, 5.4); and that nobody who leads has forgotten what its own client asks.
  static std::vector<Wrong> invariants(std::span<const Raft* const> servers) {
    std::vector<Wrong> wrongs;
    for (const Raft* one : servers) {
      if (!one->has_asked_all())
        wrongs.push_back(
            {"open questions", in_words(one->self) + " leads, and nobody will answer its client"});
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
  // A leader's heartbeats repeat the round that is under way, so what is noted for a round is answered.
  bool has_asked_all() const {
    const auto* const leader = std::get_if<Leader>(&role);
    if (!leader) return true;
    const bool under_way = leader->reads.empty() || leader->reads.front().round <= leader->round;
    return under_way && std::ranges::all_of(asked, [&](const PendingRead& question) {
             return question.index.value > 0 ||
                    std::ranges::any_of(leader->reads, [&](const PendingRead& read) {
                      return read.reader == self && read.serial == question.serial;
                    });
           });
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
    if (log.last_index() < other.committed || other.log.last_index() < other.committed) return false;
    for (Index i = other.committed; i > other.log.base.index && i > log.base.index; i = i - 1) {
      if (log.at(i) != other.log.at(i)) return false;
    }
    return true;
  }

  // How its writes are kept in a log of which the older part is given up. The state of a snapshot is too
  // large for that log.
  static std::uint64_t greatest_index(const Write& write) {
    if (write.snapshot) return write.snapshot->last.index.value;
    return write.tail ? write.tail->previous.value + write.tail->entries.size() : 0;
  }
  static std::uint64_t greatest_index(const Durable& durable) { return durable.snapshot->last.index.value; }
  static Bulk* bulk(Write& write) { return write.snapshot ? &write.snapshot->state : nullptr; }
  static Bulk* bulk(Durable& durable) { return durable.snapshot ? &durable.snapshot->state : nullptr; }
  static Bulk* bulk(Raft& node) { return node.snapshot ? &node.snapshot->state : nullptr; }
  static Bulk* arriving(Raft& node) { return node.incoming ? &node.incoming->state : nullptr; }
  std::uint64_t arriving_index() const { return incoming->about.last.index.value; }
  Write preamble() const {
    Write write = {.mark = now(), .ballot = ballot};
    if (!snapshot) return write;
    write.snapshot = Snapshot{snapshot->last, snapshot->configuration, snapshot->sessions, {}};
    write.base = needed_base();
    return write;
  }
  std::uint64_t oldest_index() const { return needed_base().index.value; }

  // Whatever we tell others about our term, our vote and our log is on disk before they hear of it.
  Write::Mark now() const { return {ballot.term, log.last_index()}; }
  void save_ballot(Out& out) const { out.persist({.mark = now(), .ballot = ballot}); }
  void save_snapshot(Out& out) const {
    out.persist({.mark = now(), .snapshot = snapshot, .base = needed_base()});
  }
  void save_after(Out& out, Index previous) const {
    const auto entries = log.after(previous);
    out.persist({.mark = now(), .tail = Write::Tail{previous, {entries.begin(), entries.end()}}});
  }
};
static_assert(Protocol<Raft>);
static_assert(Recovers<Raft>);
static_assert(HearsOfDisk<Raft>);

}  // namespace conclave::raft
