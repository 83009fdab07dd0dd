#include "kv/keys.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

constexpr std::size_t first_buckets = 64;
constexpr std::size_t moved_at_once = 4;

// Splits a range into single keys and whole subtrees, as many of each as the tree is high.
template <class Single, class Subtree>
void cover(Key* at, const KeyRange& range, bool check_start, bool check_end, const Single& single,
           const Subtree& subtree) {
  if (!at || at->alive == 0) return;
  if (!check_start && !check_end) return subtree(*at);
  const bool early = check_start && range.starts_after(at->text());
  const bool late = check_end && range.ends_before(at->text());
  if (!early) cover(at->links.left, range, check_start, check_end && late, single, subtree);
  if (!early && !late && at->exists()) single(*at);
  if (!late) cover(at->links.right, range, check_start && early, check_end, single, subtree);
}

// The first key in order that was created then.
Key* created_at(Key& top, Revision create) {
  for (Key* at = &top;;) {
    ensure(at->oldest == create, "a subtree knows its oldest key");
    if (at->links.left && at->links.left->oldest == create) {
      at = at->links.left;
    } else if (at->exists() && at->newest->create == create) {
      return at;
    } else {
      at = at->links.right;
    }
  }
}

}  // namespace

Keys::Keys(std::uint64_t seed) : seed_(seed), buckets_(first_buckets) {}

Keys::~Keys() {
  for (const std::vector<Key*>* table : {&buckets_, &greater_}) {
    for (Key* key : *table) {
      while (key) {
        Key* next = key->next_in_bucket;
        for (std::size_t i = key->gone; i < key->older.size(); ++i) give_up(key->older[i]);
        if (key->newest) give_up(key->newest);
        forget_key(key);
        key = next;
      }
    }
  }
}

Key** Keys::bucket(std::uint64_t hash) {
  const std::size_t in_small = hash & (buckets_.size() - 1);
  if (in_small >= moved_) return &buckets_[in_small];
  return &greater_[hash & (greater_.size() - 1)];
}

Key* Keys::find(std::string_view text) const {
  const std::uint64_t hash = digest(text, seed_);
  for (Key* key = *bucket(hash); key; key = key->next_in_bucket)
    if (key->hash == hash && key->text() == text) return key;
  return nullptr;
}

Key& Keys::find_or_add(std::string_view text) {
  if (Key* known = find(text)) return *known;
  grow_a_little();
  Key* key = new_key(text, digest(text, seed_));
  Key** place = bucket(key->hash);
  key->next_in_bucket = *place;
  *place = key;
  tree_.insert(*key, [text](const Key& other) { return text < other.text(); });
  ++size_;
  return *key;
}

void Keys::remove(Key& key) {
  Key** place = bucket(key.hash);
  while (*place != &key) place = &(*place)->next_in_bucket;
  *place = key.next_in_bucket;
  tree_.erase(key);
  --size_;
  forget_key(&key);
}

// These go up to the root, and look aside only where they must: most of what they do is waiting for memory.
void Keys::note_birth(Key& key) {
  const Revision create = key.newest->create;
  for (Key* at = &key; at; at = at->links.parent) {
    ++at->alive;
    at->oldest = std::min(at->oldest, create);
  }
}

void Keys::note_death(Key& key, Revision create) {
  for (Key* at = &key; at; at = at->links.parent) {
    if (at->oldest == create) {
      at->refresh();
    } else {
      --at->alive;
    }
  }
}

void Keys::grow_a_little() {
  if (greater_.empty()) {
    if (size_ < buckets_.size()) return;
    greater_.resize(buckets_.size() * 2);
  }
  for (std::size_t left = moved_at_once; left > 0 && moved_ < buckets_.size(); --left) {
    Key* key = std::exchange(buckets_[moved_++], nullptr);
    while (key) {
      Key* next = key->next_in_bucket;
      Key*& place = greater_[key->hash & (greater_.size() - 1)];
      key->next_in_bucket = place;
      place = key;
      key = next;
    }
  }
  if (moved_ < buckets_.size()) return;
  buckets_ = std::move(greater_);
  greater_.clear();
  moved_ = 0;
}

std::uint64_t Keys::count(const KeyRange& range) const {
  if (range.is_empty()) return 0;
  if (range.is_single()) {
    const Key* key = find(range.key);
    return key && key->exists() ? 1 : 0;
  }
  std::uint64_t sum = 0;
  cover(
      tree_.root(), range, true, !range.is_open(), [&](Key&) { ++sum; }, [&](Key& top) { sum += top.alive; });
  return sum;
}

Key* Keys::oldest(const KeyRange& range) const {
  if (range.is_empty()) return nullptr;
  if (range.is_single()) {
    Key* key = find(range.key);
    return key && key->exists() ? key : nullptr;
  }
  Revision least = never;
  Key* found = nullptr;
  bool whole_subtree = false;
  cover(
      tree_.root(), range, true, !range.is_open(),
      [&](Key& key) {
        if (key.newest->create >= least) return;
        least = key.newest->create;
        found = &key;
        whole_subtree = false;
      },
      [&](Key& top) {
        if (top.oldest >= least) return;
        least = top.oldest;
        found = &top;
        whole_subtree = true;
      });
  return found && whole_subtree ? created_at(*found, least) : found;
}

}  // namespace conclave::kv
