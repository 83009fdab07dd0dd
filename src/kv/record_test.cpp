#include "kv/record.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace conclave::kv {
namespace {

Change told_by(const Record& record) {
  return {record.create(), record.mod, record.version(), record.lease(), record.sub};
}

TEST(Record, SaysWhatItWasMadeOfWhateverItHasToStore) {
  Key* const key = new_key("key", 7);
  const std::vector<Change> changes = {
      {.create = 5, .mod = 5, .version = 1},
      {.create = 5, .mod = 5, .version = 1, .lease = -3, .sub = 9},
      {.create = 5, .mod = 6, .version = 2},
      {.create = 5, .mod = 6, .version = 2, .lease = 4},
      {.create = 5, .mod = 6, .version = 1},  // nobody writes these three
      {.create = 5, .mod = 5, .version = 2},
      {.create = 6, .mod = 5, .version = 1},
      {.create = never - 1, .mod = never - 1, .version = 1, .lease = never, .sub = 0xffffffff},
      {.create = 2, .mod = never - 1, .version = never - 2, .lease = 1},
      {.mod = 8, .sub = 1},
  };
  for (const std::size_t size : {0, 1, 7, 300, 70'000}) {
    const std::string value(size, 'v');
    for (const Change& change : changes) {
      Record* const record = new_record(*key, change, value);
      const Change told = told_by(*record);
      EXPECT_EQ(told.create, change.create);
      EXPECT_EQ(told.mod, change.mod);
      EXPECT_EQ(told.version, change.version);
      EXPECT_EQ(told.lease, change.lease);
      EXPECT_EQ(told.sub, change.sub);
      EXPECT_EQ(record->is_deletion(), change.create == 0);
      EXPECT_EQ(record->value(), value);
      EXPECT_EQ(record->digest(), record->digest_of_contents());
      give_up(record);
    }
  }
  EXPECT_EQ(key->references, 1u);
  forget_key(key);
}

TEST(Record, HasADigestThatTellsAllItsNumbersApart) {
  Key* const key = new_key("key", 7);
  Key* const other = new_key("kez", 7);
  const Change change = {.create = 5, .mod = 6, .version = 2, .lease = 3, .sub = 4};
  const auto digest_of = [](Key& of, const Change& said, std::string_view value) {
    Record* const record = new_record(of, said, value);
    const Digest digest = record->digest();
    give_up(record);
    return digest;
  };
  std::vector<Digest> digests = {digest_of(*key, change, "v"), digest_of(*other, change, "v"),
                                 digest_of(*key, change, "w")};
  for (const Change& one : std::vector<Change>{
           {4, 6, 2, 3, 4}, {5, 7, 2, 3, 4}, {5, 6, 3, 3, 4}, {5, 6, 2, 0, 4}, {5, 6, 2, 3, 5}})
    digests.push_back(digest_of(*key, one, "v"));
  for (std::size_t i = 0; i < digests.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << ' ' << j;
  forget_key(key);
  forget_key(other);
}

// What OlderVersions keeps is compared with a list that keeps everything.
TEST(OlderVersions, GoFromTheFrontFirstFromTheStateThenFromMemory) {
  std::vector<Record> records(500);
  OlderVersions versions;
  std::size_t begin = 0;  // of `records`: what is there
  std::size_t state = 0;  // … and part of the state
  std::size_t end = 0;
  std::uint64_t random = 1;
  for (int step = 0; step < 5000; ++step) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const auto choice = (random >> 33) % 8;
    // There are times when more comes, and times when more goes.
    const bool grows = step / 100 % 2 == 0;
    if (choice < (grows ? 5u : 2u)) {
      if (end == records.size()) continue;
      versions.push_back(&records[end++], false);
    } else if (choice < 7) {
      if (state == end) continue;
      versions.drop_first();
      ++state;
    } else if (begin < state) {
      versions.forget_first();
      ++begin;
    }
    if (begin == end) begin = state = end = 0;
    ASSERT_EQ(versions.size() - versions.gone(), end - begin);
    ASSERT_EQ(versions.size() - versions.dropped(), end - state);
    ASSERT_EQ(versions.end() - versions.begin(), static_cast<std::ptrdiff_t>(end - begin));
    for (std::size_t i = begin; i < end; ++i) ASSERT_EQ(versions[versions.gone() + (i - begin)], &records[i]);
  }
  versions.clear();
  EXPECT_EQ(versions.size(), 0u);
}

TEST(OlderVersions, KnowThatOneHadLeftTheStateBeforeItGrewOld) {
  Record record = {};
  OlderVersions versions;
  EXPECT_EQ(versions.begin(), versions.end());
  versions.push_back(&record, true);
  EXPECT_EQ(versions.dropped(), 1u);
  versions.forget_first();
  EXPECT_EQ(versions.size(), 0u);
}

}  // namespace
}  // namespace conclave::kv
