// Leader by lottery: proof of work on a chain of blocks.
// Every process draws lots all the time; who wins proposes the next block, on top of the longest chain it
// knows, and is the leader of that block's height. Two may win at once: the chain forks, and the branch that
// grows first wins. A leader counts as confirmed when enough blocks stand on its own.
//
// Paper     S. Nakamoto. Bitcoin: A Peer-to-Peer Electronic Cash System, 2008.
// Assumes   reliable links; messages fast against the time between two blocks; no failures.
// Costs     N-1 messages per block.
// Violates  certainty: a confirmed leader can be reversed, by chance or by an attacker. With a share q of the
//           lots he succeeds after z confirmations with probability 1 - sum_{k=0..z} Poisson(zq/p; k)
//           (1 - (q/p)^(z-k)), p = 1 - q (the paper, section 11). It takes the time of z honest blocks for
//           its mean; drawn as it is (M. Rosenfeld, Analysis of Hashrate-Based Double-Spending, 2012) it
//           makes the number of his blocks negative binomial.
// Variant   `attacker`: the process with the greatest id mines a secret branch from the root, one block
//           ahead at the start as both papers have it, and shows it when it is longer and z blocks stand.
#pragma once
#include <map>

#include "core/protocol.hpp"
#include "protocols/election/lottery.hpp"

namespace conclave::election {

struct ProofOfWork {
  // Who made it, and how many it had made before: that names a block. The root is {0, 0}.
  struct BlockId {
    NodeId miner = {};
    std::uint32_t serial = 0;
    auto operator<=>(const BlockId&) const = default;
  };
  struct Block {
    BlockId id = {};
    BlockId parent = {};
    std::uint32_t height = 0;
    bool operator==(const Block&) const = default;
  };

  using Spec = LotterySpec;
  using Message = std::variant<Block>;
  enum class Timer { found };
  using Out = Effects<ProofOfWork>;
  struct Setup {
    NodeSet members = {};
    std::uint64_t interval = 10'000;   // mean ticks between two blocks of all together
    std::uint32_t confirmations = 6;   // that make a leader count
    std::uint32_t attacker_share = 0;  // of all lots, in thousandths; the others share the rest equally
    std::uint32_t gives_up = 30;       // blocks behind
  };
  static constexpr Assumptions assumes = {.links = Links::reliable_unordered};
  static constexpr bool never_rests = true;
  static constexpr unsigned lots = 1u << 30;  // faces of the coin that stands for a draw

  NodeId self = {};
  NodeSet peers = {};
  std::uint64_t mean_wait = 1;  // of this process for a block of its own
  std::uint32_t confirmations = 1;
  std::uint32_t gives_up = 0;
  bool attacks = false;
  std::map<BlockId, Block> blocks = {};
  std::map<BlockId, std::vector<Block>> orphans = {};  // by the parent they wait for
  Block head = {};
  std::uint32_t mined = 0;
  std::map<std::uint32_t, NodeId> confirmed = {};  // leaders by height
  // The attacker's branch.
  std::vector<Block> secret = {};

  bool operator==(const ProofOfWork&) const = default;

  static bool is_attacker(NodeId node, const Setup& setup) {
    return setup.attacker_share > 0 && node == setup.members.max();
  }

  static Spec::Client client(NodeId self, const Setup& setup) {
    return {.attacks = is_attacker(self, setup)};
  }

  static ProofOfWork start(NodeId self, const NodeSet& all, const Setup& setup, Out& out) {
    const bool attacks = is_attacker(self, setup);
    const std::uint32_t honest = all.size() - (setup.attacker_share > 0 ? 1 : 0);
    const double share = attacks ? setup.attacker_share / 1000.0
                                 : (1000 - setup.attacker_share) / 1000.0 / std::max(1u, honest);
    ProofOfWork node = {.self = self,
                        .peers = all.without(self),
                        .mean_wait = static_cast<std::uint64_t>(static_cast<double>(setup.interval) / share),
                        .confirmations = setup.confirmations,
                        .gives_up = setup.gives_up,
                        .attacks = attacks};
    node.blocks[{}] = {};
    if (attacks) node.secret.push_back(node.next_block({}));  // one block ahead
    out.choose(lots);
    return node;
  }

  void on_command(Out& out, const Mine&) { out.note("mining began when the process did"); }

  // The wait for the next winning lot: exponential, whatever was drawn before.
  void on_choice(Out& out, unsigned face) {
    const double unit = (static_cast<double>(face) + 1) / lots;
    const auto wait = static_cast<std::uint64_t>(-std::log(unit) * static_cast<double>(mean_wait));
    out.arm(Timer::found, {{wait}, {wait}});
  }

  void on_timer(Out& out, Timer) {
    if (attacks) {
      secret.push_back(next_block(secret.empty() ? head : secret.back()));
      race(out);
    } else {
      const Block block = next_block(head);
      out.broadcast(peers, block);
      add(out, block);
    }
    out.choose(lots);
  }

  void on_message(Out& out, NodeId, const Block& block) {
    if (blocks.contains(block.id)) return out.note("known already");
    if (!blocks.contains(block.parent)) {
      orphans[block.parent].push_back(block);
      return out.note("its parent is not here yet");
    }
    add(out, block);
    if (attacks) race(out);
  }

  Block next_block(const Block& parent) {
    return {.id = {self, ++mined}, .parent = parent.id, .height = parent.height + 1};
  }

  void add(Out& out, const Block& block) {
    ensure(blocks.at(block.parent).height + 1 == block.height, "a block stands on its parent");
    blocks[block.id] = block;
    // The first of equal length stays.
    if (block.height > head.height) {
      head = block;
      confirm(out);
    }
    if (const auto waiting = orphans.find(block.id); waiting != orphans.end()) {
      const std::vector<Block> children = std::move(waiting->second);
      orphans.erase(waiting);
      for (const Block& child : children) add(out, child);
    }
  }

  // Walks down the longest chain as far as it says something new.
  void confirm(Out& out) {
    Block block = head;
    std::vector<Confirmed> news;
    while (block.height > 0) {
      const bool deep = head.height - block.height + 1 >= confirmations;
      const auto known = confirmed.find(block.height);
      if (deep && known != confirmed.end() && known->second == block.id.miner) break;
      if (deep) {
        if (known != confirmed.end()) out.announce(Reversed{block.height, known->second});
        confirmed[block.height] = block.id.miner;
        news.push_back({block.height, block.id.miner});
      }
      block = blocks.at(block.parent);
    }
    for (auto lower = news.rbegin(); lower != news.rend(); ++lower) out.announce(*lower);
  }

  void race(Out& out) {
    if (secret.empty()) return;
    const std::uint32_t theirs = head.height;
    const std::uint32_t ours = secret.back().height;
    if (theirs >= confirmations && ours > theirs) {
      for (const Block& block : secret) out.broadcast(peers, block);
      for (const Block& block : std::exchange(secret, {})) add(out, block);
      return out.announce(Attacked{true});
    }
    if (theirs < ours + gives_up) return;
    secret.clear();
    out.announce(Attacked{false});
  }
};
static_assert(Protocol<ProofOfWork>);

}  // namespace conclave::election
