// Byzantine agreement by word of mouth: one source, up to f traitors among more than 3f processes.
// In the first round the source tells everybody its value. In each later one everybody tells the others what
// it was told in the round before, and along which path it came. After f+1 rounds each lieutenant works out
// what to believe, from the longest paths to the shortest: of what came along a path it believes what the
// majority of those say who heard the same, itself among them.
//
// Paper     L. Lamport, R. Shostak, M. Pease. The Byzantine generals problem. TOPLAS 4(3), 1982: OM(m).
// Assumes   rounds, reliable links between all, and that a receiver knows who sent a message. Nothing is
//           signed: N > 3f processes are needed, and no algorithm does with fewer.
// Costs     f+1 rounds, (N-1) + f(N-1)(N-2) messages; those of round r carry (N-1)(N-2)...(N-r) values.
// Departs   sends what belongs to one round in one message.
// Violates  validity, as with signatures. And agreement, if a third are traitors.
#pragma once
#include <algorithm>
#include <map>
#include <vector>

#include "core/protocol.hpp"
#include "protocols/consensus/spec.hpp"
#include "protocols/consensus/treason.hpp"

namespace conclave::consensus {

struct ByzantineOral {
  using Path = std::vector<NodeId>;  // who told whom, the source first
  struct Hearsay {
    std::map<Path, Value> told = {};
    bool operator==(const Hearsay&) const = default;
  };

  using Spec = consensus::Spec;
  using Message = std::variant<Hearsay>;
  using Timer = NoTimer;
  using Out = Effects<ByzantineOral>;
  struct Setup {
    NodeId source = {};
    Value value = 0;  // of the source
    Value default_value = 0;
    std::uint32_t rounds = 2;  // f+1
    Treason treason = {};      // with the traitors; these lie as they like, whatever their strategy
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered, .timing = Timing::synchronous};

  NodeId self = {};
  NodeSet members = {};
  NodeId source = {};
  Value default_value = 0;
  std::uint32_t rounds = 0;
  std::uint32_t round = 0;
  std::optional<Value> own = {};          // of the source
  std::map<Path, Value> told = {};        // to this process, by the last of the path
  std::map<Path, Value> passing_on = {};  // in the next round
  bool decided = false;
  std::optional<Treason> treason = {};  // of a traitor

  bool operator==(const ByzantineOral&) const = default;

  static ByzantineOral start(NodeId self, const NodeSet& all, const Setup& setup, Out&) {
    ByzantineOral node = {.self = self,
                          .members = all,
                          .source = setup.source,
                          .default_value = setup.default_value,
                          .rounds = setup.rounds};
    if (setup.treason.traitors.contains(self)) node.treason = setup.treason;
    return node;
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    return {.value = setup.value,
            .proposes = self == setup.source,
            .waits = !setup.treason.traitors.contains(self)};
  }

  void on_command(Out&, const Propose& mine) {
    ensure(self == source, "only the source has a value");
    own = mine.value;
    passing_on = {{{self}, mine.value}};
  }

  void on_round(Out& out, std::uint32_t begun) {
    round = begun;
    if (decided) return;
    if (round > rounds) return treason ? void() : decide(out);
    const auto news = std::exchange(passing_on, {});
    for (NodeId listener : members) {
      if (listener == self) continue;
      Hearsay said;
      for (const auto& [path, value] : news) {
        if (std::ranges::count(path, listener) == 0) said.told[path] = spoken(listener, path, value);
      }
      if (!said.told.empty()) out.send(listener, std::move(said));
    }
  }

  void on_message(Out& out, NodeId from, const Hearsay& theirs) {
    for (const auto& [path, value] : theirs.told) {
      if (!plausible(path, from)) {
        out.note("nobody can have heard that");
      } else if (told.emplace(path, value).second) {
        Path longer = path;
        longer.push_back(self);
        passing_on.emplace(std::move(longer), value);
      }
    }
  }

  // The sender is who it is, and that is all one can check: the rest of the path is hearsay.
  bool plausible(const Path& path, NodeId from) const {
    if (path.size() != round || path.front() != source || path.back() != from) return false;
    NodeSet seen = {self};
    for (NodeId node : path) {
      if (!members.contains(node) || seen.contains(node)) return false;
      seen.insert(node);
    }
    return true;
  }

  // What the last of the path was told by the one before, as far as this process can find out.
  Value believed(const Path& path) const {
    const auto heard = told.find(path);
    const Value direct = heard == told.end() ? default_value : heard->second;
    if (path.size() == rounds) return direct;
    std::map<Value, std::size_t> votes = {{direct, 1}};
    std::size_t voters = 1;
    for (NodeId other : members) {
      if (other == self || std::ranges::count(path, other) > 0) continue;
      Path longer = path;
      longer.push_back(other);
      ++votes[believed(longer)];
      ++voters;
    }
    for (const auto& [value, count] : votes) {
      if (2 * count > voters) return value;
    }
    return default_value;
  }

  void decide(Out& out) {
    decided = true;
    out.announce(Decided{own ? *own : believed({source})});
  }

  // A traitor says to each what it likes.
  Value spoken(NodeId listener, const Path& path, Value value) const {
    if (!treason) return value;
    std::uint64_t about = listener.value;
    for (NodeId node : path) about = about * 1009 + node.value;
    return whim(treason->whims, about) % 2 == 0 ? treason->one : treason->other;
  }
};
static_assert(Protocol<ByzantineOral>);

}  // namespace conclave::consensus
