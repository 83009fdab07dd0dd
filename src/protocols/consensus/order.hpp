// An order on its way through the ranks: a value, and who has signed it, one after the other.
// Every signature covers the value and all signatures before it, so that a chain can only grow.
#pragma once
#include <algorithm>
#include <vector>

#include "core/node_set.hpp"
#include "protocols/consensus/signatures.hpp"
#include "protocols/consensus/spec.hpp"

namespace conclave::consensus {

struct Order {
  struct Endorsement {
    NodeId signer = {};
    std::string signature = {};
    bool operator==(const Endorsement&) const = default;
  };
  Value value = 0;
  std::vector<Endorsement> chain = {};
  bool operator==(const Order&) const = default;

  bool signed_by(NodeId node) const { return std::ranges::count(chain, node, &Endorsement::signer) > 0; }

  // What the one who signs in this place of the chain puts its name to.
  std::string text(std::size_t place) const {
    std::string out = "order " + std::to_string(value);
    for (std::size_t i = 0; i < place; ++i) {
      out += ' ';
      out += std::to_string(chain[i].signer.value);
      out += ':';
      out += chain[i].signature;
    }
    return out;
  }

  Order endorsed(const Keys& keys, NodeId signer) const {
    Order more = *this;
    more.chain.push_back({signer, sign(keys, signer, text(chain.size()))});
    return more;
  }

  // A name without a signature.
  Order endorsed_by_word(NodeId signer) const {
    Order more = *this;
    more.chain.push_back({signer, {}});
    return more;
  }

  // The names: the source's first, and nobody's twice.
  bool well_formed(NodeId source, const NodeSet& members) const {
    if (chain.empty() || chain.front().signer != source) return false;
    NodeSet seen;
    for (const Endorsement& endorsement : chain) {
      if (!members.contains(endorsement.signer) || seen.contains(endorsement.signer)) return false;
      seen.insert(endorsement.signer);
    }
    return true;
  }

  // The signatures: everybody named did sign.
  bool authentic(const Keys& keys) const {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (!verify(keys, chain[i].signer, text(i), chain[i].signature)) return false;
    }
    return true;
  }
};

}  // namespace conclave::consensus
