// Whether the replicas still have the same state: each says now and then what its digest was after some entry
// of the log, and everybody compares.
//
//   agreement.note(index, store.digest());              // ours, to be compared with what others say
//   agreement.hear({member, index, digest}, voters);    // what one said, us included
//
// Memory and disks fail silently, and so do programs that are not as deterministic as they should be. Whoever
// differs from a majority must stop: what it answers is not what was agreed.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "core/node_set.hpp"
#include "kv/command.hpp"
#include "kv/digest.hpp"

namespace conclave::kv {

class Agreement {
 public:
  enum class Verdict {
    nothing,    // too few have spoken, or we do not know what ours was
    agreed,     // a majority has our digest
    we_differ,  // a majority has another one
    another_differs,
    nobody_knows  // all have spoken, and no digest has a majority
  };

  void note(std::uint64_t index, Digest digest);
  // The state came from elsewhere: what we knew of the former one says nothing about it.
  void forget() { *this = {}; }
  Verdict hear(const Vouch& vouch, const NodeSet& voters);
  // The last entry after which a majority had our digest.
  std::uint64_t agreed() const { return agreed_; }

 private:
  static constexpr std::size_t most_rounds = 16;
  struct Round {
    std::uint64_t index = 0;
    std::optional<Digest> ours = {};
    std::map<NodeId, Digest> heard = {};
  };
  Round* round(std::uint64_t index);

  std::deque<Round> rounds_;  // by index
  std::uint64_t agreed_ = 0;
};

}  // namespace conclave::kv
