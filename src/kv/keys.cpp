#include "kv/keys.hpp"

#include <algorithm>

#include "core/ensure.hpp"
#include "core/prefetch.hpp"

namespace conclave::kv {
namespace {

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
    } else if (at->exists() && at->newest->create() == create) {
      return at;
    } else {
      at = at->links.right;
    }
  }
}

}  // namespace

Keys::Keys(std::uint64_t seed) : seed_(seed) { pages_.push_back(std::make_unique<Key*[]>(page_buckets)); }

Keys::~Keys() {
  for (std::size_t i = 0; i < buckets_; ++i) {
    for (Key* key = bucket(i); key;) {
      Key* const next = key->next_in_bucket;
      for (Record* record : key->older) give_up(record);
      if (key->newest) give_up(key->newest);
      forget_key(key);
      key = next;
    }
  }
}

Key* Keys::find(std::string_view text) const {
  const std::uint32_t hash = hash_of(text);
  for (Key* key = bucket(bucket_of(hash)); key; key = key->next_in_bucket)
    if (key->hash == hash && key->text() == text) return key;
  return nullptr;
}

Key& Keys::find_or_add(std::string_view text) {
  const std::uint32_t hash = hash_of(text);
  for (Key* key = bucket(bucket_of(hash)); key; key = key->next_in_bucket)
    if (key->hash == hash && key->text() == text) return *key;
  return add(text, hash, [text](const Key& other) { return text < other.text(); });
}

Key& Keys::add_last(std::string_view text) {
  return add(text, hash_of(text), [](const Key&) { return false; });
}

template <class Precedes>
Key& Keys::add(std::string_view text, std::uint32_t hash, Precedes precedes) {
  if (size_ >= buckets_) add_bucket();
  Key*& place = bucket(bucket_of(hash));
  prefetch(&place);
  Key* const key = new_key(text, hash);
  tree_.insert(*key, precedes);
  key->next_in_bucket = place;
  place = key;
  ++size_;
  return *key;
}

void Keys::remove(Key& key) {
  Key** place = &bucket(bucket_of(key.hash));
  while (*place != &key) place = &(*place)->next_in_bucket;
  *place = key.next_in_bucket;
  tree_.erase(key);
  --size_;
  forget_key(&key);
}

// Keys lie anywhere in memory, but it is known whose turn it is in a moment.
void Keys::fetch_ahead(std::size_t i) const {
  constexpr std::size_t soon = 4;
  if (i + 2 * soon >= level_) return;
  if (const Key* const key = bucket(i + 2 * soon)) prefetch(&key->next_in_bucket);
  if (const Key* const key = bucket(i + soon); key && key->next_in_bucket)
    prefetch(&key->next_in_bucket->next_in_bucket);
}

void Keys::add_bucket() {
  if (buckets_ % page_buckets == 0) pages_.push_back(std::make_unique<Key*[]>(page_buckets));
  Key*& added = bucket(buckets_);
  fetch_ahead(buckets_ - level_);
  Key** place = &bucket(buckets_ - level_);
  ++buckets_;
  while (Key* const key = *place) {
    if ((key->hash & level_) == 0) {
      place = &key->next_in_bucket;
    } else {
      *place = key->next_in_bucket;
      key->next_in_bucket = added;
      added = key;
    }
  }
  if (buckets_ == 2 * level_) level_ = buckets_;
}

// These go up to the root, and look aside only where they must: most of what they do is waiting for memory.
void Keys::note_birth(Key& key) {
  const Revision create = key.newest->create();
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
        if (key.newest->create() >= least) return;
        least = key.newest->create();
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
