#include "protocols/consensus/treason.hpp"

#include "core/ensure.hpp"

namespace conclave::consensus {
namespace {

Order add(const Treason& treason, const Order& order, NodeId signer) {
  return treason.in_writing ? order.endorsed(treason.keys, signer) : order.endorsed_by_word(signer);
}

// In the name of somebody whose key it does not have: with its own.
Order add_forged(const Treason& treason, const Order& order, NodeId self, NodeId victim) {
  if (!treason.in_writing) return order.endorsed_by_word(victim);
  Order more = order;
  more.chain.push_back({victim, sign(treason.keys, self, order.text(order.chain.size()))});
  return more;
}

// An order that carries up to `most` signatures of traitors, the source's first.
Order signed_by_traitors(const Treason& treason, Value value, std::size_t most) {
  Order order = add(treason, {value}, treason.source);
  for (NodeId traitor : treason.traitors) {
    if (order.chain.size() < most && traitor != treason.source) order = add(treason, order, traitor);
  }
  return order;
}

// An order that looks as an order of that round must: the source's name first, one's own last.
Order forged(const Treason& treason, NodeId self, Value value, std::uint32_t round) {
  Order order = add_forged(treason, {value}, self, treason.source);
  for (NodeId member : treason.members) {
    if (order.chain.size() + 1 < round && member != treason.source && member != self)
      order = add_forged(treason, order, self, member);
  }
  return add(treason, order, self);
}

NodeSet victims(const Treason& treason) {
  NodeSet loyal = treason.members;
  for (NodeId traitor : treason.traitors) loyal.erase(traitor);
  return loyal;
}

// An accomplice of the source shows the first half what the second half was told.
Lies equivocation(const Treason& treason, NodeId self, std::uint32_t round) {
  Lies said;
  const bool source = self == treason.source;
  if (round != (source ? 1u : 2u) || !treason.traitors.contains(treason.source)) return said;
  bool first_half = false;
  for (NodeId victim : victims(treason)) {
    first_half = !first_half;
    const Value value = source && first_half ? treason.one : treason.other;
    const Order order = add(treason, {value}, treason.source);
    if (source) said.emplace_back(victim, order);
    if (!source && first_half) said.emplace_back(victim, add(treason, order, self));
  }
  return said;
}

Lies forgery(const Treason& treason, NodeId self, std::uint32_t round) {
  Lies said;
  if (round < 2) return said;
  for (NodeId victim : victims(treason)) {
    if (victim != treason.source) said.emplace_back(victim, forged(treason, self, treason.other, round));
  }
  return said;
}

Lies lateness(const Treason& treason, NodeId self, std::uint32_t round) {
  Lies said;
  const NodeSet loyal = victims(treason);
  if (self != treason.source || loyal.empty()) return said;
  const auto all = treason.traitors.size();
  if (round == 1) {
    for (NodeId victim : loyal) said.emplace_back(victim, signed_by_traitors(treason, treason.one, 1));
  }
  const Order order = signed_by_traitors(treason, treason.other, all);
  if (round == all) said.emplace_back(loyal.min(), order);
  if (round == treason.rounds && round > all)
    said.emplace_back(loyal.max(), signed_by_traitors(treason, treason.other + 1, all));
  return said;
}

Lies erratically(const Treason& treason, NodeId self, std::uint32_t round) {
  Lies said;
  for (NodeId victim : victims(treason)) {
    const std::uint64_t x =
        whim(treason.whims, (std::uint64_t{self.value} << 40) + (std::uint64_t{victim.value} << 20) + round);
    const Value value = x % 2 == 0 ? treason.one : treason.other;
    const std::uint64_t mood = x / 2 % 4;
    if (mood == 1 && self != treason.source) said.emplace_back(victim, forged(treason, self, value, round));
    if (mood > 1 && treason.traitors.contains(treason.source))
      said.emplace_back(victim, signed_by_traitors(treason, value, x / 8 % (round + 1)));
  }
  return said;
}

}  // namespace

Lies lies(const Treason& treason, NodeId self, std::uint32_t round) {
  ensure(treason.traitors.contains(self), "only traitors lie");
  if (round > treason.rounds) return {};
  const bool source = self == treason.source;
  switch (treason.strategy) {
    case Strategy::silent: return {};
    case Strategy::equivocate: return equivocation(treason, self, round);
    case Strategy::forge: return source ? equivocation(treason, self, round) : forgery(treason, self, round);
    case Strategy::late: return lateness(treason, self, round);
    case Strategy::erratic: return erratically(treason, self, round);
  }
  return {};
}

}  // namespace conclave::consensus
