#include "etcd/pieces.hpp"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <random>

#include "etcd/translate.hpp"
#include "kv/replica_for_tests.hpp"
#include "rpc/offer.hpp"

namespace conclave::etcd {
namespace {

namespace pb = etcdserverpb;

// ---- the same answers, as messages

void expect(pb::RangeResponse& to, const kv::RangeResult& range) {
  for (const kv::RecordRef& record : range.kvs) {
    *to.add_kvs() = message_of(record);
    if (range.keys_only) to.mutable_kvs()->rbegin()->clear_value();
  }
  to.set_more(range.more);
  to.set_count(static_cast<std::int64_t>(range.count));
}
void expect(pb::DeleteRangeResponse& to, const kv::DeleteResult& range) {
  to.set_deleted(static_cast<std::int64_t>(range.deleted));
  for (const kv::RecordRef& record : range.previous) *to.add_prev_kvs() = message_of(record);
}
void expect(pb::PutResponse& to, const kv::PutResult& put) { fill(to, put); }
void expect(pb::TxnResponse& to, const kv::TxnResult& txn) {
  to.set_succeeded(txn.succeeded);
  for (const kv::OpResult& op : txn.results) {
    pb::ResponseOp& told = *to.add_responses();
    const auto nested = [&](auto* response, const auto& result) {
      response->mutable_header()->set_revision(to.header().revision());
      expect(*response, result);
    };
    if (const auto* range = std::get_if<kv::RangeResult>(&op.result))
      nested(told.mutable_response_range(), *range);
    if (const auto* range = std::get_if<kv::DeleteResult>(&op.result))
      nested(told.mutable_response_delete_range(), *range);
    if (const auto* put = std::get_if<kv::PutResult>(&op.result)) nested(told.mutable_response_put(), *put);
    if (const auto* inner = std::get_if<kv::TxnResult>(&op.result))
      nested(told.mutable_response_txn(), *inner);
  }
}

pb::ResponseHeader some_header() {
  pb::ResponseHeader header;
  header.set_cluster_id(0xfedcba9876543210);
  header.set_member_id(1);
  header.set_revision(42);
  header.set_raft_term(3);
  return header;
}

// As whoever sends it does it; pieces are this large.
std::string written(bool in_json, Pieces::Result result, std::size_t about) {
  Pieces pieces(in_json, some_header(), std::move(result));
  std::size_t work = 1;
  while (pieces.measure(work)) work = 1;
  std::string all;
  while (true) {
    std::string piece;
    const bool more = pieces.write(piece, about);
    all += piece;
    if (!more) break;
  }
  EXPECT_EQ(all.size(), pieces.bytes()) << "the size is known before";
  return all;
}

template <class Response, class Result>
void expect_same(const Result& result) {
  Response message;
  *message.mutable_header() = some_header();
  expect(message, result);
  for (const std::size_t about : {std::size_t{1}, std::size_t{100}, std::size_t{100'000}}) {
    Response read;
    ASSERT_TRUE(read.ParseFromString(written(false, result, about)));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, message))
        << message.ShortDebugString();
    EXPECT_EQ(written(true, result, about), rpc::in_json(message));
  }
}

kv::TxnResult random_txn(std::minstd_rand& random, const std::vector<kv::RecordRef>& records, int depth);

std::vector<kv::RecordRef> some(std::minstd_rand& random, const std::vector<kv::RecordRef>& records) {
  std::vector<kv::RecordRef> chosen;
  for (auto left = random() % 4; left > 0; --left) chosen.push_back(records[random() % records.size()]);
  return chosen;
}

kv::OpResult random_op(std::minstd_rand& random, const std::vector<kv::RecordRef>& records, int depth) {
  switch (random() % (depth < 3 ? 4 : 3)) {
    case 0:
      return {kv::RangeResult{.kvs = some(random, records),
                              .count = random() % 3,
                              .more = random() % 2 == 0,
                              .keys_only = random() % 4 == 0}};
    case 1: return {kv::DeleteResult{.deleted = random() % 3, .previous = some(random, records)}};
    case 2: return {kv::PutResult{random() % 2 == 0 ? records[random() % records.size()] : kv::RecordRef()}};
    default: return {random_txn(random, records, depth + 1)};
  }
}

kv::TxnResult random_txn(std::minstd_rand& random, const std::vector<kv::RecordRef>& records, int depth) {
  kv::TxnResult txn = {.succeeded = random() % 2 == 0, .results = {}};
  for (auto left = random() % 5; left > 0; --left) txn.results.push_back(random_op(random, records, depth));
  return txn;
}

class PiecesOf : public testing::Test {
 protected:
  PiecesOf() {
    replica.ask(kv::LeaseGrant{.id = 7, .ttl = 10});
    std::minstd_rand random(1);
    for (int i = 0; i < 12; ++i) {
      const std::string key = i % 3 == 0 ? std::string(1, static_cast<char>(i)) : "key" + std::to_string(i);
      std::string value;
      for (std::size_t left = random() % 400; left > 0; --left) value += static_cast<char>(random());
      for (auto times = 1 + random() % 200; times > 0; --times)
        replica.put(key, i % 4 == 0 ? "" : value, i % 5 == 0 ? 7 : 0);
    }
    const auto all =
        replica.store.range({.key = std::string_view("\0", 1), .range_end = kv::KeyRange::no_end});
    records = all->kvs;
  }
  kv::Replica replica;
  std::vector<kv::RecordRef> records;
};

TEST_F(PiecesOf, AnswersAreTheBytesOfTheirMessages) {
  std::minstd_rand random(2);
  for (int i = 0; i < 300; ++i) {
    const kv::OpResult op = random_op(random, records, 0);
    if (const auto* range = std::get_if<kv::RangeResult>(&op.result)) expect_same<pb::RangeResponse>(*range);
    if (const auto* range = std::get_if<kv::DeleteResult>(&op.result))
      expect_same<pb::DeleteRangeResponse>(*range);
    if (const auto* txn = std::get_if<kv::TxnResult>(&op.result)) expect_same<pb::TxnResponse>(*txn);
  }
}

TEST_F(PiecesOf, AnAnswerHaveItsRecordsNoLongerThanTheyAreNeeded) {
  kv::RangeResult result = {.kvs = records};
  const auto references = [&] { return records.back()->references; };
  const auto before = references();
  Pieces pieces(false, some_header(), std::move(result));
  std::size_t work = 1000;
  pieces.measure(work);
  std::string piece;
  while (pieces.write(piece, 1)) piece.clear();
  EXPECT_EQ(references(), before - 1);
  Pieces others(false, some_header(), kv::RangeResult{.kvs = records});
  work = 5;
  EXPECT_TRUE(others.let_go(work));
  EXPECT_EQ(others.records(), records.size() - 5);
  work = 100;
  EXPECT_FALSE(others.let_go(work));
}

}  // namespace
}  // namespace conclave::etcd
