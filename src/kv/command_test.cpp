#include "kv/command.hpp"

#include <gtest/gtest.h>

#include "core/names.hpp"

namespace conclave::kv {
namespace {

std::string verdict(const Command& command) {
  const auto fine = check(command);
  return fine ? "fine" : std::string(describe(fine.error()));
}

Txn nested(std::size_t depth, Op innermost) {
  Txn txn;
  txn.success.push_back(std::move(innermost));
  for (std::size_t i = 1; i < depth; ++i) {
    Txn outer;
    outer.success.push_back({std::move(txn)});
    txn = std::move(outer);
  }
  return txn;
}

TEST(Command, ComesBackFromItsBytes) {
  Txn txn;
  txn.compare.push_back(
      {.result = CompareResult::less, .target = CompareTarget::lease, .key = "k", .number = -5});
  txn.success.push_back({Put{.key = "a", .value = "1", .lease = 7, .prev_kv = true}});
  txn.failure.push_back({nested(2, {DeleteRange{.key = "a", .range_end = "b"}})});
  const Command commands[] = {Put{.key = "a", .value = "1"},
                              DeleteRange{.key = "a", .range_end = "b", .prev_kv = true},
                              txn,
                              Compact{5},
                              LeaseGrant{1, 2},
                              LeaseRevoke{-1},
                              LeaseRenew{{1, 2, 3}},
                              Tick{3, 100},
                              Lock{"name", 5},
                              Campaign{"name", 5, "me"},
                              Alarm{1, AlarmKind::corrupt, true},
                              Vouch{2, 1000, 77},
                              Sweep{4096, 9},
                              Need{2, 9}};
  for (std::size_t i = 0; i < std::size(commands); ++i) {
    EXPECT_EQ(commands[i].index(), i) << "every command, in their order";
    const Bytes bytes = encode(commands[i]);
    const auto back = decode<Command>(bytes);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(encode(*back), bytes);
  }
  EXPECT_EQ(std::size(commands), std::variant_size_v<Command>);
}

TEST(Command, BorrowsItsTextFromTheEntry) {
  const Bytes bytes = encode(Command(Put{.key = "key", .value = "value"}));
  const auto command = decode<Command>(bytes);
  const auto& put = std::get<Put>(*command);
  EXPECT_EQ(put.value, "value");
  EXPECT_GE(put.value.data(), reinterpret_cast<const char*>(bytes.data()));
  EXPECT_LT(put.value.data(), reinterpret_cast<const char*>(bytes.data() + bytes.size()));
}

TEST(Command, ThatNestsTooDeepIsRefusedByTheDecoder) {
  const auto deep = [](std::size_t depth) {
    return decode<Command>(encode(Command(nested(depth, {Range{.key = "a"}}))));
  };
  EXPECT_TRUE(deep(128).has_value());
  const auto refused = deep(1000);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), DecodeError::too_deep);
}

TEST(Check, NestedTransactionsGetWhatIsLeftOfTheBudget) {
  EXPECT_EQ(verdict(nested(128, {Range{.key = "a"}})), "fine");
  EXPECT_EQ(verdict(nested(129, {Range{.key = "a"}})), "too many operations in txn request");
  Txn wide;
  for (int i = 0; i < 128; ++i) wide.success.push_back({Range{.key = "a"}});
  EXPECT_EQ(verdict(wide), "fine");
  wide.success.back() = {nested(1, {Range{.key = "a"}})};
  EXPECT_EQ(verdict(wide), "too many operations in txn request");
  wide.success.back() = {Txn{}};
  EXPECT_EQ(verdict(wide), "fine");
  wide.success.push_back({Range{.key = "a"}});
  EXPECT_EQ(verdict(wide), "too many operations in txn request");
}

TEST(Check, ATransactionHasSoManyOperationsInAll) {
  Txn bush;
  for (int i = 0; i < 40; ++i) {
    Txn branch;
    for (int j = 0; j < 40; ++j) branch.success.push_back({Range{.key = "a"}});
    bush.success.push_back({branch});
  }
  EXPECT_EQ(verdict(bush), "too many operations in txn request");
}

TEST(Check, AKeyIsWrittenOnceInABranch) {
  const auto both = [](Op first, Op second) {
    Txn txn;
    txn.failure = {first, second};
    return verdict(txn);
  };
  const Op put = {Put{.key = "a"}};
  const Op take = {DeleteRange{.key = "a", .range_end = "b"}};
  const std::string twice = "duplicate key given in txn request";
  EXPECT_EQ(both(put, put), twice);
  EXPECT_EQ(both(put, take), twice);
  EXPECT_EQ(both(take, put), twice);
  EXPECT_EQ(both(take, take), "fine");
  EXPECT_EQ(both(put, {Put{.key = "b"}}), "fine");
  EXPECT_EQ(both({Put{.key = "b"}}, take), "fine");
  EXPECT_EQ(both(put, {nested(2, put)}), twice);
  EXPECT_EQ(both({nested(2, take)}, put), twice);
  EXPECT_EQ(both({nested(2, put)}, {nested(3, take)}), twice);
}

TEST(Check, OfTwoBranchesOnlyOneRuns) {
  Txn either;
  either.success.push_back({Put{.key = "a"}});
  either.failure.push_back({Put{.key = "a"}});
  EXPECT_EQ(verdict(either), "fine");
  Txn outer;
  outer.success = {{either}, {Put{.key = "b"}}};
  EXPECT_EQ(verdict(outer), "fine");
  outer.success.push_back({Put{.key = "a"}});
  EXPECT_EQ(verdict(outer), "duplicate key given in txn request");
}

TEST(Check, ComparisonsAndOperationsNeedAKey) {
  Txn txn;
  txn.compare.push_back({});
  EXPECT_EQ(verdict(txn), "key is not provided");
  txn.compare.clear();
  txn.failure.push_back({Range{}});
  EXPECT_EQ(verdict(txn), "key is not provided");
}

TEST(Check, WhatIsTooLongIsRefused) {
  const std::string text(max_text + 1, 'x');
  EXPECT_EQ(verdict(Put{.key = "a", .value = text}), "request is too large");
  EXPECT_EQ(verdict(Put{.key = text}), "request is too large");
  EXPECT_EQ(verdict(Lock{std::string_view(text).substr(0, max_name + 1), 1}), "request is too large");
  EXPECT_EQ(verdict(LeaseGrant{1, max_ttl + 1}), "too large lease TTL");
  EXPECT_EQ(verdict(LeaseRenew{std::vector<LeaseId>(max_renewed + 1, 1)}), "request is too large");
}

TEST(Error, HasEtcdsText) {
  for (int error = 0; error <= static_cast<int>(Error::answer_too_large); ++error)
    EXPECT_NE(describe(static_cast<Error>(error)), "unknown error");
}

}  // namespace
}  // namespace conclave::kv
