// Multi-Paxos: a replicated log, one instance of Paxos for each place.
// A node that hears of no leader asks a majority to promise its ballot, for all places at once. It then
// proposes again what the promises say may have been chosen, fills the gaps with nothing, and leads: each new
// command costs one round trip to a majority, until somebody promises a higher ballot.
//
// Paper     L. Lamport. The part-time parliament. TOCS 16(2), 1998; Paxos made simple, 2001, section 3.
// Assumes   nothing of the links; promises and votes survive crashes. Progress needs a majority that is
//           up, and delays shorter than the time-outs.
// Costs     2(N-1) messages per command of the leader, and N-1 to tell the others that it is chosen; one
//           more if another node proposed it. 2(N-1) for a change of leader, and what the new one proposes
//           again.
// Adds      time-outs and heartbeats, which the papers leave open; refusals, so that a leader learns that
//           it leads no more; who is behind asks for what was chosen; a command chosen at two places counts
//           at the first.
//
//   lastTried                     promised, while we are candidate or leader
//   nextBal                       promised
//   prevVote                      votes
//   the paper's ledger            chosen
#pragma once
#include <algorithm>
#include <map>
#include <vector>

#include "core/protocol.hpp"
#include "protocols/log/spec.hpp"

namespace conclave::log {

struct MultiPaxos {
  struct Ballot {  // the id makes every ballot one node's own
    std::uint64_t round = 0;
    NodeId node = {};
    auto operator<=>(const Ballot&) const = default;
  };
  using Content = std::optional<Entry>;  // of a place; none: nothing, so that the log can go on behind it
  struct Vote {
    Ballot ballot;
    Content content;
    bool operator==(const Vote&) const = default;
  };
  using Votes = std::map<std::uint64_t, Vote>;  // by place

  struct Prepare {  // for all places from `from`
    Ballot ballot = {};
    std::uint64_t from = 1;
    bool operator==(const Prepare&) const = default;
  };
  struct Promise {
    Ballot ballot = {};
    std::uint64_t from = 1;
    std::vector<Content> chosen = {};  // at the places `from`, from + 1, …, as far as we know
    Votes votes = {};                  // beyond
    bool operator==(const Promise&) const = default;
  };
  struct Accept {
    Ballot ballot = {};
    std::uint64_t index = 1;
    Content content = {};
    std::uint64_t committed = 0;  // all places up to this are chosen
    bool operator==(const Accept&) const = default;
  };
  struct Accepted {
    Ballot ballot = {};
    std::uint64_t index = 1;
    bool operator==(const Accepted&) const = default;
  };
  struct Refuse {
    Ballot promised = {};
    bool operator==(const Refuse&) const = default;
  };
  struct Commit {
    Ballot ballot = {};
    std::uint64_t committed = 0;
    bool operator==(const Commit&) const = default;
  };
  struct Heartbeat {
    Ballot ballot = {};
    std::uint64_t committed = 0;
    bool operator==(const Heartbeat&) const = default;
  };
  struct Forward {  // to the leader
    Entry entry = {};
    bool operator==(const Forward&) const = default;
  };
  struct Ask {
    std::uint64_t from = 1;
    bool operator==(const Ask&) const = default;
  };
  struct Chosen {
    Ballot ballot = {};
    std::uint64_t from = 1;
    std::vector<Content> contents = {};
    bool operator==(const Chosen&) const = default;
  };

  struct Follower {
    std::optional<NodeId> leader;
    bool operator==(const Follower&) const = default;
  };
  struct Candidate {
    NodeSet promised_by;
    Votes found;  // the vote with the highest ballot for each place
    bool operator==(const Candidate&) const = default;
  };
  struct InFlight {
    Content content;
    NodeSet accepted_by;
    bool seen_by_heartbeat;  // has had the time to be answered
    bool operator==(const InFlight&) const = default;
  };
  struct Leader {
    std::map<std::uint64_t, InFlight> in_flight =
        {};  // the places right after the chosen ones, without a gap
    bool operator==(const Leader&) const = default;
  };

  using Spec = log::Spec;
  using Message =
      std::variant<Prepare, Promise, Accept, Accepted, Refuse, Commit, Heartbeat, Forward, Ask, Chosen>;
  enum class Timer { election, heartbeat, retry };
  using Out = Effects<MultiPaxos>;
  struct Setup {
    std::uint64_t heartbeat_ticks = 40;
    std::uint64_t patience_ticks = 120;  // a follower waits once to twice this long for its leader
    bool piggyback = false;              // no message of its own says what is chosen
  };
  // What was chosen is only a help here: it can be learned again.
  struct Durable {
    Ballot promised = {};
    Votes votes = {};
    std::vector<Content> chosen = {};
    bool operator==(const Durable&) const = default;
  };
  static constexpr Assumptions assumes = {.links = Links::lossy, .crashes = Crashes::recover};
  static constexpr bool never_rests = true;
  static constexpr bool is_large = true;

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t heartbeat_ticks = 0;
  std::uint64_t patience_ticks = 0;
  bool piggyback = false;
  Ballot promised = {};
  Votes votes = {};                              // for places after the chosen ones
  std::vector<Content> chosen = {};              // place 1 first
  std::map<NodeId, std::uint64_t> applied = {};  // the last serial number of each proposer
  std::optional<Entry> wanted = {};              // our client's proposal, until it is chosen
  std::variant<Follower, Candidate, Leader> role = {};

  bool operator==(const MultiPaxos&) const = default;
  bool is_majority(const NodeSet& nodes) const { return 2 * nodes.size() > peers.size() + 1; }
  std::uint64_t first_open() const { return chosen.size() + 1; }

  static Spec::Client client(NodeId self, const Setup&) { return {.self = self}; }

  static MultiPaxos start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    MultiPaxos node = {.self = self,
                       .peers = all.without(self),
                       .heartbeat_ticks = setup.heartbeat_ticks,
                       .patience_ticks = setup.patience_ticks,
                       .piggyback = setup.piggyback};
    node.wait_for_leader(out);
    return node;
  }

  static MultiPaxos recover(NodeId self, const NodeSet& all, const Setup& setup, const Durable& durable,
                            Out& out) {
    MultiPaxos node = start(self, all, setup, out);
    node.promised = durable.promised;
    node.votes = durable.votes;
    for (const Content& content : durable.chosen) node.choose(out, content);
    return node;
  }

  // It keeps its whole log, its members and its leader.
  template <class Other>
  void on_command(Out& out, const Other&) {
    out.note("not a thing that this algorithm does");
  }
  void on_command(Out& out, const Propose& proposal) {
    wanted = Entry{self, proposal.serial, proposal.value};
    out.arm(Timer::retry, {{patience_ticks}, {2 * patience_ticks}});
    submit(out);
  }

  void on_timer(Out& out, Timer timer) {
    switch (timer) {
      case Timer::election:
        if (!std::holds_alternative<Leader>(role)) stand_for_election(out);
        return;
      case Timer::heartbeat: return beat(out);
      case Timer::retry:
        if (!wanted) return;
        out.arm(Timer::retry, {{patience_ticks}, {2 * patience_ticks}});
        return submit(out);
    }
  }

  // Choosing a leader.

  void wait_for_leader(Out& out) { out.arm(Timer::election, {{patience_ticks}, {2 * patience_ticks}}); }

  void stand_for_election(Out& out) {
    promised = {promised.round + 1, self};
    save(out);
    role = Candidate{.promised_by = {self}, .found = votes};
    wait_for_leader(out);
    out.broadcast(peers, Prepare{promised, first_open()});
    if (is_majority({self})) lead(out);
  }

  void on_message(Out& out, NodeId from, const Prepare& theirs) {
    if (theirs.ballot < promised) return out.send(from, Refuse{promised});
    if (theirs.ballot > promised) follow(out, theirs.ballot, std::nullopt);
    wait_for_leader(out);
    Promise promise = {.ballot = theirs.ballot, .from = theirs.from};
    for (std::uint64_t index = theirs.from; index < first_open(); ++index)
      promise.chosen.push_back(chosen[index - 1]);
    for (const auto& [index, vote] : votes) {
      if (index >= theirs.from) promise.votes.emplace(index, vote);
    }
    out.send(from, std::move(promise));
  }

  void on_message(Out& out, NodeId from, const Promise& theirs) {
    auto* const candidate = std::get_if<Candidate>(&role);
    if (!candidate || theirs.ballot != promised) return out.note("promise to an earlier candidate");
    learn(out, theirs.from, theirs.chosen);
    for (const auto& [index, vote] : theirs.votes) {
      const auto [ours, fresh] = candidate->found.try_emplace(index, vote);
      if (!fresh && ours->second.ballot < vote.ballot) ours->second = vote;
    }
    candidate->promised_by.insert(from);
    if (is_majority(candidate->promised_by)) lead(out);
  }

  // Whatever may have been chosen under an older ballot, some promise told us of. It is proposed again; where
  // nobody has voted nothing was chosen, and nothing is proposed.
  void lead(Out& out) {
    const Votes found = std::move(std::get<Candidate>(role).found);
    role = Leader{};
    out.announce(Leading{promised.round});
    const std::uint64_t last = found.empty() ? 0 : found.rbegin()->first;
    for (std::uint64_t index = first_open(); index <= last; index = next_free()) {
      const auto vote = found.find(index);
      propose(out, vote == found.end() ? Content{} : vote->second.content);
    }
    submit(out);
    beat(out);
  }

  // Not to promise anything lower any more needs no question.
  void follow(Out& out, Ballot ballot, std::optional<NodeId> leader) {
    if (ballot > promised) {
      promised = ballot;
      save(out);
    }
    role = Follower{leader};
    wait_for_leader(out);
    if (leader) submit(out);
  }

  void on_message(Out& out, NodeId, const Refuse& theirs) {
    if (theirs.promised <= promised) return out.note("refusal of an earlier ballot");
    follow(out, theirs.promised, std::nullopt);
  }

  // True if the sender leads, as far as we know.
  bool heed(Out& out, NodeId from, Ballot ballot) {
    if (ballot < promised) {
      out.send(from, Refuse{promised});
      return false;
    }
    const auto* const follower = std::get_if<Follower>(&role);
    if (ballot > promised || !follower || follower->leader != from) {
      follow(out, ballot, from);
    } else {
      wait_for_leader(out);
    }
    return true;
  }

  // The leader's work.

  // To the leader, whoever that is.
  void submit(Out& out) {
    if (!wanted) return;
    if (std::holds_alternative<Leader>(role)) return take(out, *wanted);
    if (const auto* follower = std::get_if<Follower>(&role); follower && follower->leader)
      out.send(*follower->leader, Forward{*wanted});
  }

  void on_message(Out& out, NodeId, const Forward& theirs) {
    if (!std::holds_alternative<Leader>(role)) return out.note("forwarded to somebody who does not lead");
    take(out, theirs.entry);
  }

  void take(Out& out, const Entry& entry) {
    if (is_applied(entry)) return out.note("proposed again although it is in the log");
    for (const auto& [index, flight] : std::get<Leader>(role).in_flight) {
      if (flight.content == entry) return out.note("proposed again while it is under way");
    }
    propose(out, entry);
  }

  std::uint64_t next_free() const { return first_open() + std::get<Leader>(role).in_flight.size(); }

  void propose(Out& out, const Content& content) {
    const std::uint64_t index = next_free();
    votes[index] = {promised, content};
    save(out);
    std::get<Leader>(role).in_flight[index] = {
        .content = content, .accepted_by = {self}, .seen_by_heartbeat = false};
    out.broadcast(peers, Accept{promised, index, content, chosen.size()});
    advance(out);
  }

  void on_message(Out& out, NodeId from, const Accept& theirs) {
    if (!heed(out, from, theirs.ballot)) return;
    if (theirs.index < first_open()) {
      ensure(chosen[theirs.index - 1] == theirs.content,
             "what is proposed after a choice is what was chosen");
    } else {
      votes[theirs.index] = {theirs.ballot, theirs.content};
      save(out);
    }
    out.send(from, Accepted{theirs.ballot, theirs.index});
    catch_up(out, from, theirs.committed);
  }

  void on_message(Out& out, NodeId from, const Accepted& theirs) {
    auto* const leader = std::get_if<Leader>(&role);
    if (!leader || theirs.ballot != promised) return out.note("vote for an earlier leader");
    const auto flight = leader->in_flight.find(theirs.index);
    if (flight == leader->in_flight.end()) return out.note("vote for what is chosen already");
    flight->second.accepted_by.insert(from);
    advance(out);
  }

  // Places are chosen in any order, and count in theirs.
  void advance(Out& out) {
    auto& in_flight = std::get<Leader>(role).in_flight;
    const std::uint64_t before = chosen.size();
    while (!in_flight.empty() && is_majority(in_flight.begin()->second.accepted_by)) {
      const Content content = in_flight.begin()->second.content;
      in_flight.erase(in_flight.begin());
      choose(out, content);
    }
    if (chosen.size() > before && !piggyback) out.broadcast(peers, Commit{promised, chosen.size()});
  }

  void beat(Out& out) {
    auto* const leader = std::get_if<Leader>(&role);
    if (!leader) return;
    out.arm(Timer::heartbeat, {{heartbeat_ticks}, {heartbeat_ticks}});
    out.broadcast(peers, Heartbeat{promised, chosen.size()});
    for (auto& [index, flight] : leader->in_flight) {
      if (!std::exchange(flight.seen_by_heartbeat, true)) continue;
      for (NodeId peer : peers) {
        if (!flight.accepted_by.contains(peer))
          out.send(peer, Accept{promised, index, flight.content, chosen.size()});
      }
    }
  }

  // Learning what was chosen.

  void on_message(Out& out, NodeId from, const Commit& theirs) {
    if (heed(out, from, theirs.ballot)) catch_up(out, from, theirs.committed);
  }
  void on_message(Out& out, NodeId from, const Heartbeat& theirs) {
    if (heed(out, from, theirs.ballot)) catch_up(out, from, theirs.committed);
  }

  // Under one ballot a place has one value, so our vote is the value chosen if it has the leader's ballot. An
  // older vote may be for something else.
  void catch_up(Out& out, NodeId leader, std::uint64_t committed) {
    while (chosen.size() < committed) {
      const auto vote = votes.find(first_open());
      if (vote == votes.end() || vote->second.ballot != promised) return out.send(leader, Ask{first_open()});
      choose(out, Content(vote->second.content));
    }
  }

  void on_message(Out& out, NodeId from, const Ask& theirs) {
    if (!std::holds_alternative<Leader>(role)) return out.note("asked, but not leading");
    Chosen answer = {.ballot = promised, .from = theirs.from};
    for (std::uint64_t index = theirs.from; index < first_open(); ++index)
      answer.contents.push_back(chosen[index - 1]);
    if (!answer.contents.empty()) out.send(from, std::move(answer));
  }

  void on_message(Out& out, NodeId from, const Chosen& theirs) {
    if (heed(out, from, theirs.ballot)) learn(out, theirs.from, theirs.contents);
  }

  void learn(Out& out, std::uint64_t from, const std::vector<Content>& contents) {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (from + i == first_open()) choose(out, contents[i]);
    }
  }

  void choose(Out& out, const Content& content) {
    votes.erase(first_open());
    chosen.push_back(content);
    const bool counts = content && !is_applied(*content);
    if (counts) applied[content->client] = content->serial;
    out.announce(Committed{chosen.size(), counts ? content : std::nullopt});
    if (!counts || content != wanted) return;
    wanted.reset();
    out.disarm(Timer::retry);
  }

  bool is_applied(const Entry& entry) const {
    const auto last = applied.find(entry.client);
    return last != applied.end() && entry.serial <= last->second;
  }

  // A promise and a vote are kept even if we crash: they are on disk before anybody hears of them.
  void save(Out& out) const { out.persist({promised, votes, chosen}); }
};
static_assert(Protocol<MultiPaxos>);
static_assert(Recovers<MultiPaxos>);

}  // namespace conclave::log
