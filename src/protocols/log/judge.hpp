// What a replicated log promises, for the checker. The same properties as in the monitor of traces:
//
//   agreement    no two announcements of the same place differ, whoever makes them, and whoever gets a
//                snapshot instead gets the state that the places lead to; Raft's state machine safety
//   integrity    every command in the log was proposed before, and none has two places
//   order        every node announces the places 1, 2, 3, … without a gap; one that comes back after a
//                crash may begin again anywhere up to where it was
//   termination  whoever proposed a command and did not crash since has announced it by the end of the run,
//                and whoever asked to read may read
//
// and one for algorithms whose terms have one leader each, as Raft's do (D. Ongaro, J. Ousterhout. In search
// of an understandable consensus algorithm. USENIX ATC 2014, figure 3). Multi-Paxos does not promise it: two
// nodes may lead with ballots of the same round.
//
//   election safety  no two nodes take the lead in the same term
//
// and one for those that answer reads without an entry:
//
//   fresh reads  whoever may read has announced all that anybody had announced before it asked
//
// It does not remember who announced a place first, or who came to know what when: only what the log says.
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/judge.hpp"
#include "protocols/log/spec.hpp"

namespace conclave::log {

struct Judge {
  using Command = Spec::Command;
  using Event = Spec::Event;
  using Client = Spec::Client;

  struct Asked {
    bool agreement = false;
    bool integrity = false;
    bool order = false;
    bool termination = false;
    bool election_safety = false;
    bool fresh_reads = false;
    bool operator==(const Asked&) const = default;
  };

  Asked asked = {};
  std::map<std::uint64_t, std::optional<Entry>> places = {};  // agreement and integrity
  std::map<NodeId, std::vector<Propose>> proposals = {};      // integrity
  std::map<NodeId, std::uint64_t> announced = {};             // order, fresh reads: the last place of each
  NodeSet came_back = {};                                     // order: and have announced nothing since
  std::map<std::uint64_t, NodeId> leaders = {};               // election safety: by term
  std::uint64_t farthest = 0;                                 // fresh reads: the last place that anybody has
  std::map<NodeId, std::uint64_t> asked_at = {};              // fresh reads: … when this node asked
  bool any_command = false;                                   // in the log
  bool any_leader = false;
  std::vector<Wrong> complaints = {};
  bool operator==(const Judge&) const = default;

  static std::vector<std::string> properties() {
    return {"agreement", "integrity", "order", "termination", "election safety", "fresh reads"};
  }
  static bool needs_past(const std::vector<std::string>&) { return false; }
  static bool is_request(const Command& command) { return std::holds_alternative<Propose>(command); }

  static Judge start(const NodeSet&, const std::vector<std::string>& properties) {
    return {.asked = {.agreement = asks_for(properties, "agreement"),
                      .integrity = asks_for(properties, "integrity"),
                      .order = asks_for(properties, "order"),
                      .termination = asks_for(properties, "termination"),
                      .election_safety = asks_for(properties, "election safety"),
                      .fresh_reads = asks_for(properties, "fresh reads")}};
  }

  void on_command(NodeId node, const Command& command, const Past&) {
    if (const auto* proposal = std::get_if<Propose>(&command)) {
      if (asked.integrity) proposals[node].push_back(*proposal);
    } else if (std::holds_alternative<Read>(command)) {
      if (asked.fresh_reads) asked_at[node] = farthest;
    }
  }

  void on_event(NodeId node, const Event& event) {
    if (const auto* committed = std::get_if<Committed>(&event)) {
      if (committed->entry) any_command = true;
      keep_order(node, committed->index);
      if (asked.agreement || asked.integrity) place(node, *committed);
      reach(committed->index);
    } else if (const auto* leading = std::get_if<Leading>(&event)) {
      any_leader = true;
      if (asked.election_safety) lead(node, leading->term);
    } else if (const auto* readable = std::get_if<Readable>(&event)) {
      if (asked.fresh_reads) read(node, readable->index);
    } else if (const auto* restored = std::get_if<Restored>(&event)) {
      restore(node, *restored);
    }
  }

  void on_crash(NodeId node) { asked_at.erase(node); }
  void on_recover(NodeId node) {
    if (asked.order || asked.fresh_reads) came_back.insert(node);
  }

  std::vector<Wrong> wrong() const { return complaints; }

  std::vector<Wrong> at_end(std::span<const Last<Client>> clients) const {
    if (!asked.termination) return {};
    std::vector<Wrong> wrongs;
    for (const Last<Client>& last : clients) {
      if (last.up && last.client && last.client->waiting())
        wrongs.push_back({"termination", in_words(last.node) + " proposed its command " +
                                             std::to_string(last.client->requests) +
                                             ", and never saw it in the log"});
      if (last.up && last.client && last.client->reading)
        wrongs.push_back({"termination", in_words(last.node) + " asked to read, and never may"});
    }
    return wrongs;
  }

  static std::vector<std::string_view> sometimes() { return {"something is committed", "somebody leads"}; }
  std::uint32_t seen() const { return (any_command ? 1u : 0u) | (any_leader ? 2u : 0u); }

  void keep_order(NodeId node, std::uint64_t index) {
    if (!asked.order && !asked.fresh_reads) return;
    std::uint64_t& last = announced[node];
    const bool again = came_back.erase(node) && index >= 1 && index <= last;
    if (asked.order && index != last + 1 && !again)
      complaints.push_back({"order", in_words(node) + " announced place " + std::to_string(index) +
                                         " after place " + std::to_string(last)});
    last = index;
  }

  void reach(std::uint64_t index) {
    if (asked.fresh_reads) farthest = std::max(farthest, index);
  }

  void read(NodeId node, std::uint64_t index) {
    const auto found = asked_at.find(node);
    if (found == asked_at.end()) return;
    index = std::min(index, announced[node]);
    if (index < found->second)
      complaints.push_back({"fresh reads", in_words(node) + " reads at place " + std::to_string(index) +
                                               ", and somebody had place " + std::to_string(found->second) +
                                               " before it asked"});
    asked_at.erase(found);
  }

  // The places may be known or not; if all are, the state must be theirs.
  void restore(NodeId node, const Restored& restored) {
    if (asked.order || asked.fresh_reads) {
      announced[node] = restored.index;
      came_back.erase(node);
    }
    reach(restored.index);
    if (!asked.agreement) return;
    Digest expected;
    for (std::uint64_t i = 1; i <= restored.index; ++i) {
      const auto found = places.find(i);
      if (found == places.end()) return;
      expected.apply({i, found->second});
    }
    if (Digest::load(restored.state) != expected)
      complaints.push_back({"agreement", in_words(node) + " got a snapshot up to place " +
                                             std::to_string(restored.index) +
                                             " that is not what the places lead to"});
  }

  void place(NodeId node, const Committed& committed) {
    const auto [there, fresh] = places.try_emplace(committed.index, committed.entry);
    if (!fresh) {
      if (asked.agreement && there->second != committed.entry)
        complaints.push_back({"agreement", "at place " + std::to_string(committed.index) + " " +
                                               in_words(node) + " has " + in_words(committed.entry) +
                                               ", where somebody had " + in_words(there->second)});
      return;
    }
    if (asked.integrity && committed.entry) trace_to_its_proposal(committed.index, *committed.entry);
  }

  void trace_to_its_proposal(std::uint64_t index, const Entry& entry) {
    const auto complain = [&](const std::string& and_also) {
      complaints.push_back(
          {"integrity", in_words(entry) + " is at place " + std::to_string(index) + and_also});
    };
    const std::vector<Propose>& theirs = proposals[entry.client];
    if (std::ranges::find(theirs, Propose{entry.serial, entry.value, entry.bytes}) == theirs.end())
      return complain(", and nobody proposed it");
    for (const auto& [other, content] : places) {
      if (other != index && content == entry) return complain(" and at place " + std::to_string(other));
    }
  }

  void lead(NodeId node, std::uint64_t term) {
    const auto [known, fresh] = leaders.try_emplace(term, node);
    if (known->second != node)
      complaints.push_back({"election safety", in_words(known->second) + " and " + in_words(node) +
                                                   " both lead in term " + std::to_string(term)});
  }

  static std::string in_words(NodeId node) { return conclave::in_words(node); }
  static std::string in_words(const std::optional<Entry>& entry) {
    return entry ? "command " + std::to_string(entry->serial) + " of " + in_words(entry->client) : "nothing";
  }
};
static_assert(FamilyJudge<Judge>);

}  // namespace conclave::log
