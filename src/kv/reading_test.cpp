#include "kv/reading.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "kv/replica_for_tests.hpp"

namespace conclave::kv {
namespace {

// How many steps of so much work it took.
int finish(Reading& reading, std::size_t work) {
  for (int steps = 1;; ++steps)
    if (reading.step(work) != Reading::Went::on) return steps;
}

class Readings : public testing::Test {
 protected:
  void put(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string key = "k" + std::to_string(1000 + i);
      replica.apply(Put{.key = key, .value = "v"});
    }
  }
  Replica replica;
  const Range all = {.key = "k", .range_end = "l"};
};

TEST_F(Readings, TakeAsManyStepsAsThereIsToLookAt) {
  put(100);
  Reading reading(replica.store, all, {});
  EXPECT_GE(finish(reading, 10), 10);
  EXPECT_EQ(std::get<RangeResult>(reading.take()).kvs.size(), 100u);
  Range counted = all;
  counted.count_only = true;
  Reading count(replica.store, counted, {});
  EXPECT_LE(finish(count, 10), 2) << "the tree knows";
  EXPECT_EQ(std::get<RangeResult>(count.take()).count, 100u);
}

TEST_F(Readings, SeeNothingThatCameLaterAndAllThatWasCompactedSince) {
  put(100);
  Reading reading(replica.store, all, {});
  EXPECT_EQ(reading.step(10), Reading::Went::on);
  const Revision then = replica.store.revision();
  for (int i = 0; i < 3; ++i) replica.apply(DeleteRange{.key = "k", .range_end = "l"});
  put(50);
  replica.apply(Compact{replica.store.revision()});
  for (int i = 0; i < 100; ++i) replica.apply(Vouch{});  // a few records go with each command
  EXPECT_EQ(reading.revision(), then);
  finish(reading, 10);
  const auto result = std::get<RangeResult>(reading.take());
  ASSERT_EQ(result.kvs.size(), 100u);
  for (const RecordRef& record : result.kvs) EXPECT_LE(record->mod, then);
}

TEST_F(Readings, HoldNothingWhenTheyAreGone) {
  put(10);
  auto reading = std::make_unique<Reading>(replica.store, all, Reading::Most{});
  reading->step(1);
  replica.apply(DeleteRange{.key = "k", .range_end = "l"});
  replica.apply(Put{.key = "a"});
  replica.apply(Compact{replica.store.revision()});
  for (int i = 0; i < 10; ++i) replica.apply(Vouch{});
  EXPECT_EQ(replica.store.history().keys().size(), 11u);
  reading.reset();
  for (int i = 0; i < 10; ++i) replica.apply(Vouch{});
  EXPECT_EQ(replica.store.history().keys().size(), 1u);
}

TEST_F(Readings, SayThatTheStoreIsGone) {
  auto store = std::make_unique<Store>();
  Reading reading(*store, all, {});
  store.reset();
  EXPECT_EQ(reading.step(10), Reading::Went::lost);
}

TEST_F(Readings, CollectNoMoreThanTheyMay) {
  put(20);
  Txn txn;
  for (int i = 0; i < 3; ++i) txn.success.push_back({all});
  Reading enough(replica.store, txn, {.records = 60});
  finish(enough, 7);
  EXPECT_TRUE(std::get<TxnResult>(enough.take()).succeeded);
  Reading reading(replica.store, txn, {.records = 59});
  while (true) {
    const auto went = reading.step(7);
    if (went == Reading::Went::on) continue;
    EXPECT_EQ(went, Reading::Went::too_large);
    break;
  }
  Range first = all;
  first.limit = 1;
  first.sort_target = SortTarget::mod;
  first.sort_order = SortOrder::descend;
  Reading last(replica.store, first, {.records = 1});
  finish(last, 7);
  const auto result = std::get<RangeResult>(last.take());
  ASSERT_EQ(result.kvs.size(), 1u) << "what the limit leaves out does not count";
  EXPECT_EQ(result.kvs[0].key(), "k1019");
}

TEST_F(Readings, OfWhatATransactionWouldDoTellItsAnswerBefore) {
  put(3);
  Txn txn;
  txn.compare.push_back({.target = CompareTarget::version, .key = "k", .range_end = "l", .number = 1});
  txn.success.push_back({Put{.key = "k1000", .value = "2", .prev_kv = true}});
  txn.success.push_back({DeleteRange{.key = "k1001", .range_end = "l", .prev_kv = true}});
  const Digest before = replica.store.digest();
  Reading reading(replica.store, txn, {});
  finish(reading, 1);
  EXPECT_EQ(replica.store.digest(), before);
  const std::string foretold = text(std::get<TxnResult>(reading.take()));
  EXPECT_EQ(foretold, text(std::get<TxnResult>(replica.apply(txn).result)));
}

// What is applied stops everybody: a transaction that would look at too many keys is refused by all members.
TEST_F(Readings, TransactionsInTheLogReachOnlySoFar) {
  Store store(0, {.reach = 100});
  Outcome outcome;
  Context context = {0, 1};
  const auto run = [&](const Command& command) {
    ++context.index;
    return text(store.apply(command, context, outcome));
  };
  for (int i = 0; i < 30; ++i) {
    const std::string key = "k" + std::to_string(i);
    run(Put{.key = key, .value = "v"});
  }
  Txn txn;
  for (int i = 0; i < 3; ++i)
    txn.compare.push_back({.target = CompareTarget::mod, .key = "k", .range_end = "l", .number = 7});
  txn.success.push_back({Put{.key = "done"}});
  EXPECT_EQ(store.reach_of(txn), 90u);
  EXPECT_EQ(run(txn), "31: else()");
  txn.compare.push_back(txn.compare.back());
  EXPECT_EQ(run(txn), "31: too many operations in txn request");
  const std::string longer(90 * 1024, 'x');
  txn.compare.assign(1, {.target = CompareTarget::value, .key = "k", .range_end = "l", .value = longer});
  EXPECT_EQ(run(txn), "31: too many operations in txn request") << "long values take their time";
}

TEST_F(Readings, CollectNoMoreBytesThanTheyMay) {
  const std::string value(1000, 'v');
  for (int i = 0; i < 10; ++i) replica.put("v" + std::to_string(i), value);
  const auto went = [&](const Range& range) {
    Reading reading(replica.store, range, {.bytes = 5010});
    while (true)
      if (const auto now = reading.step(2); now != Reading::Went::on) return now;
  };
  Range range = {.key = "v", .range_end = "w", .limit = 5};
  EXPECT_EQ(went(range), Reading::Went::done);
  range.limit = 6;
  EXPECT_EQ(went(range), Reading::Went::too_large);
  range.keys_only = true;
  EXPECT_EQ(went(range), Reading::Went::done);
  range = {.key = "v", .range_end = "w", .limit = 5, .sort_order = SortOrder::descend};
  EXPECT_EQ(went(range), Reading::Went::done) << "what the limit leaves out does not count";
  range.limit = 6;
  EXPECT_EQ(went(range), Reading::Went::too_large);
  range = {.key = "v", .range_end = "w", .sort_order = SortOrder::descend};
  EXPECT_EQ(went(range), Reading::Went::too_large);
}

// Records that were deleted and compacted go with the last one who has them: all at once would take long.
TEST_F(Readings, LetGoALittleAtATime) {
  put(100);
  Reading reading(replica.store, all, {});
  finish(reading, 1000);
  std::size_t work = 10;
  EXPECT_TRUE(reading.let_go(work));
  EXPECT_EQ(work, 0u);
  work = 1000;
  EXPECT_FALSE(reading.let_go(work));
  EXPECT_EQ(work, 910u);
}

// A transaction that writes is answered for sure; so it is refused before it does anything if that would be
// large.
TEST_F(Readings, TransactionsInTheLogTellOnlySoMuch) {
  Store store(0, {.answer = 9'700});
  Outcome outcome;
  Context context = {0, 1};
  const auto run = [&](const Command& command) {
    ++context.index;
    return text(store.apply(command, context, outcome)).substr(0, 30);
  };
  const std::string value(900, 'v');
  for (int i = 0; i < 9; ++i) {
    const std::string key = "k" + std::to_string(i);
    run(Put{.key = key, .value = value});
  }
  Txn txn;
  txn.success.push_back({Range{.key = "k", .range_end = "l"}});
  txn.success.push_back({Put{.key = "done"}});
  EXPECT_EQ(run(txn).substr(0, 9), "11: then(");
  txn.success.push_back({Range{.key = "k1"}});
  EXPECT_EQ(run(txn), "11: answer is too large");
  txn.success.back() = {Range{.key = "k", .range_end = "l", .keys_only = true}};
  EXPECT_EQ(run(txn).substr(0, 9), "12: then(");
  txn.success.back() = {Range{.key = "k", .range_end = "l", .limit = 2}};
  EXPECT_EQ(run(txn), "12: answer is too large");
  txn.failure.swap(txn.success);
  EXPECT_EQ(run(txn).substr(0, 9), "12: then(") << "only the branch that is taken counts";
  EXPECT_EQ(run(Put{.key = "k9", .value = value}), "13: put over none");
  EXPECT_EQ(run(Put{.key = "l0", .value = value}), "14: put over none");
  EXPECT_EQ(run(DeleteRange{.key = "k", .range_end = "m", .prev_kv = true}), "14: answer is too large");
  EXPECT_EQ(run(DeleteRange{.key = "k", .range_end = "m"}), "15: deleted 11 []");
}

}  // namespace
}  // namespace conclave::kv
