// All keys: a hash table for those who know the key, and a tree for those who ask for a range.
//
// The tree sums up how many keys exist below a node and which of them was created first, so counting a range
// and finding who stands first in a line take the height of the tree, however many keys there are.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kv/record.hpp"

namespace conclave::kv {

// The keys a request means. No end: the one key; an end of one zero byte: all from the key on; otherwise
// those from the key up to, and without, the end.
struct KeyRange {
  std::string_view key = {};
  std::string_view end = {};

  static constexpr std::string_view no_end = {"\0", 1};

  bool is_single() const { return end.empty(); }
  bool is_open() const { return end == no_end; }
  bool is_empty() const { return !is_single() && !is_open() && end <= key; }
  bool starts_after(std::string_view text) const { return text < key; }
  bool ends_before(std::string_view text) const {
    if (is_single()) return text > key;
    return !is_open() && text >= end;
  }
  bool contains(std::string_view text) const { return !starts_after(text) && !ends_before(text); }
};

class Keys {
 public:
  // Whoever chooses keys should not know which of them share a bucket: the seed is the member's own, and no
  // part of the state.
  explicit Keys(std::uint64_t seed = 0);
  ~Keys();
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  Key* find(std::string_view text) const;
  Key& find_or_add(std::string_view text);
  // A key that comes after all others: nobody looks whether it does.
  Key& add_last(std::string_view text);
  void remove(Key& key);
  // After its newest record made a key exist, or no longer exist, that had been created then.
  void note_birth(Key& key);
  void note_death(Key& key, Revision create);

  std::size_t size() const { return size_; }
  std::size_t alive() const { return tree_.root() ? tree_.root()->alive : 0; }  // that exist now
  Key* first() const { return tree_.first(); }
  static Key* next(Key& key) { return Tree<Key>::next(key); }

  std::uint64_t count(const KeyRange& range) const;
  // Of those that exist, the one created first; of several created at once, the least.
  Key* oldest(const KeyRange& range) const;
  // In order, those that exist now, or all; until the visitor returns false.
  template <class Visitor>
  void visit(const KeyRange& range, bool only_existing, Visitor visitor) const {
    if (range.is_single()) {
      Key* key = find(range.key);
      if (key && (!only_existing || key->exists())) visitor(*key);
      return;
    }
    if (!range.is_empty()) visit_below(tree_.root(), range, only_existing, visitor);
  }

 private:
  template <class Visitor>
  static bool visit_below(Key* at, const KeyRange& range, bool only_existing, Visitor& visitor) {
    if (!at || (only_existing && at->alive == 0)) return true;
    const std::string_view text = at->text();
    const bool early = range.starts_after(text);
    const bool late = range.ends_before(text);
    if (!early && !visit_below(at->links.left, range, only_existing, visitor)) return false;
    if (!early && !late && (!only_existing || at->exists()) && !visitor(*at)) return false;
    return late || visit_below(at->links.right, range, only_existing, visitor);
  }

  std::uint32_t hash_of(std::string_view text) const {
    return static_cast<std::uint32_t>(digest(text, seed_));
  }
  std::size_t bucket_of(std::uint32_t hash) const {
    const std::size_t i = hash & (2 * level_ - 1);
    return i < buckets_ ? i : i - level_;
  }
  Key*& bucket(std::size_t i) const { return pages_[i / page_buckets][i % page_buckets]; }
  template <class Precedes>
  Key& add(std::string_view text, std::uint32_t hash, Precedes precedes);
  void add_bucket();
  void fetch_ahead(std::size_t i) const;

  static constexpr std::size_t page_buckets = 4096;

  std::uint64_t seed_;
  std::size_t size_ = 0;
  Tree<Key> tree_;
  // The table grows by a bucket with each key, which takes over its part of an earlier one (linear hashing):
  // no single insert pays for all, and there are never many more buckets than keys.
  std::vector<std::unique_ptr<Key*[]>> pages_;
  std::size_t buckets_ = 1;
  std::size_t level_ = 1;  // the greatest power of two that is no more than that
};

}  // namespace conclave::kv
