#include "kv/agreement.hpp"

#include <algorithm>

namespace conclave::kv {

// Null if it is older than all that are kept.
Agreement::Round* Agreement::round(std::uint64_t index) {
  auto place = std::ranges::lower_bound(rounds_, index, {}, &Round::index);
  if (place != rounds_.end() && place->index == index) return &*place;
  if (rounds_.size() == most_rounds) {
    if (place == rounds_.begin()) return nullptr;
    rounds_.pop_front();
    place = std::ranges::lower_bound(rounds_, index, {}, &Round::index);
  }
  return &*rounds_.insert(place, {.index = index});
}

void Agreement::note(std::uint64_t index, Digest digest) {
  if (Round* one = round(index)) one->ours = digest;
}

Agreement::Verdict Agreement::hear(const Vouch& vouch, const NodeSet& voters) {
  const NodeId member = {vouch.member};
  if (!voters.contains(member)) return Verdict::nothing;
  Round* one = round(vouch.index);
  if (!one || !one->ours) return Verdict::nothing;
  one->heard[member] = vouch.digest;
  std::map<Digest, std::uint32_t> counts;
  for (const auto& [who, digest] : one->heard) ++counts[digest];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  if (most->second <= voters.size() / 2)
    return one->heard.size() == voters.size() ? Verdict::nobody_knows : Verdict::nothing;
  if (most->first != *one->ours) return Verdict::we_differ;
  agreed_ = std::max(agreed_, one->index);
  return vouch.digest == *one->ours ? Verdict::agreed : Verdict::another_differs;
}

}  // namespace conclave::kv
