#include "kv/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace conclave::kv {
namespace {

// Checks heights, order and sums, and returns the height.
int examine(const Key* at, const Key* parent) {
  if (!at) return 0;
  EXPECT_EQ(at->links.parent, parent);
  const int left = examine(at->links.left, at);
  const int right = examine(at->links.right, at);
  EXPECT_LE(std::abs(left - right), 1);
  EXPECT_EQ(at->height, 1 + std::max(left, right));
  Key copy = {};
  copy.links = at->links;
  copy.newest = at->newest;
  copy.refresh();
  EXPECT_EQ(copy.alive, at->alive);
  EXPECT_EQ(copy.oldest, at->oldest);
  return 1 + std::max(left, right);
}

const Key* top_of(const Keys& keys) {
  const Key* top = keys.first();
  while (top && top->links.parent) top = top->links.parent;
  return top;
}

void take_record(Keys& keys, Key& key) {
  Record* before = std::exchange(key.newest, nullptr);
  if (!before) return;
  if (!before->is_deletion()) keys.note_death(key, before->create());
  give_up(before);
}

void give_record(Keys& keys, Key& key, Revision create) {
  take_record(keys, key);
  key.newest = new_record(key, {.create = create, .mod = 2000}, {});
  if (create != 0) keys.note_birth(key);
}

TEST(Keys, AgreeWithASortedMapThroughInsertsAndRemovals) {
  Keys keys(5);
  std::map<std::string, Revision> expected;  // 0: known, and does not exist
  std::uint64_t state = 1;
  const auto draw = [&](std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string text = "k" + std::to_string(draw(i < 10000 ? 3000 : 300));
    if (draw(3) == 0) {
      Key* key = keys.find(text);
      EXPECT_EQ(key != nullptr, expected.contains(text));
      if (key) {
        take_record(keys, *key);
        keys.remove(*key);
      }
      expected.erase(text);
    } else {
      const Revision create = draw(4) == 0 ? 0 : static_cast<Revision>(1 + draw(1000));
      give_record(keys, keys.find_or_add(text), create);
      expected[text] = create;
    }
    if (i % 500 != 0) continue;
    EXPECT_EQ(keys.size(), expected.size());
    examine(top_of(keys), nullptr);
    std::string from = "k" + std::to_string(draw(300));
    std::string to = "k" + std::to_string(draw(300));
    std::uint64_t count = 0;
    std::pair<Revision, std::string> oldest = {never, ""};
    for (const auto& [key, create] : expected) {
      if (create == 0 || key < from || key >= to) continue;
      ++count;
      oldest = std::min(oldest, {create, key});
    }
    EXPECT_EQ(keys.count({from, to}), count);
    const Key* found = keys.oldest({from, to});
    EXPECT_EQ(found ? std::string(found->text()) : "", oldest.second);
    auto next = expected.begin();
    for (Key* key = keys.first(); key; key = Keys::next(*key)) EXPECT_EQ(key->text(), (next++)->first);
  }
}

TEST(Keys, AreFoundWhileTheTableGrows) {
  Keys keys;
  for (int i = 0; i < 10000; ++i) {
    keys.find_or_add("k" + std::to_string(i));
    EXPECT_NE(keys.find("k" + std::to_string(i / 2)), nullptr);
  }
  for (int i = 0; i < 10000; ++i) ASSERT_NE(keys.find("k" + std::to_string(i)), nullptr);
  EXPECT_EQ(keys.find("k10000"), nullptr);
}

TEST(Keys, ThatComeInOrderMakeTheSameTree) {
  Keys keys(5);
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) texts.push_back("k" + std::to_string(10'000 + i));
  for (const std::string& text : texts) {
    give_record(keys, keys.add_last(text), 1 + static_cast<Revision>(text.size() * 7 % 11));
    if (keys.size() % 200 == 0) examine(top_of(keys), nullptr);
  }
  examine(top_of(keys), nullptr);
  auto next = texts.begin();
  for (Key* key = keys.first(); key; key = Keys::next(*key)) EXPECT_EQ(key->text(), *next++);
  for (const std::string& text : texts) ASSERT_NE(keys.find(text), nullptr);
  EXPECT_EQ(keys.count({texts.front(), texts.back()}), texts.size() - 1);
}

TEST(KeyRange, MeansWhatEtcdMeans) {
  const KeyRange single = {"a", ""};
  const KeyRange half_open = {"a", "c"};
  const KeyRange open = {"b", KeyRange::no_end};
  EXPECT_TRUE(single.contains("a"));
  EXPECT_FALSE(single.contains("a1"));
  EXPECT_TRUE(half_open.contains("bzz"));
  EXPECT_FALSE(half_open.contains("c"));
  EXPECT_TRUE(open.contains("zzz"));
  EXPECT_FALSE(open.contains("a"));
  EXPECT_TRUE((KeyRange{"b", "b"}).is_empty());
}

}  // namespace
}  // namespace conclave::kv
