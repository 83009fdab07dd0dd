#include "kv/snapshot.hpp"

#include <gtest/gtest.h>

#include "kv/replica_for_tests.hpp"

namespace conclave::kv {
namespace {

// Something of everything.
void fill(Replica& replica) {
  replica.tick(500);
  replica.ask(LeaseGrant{1, 5});
  replica.ask(LeaseGrant{2, 7});
  replica.tick(500);
  replica.ask(LeaseRenew{{2}});
  for (int i = 0; i < 300; ++i) replica.put("k" + std::to_string(i % 40), std::to_string(i), i % 3);
  replica.ask(DeleteRange{.key = "k1", .range_end = "k2"});
  replica.ask(Lock{"lock", 1});
  replica.ask(Compact{200});
  replica.ask(Alarm{3, AlarmKind::no_space, true});
}

TEST(Snapshot, BringsBackEverything) {
  Replica replica;
  fill(replica);
  const Bytes bytes = snapshot_of(replica.store);
  const auto copy = restored(bytes, 99);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ((*copy)->digest(), replica.store.digest());
  EXPECT_EQ((*copy)->recomputed_digest(), replica.store.digest());
  EXPECT_EQ(snapshot_of(**copy), bytes);
  EXPECT_EQ((*copy)->applied().index, replica.context.index);
}

TEST(Snapshot, FilesMayBeFilledUpWithZerosIfTheReaderIsTold) {
  Replica replica;
  fill(replica);
  Bytes bytes = snapshot_of(replica.store);
  bytes.resize(bytes.size() + 100);
  EXPECT_FALSE(restored(bytes));
  const auto read = [&](std::size_t piece) {
    SnapshotReader reader(0, SnapshotReader::Behind::zeros);
    for (std::span<const std::uint8_t> rest = bytes; !rest.empty();) {
      const auto part = rest.first(std::min(piece, rest.size()));
      if (!reader.feed(part)) return false;
      rest = rest.subspan(part.size());
    }
    return reader.finish().has_value();
  };
  EXPECT_TRUE(read(bytes.size()));
  EXPECT_TRUE(read(7));
  bytes.back() = 1;
  EXPECT_FALSE(read(bytes.size()));
  EXPECT_FALSE(read(7));
}

TEST(Snapshot, ACopyGoesOnLikeTheOriginal) {
  Replica replica;
  fill(replica);
  Replica copy;
  copy.context = replica.context;
  const auto store = restored(snapshot_of(replica.store));
  ASSERT_TRUE(store.has_value());
  Outcome outcome;
  for (int i = 0; i < 50; ++i) {
    const std::string key = "k" + std::to_string(i);
    const Command commands[] = {DeleteRange{.key = key, .prev_kv = true}, Tick{1, 300}};
    for (const Command& command : commands) {
      const std::string expected = replica.ask(command);
      EXPECT_EQ(text((*store)->apply(command, replica.context, outcome)), expected);
      EXPECT_EQ((*store)->digest(), replica.store.digest());
    }
  }
}

TEST(Snapshot, IsOfTheMomentWhenItsWriterWasMade) {
  Replica replica;
  fill(replica);
  const Bytes expected = snapshot_of(replica.store);
  Bytes written;
  {
    SnapshotWriter writer(replica.store);
    int i = 0;
    while (writer.write(written, written.size() + 50)) {
      const std::string key = "k" + std::to_string(++i % 60);
      replica.ask(DeleteRange{.key = key});
      replica.ask(Alarm{3, AlarmKind::no_space, false});
      replica.put(key + "x", "new");
      replica.ask(Compact{replica.store.revision() - 1});
      replica.ask(LeaseRevoke{1});
    }
  }
  EXPECT_EQ(written, expected);
  // What was kept for the writer goes when it is done.
  for (int i = 0; i < 200; ++i) replica.tick(0);
  std::size_t records = 0;
  for (Key* key = replica.store.history().keys().first(); key; key = Keys::next(*key))
    records += key->versions() - key->older.gone();
  EXPECT_LE(records, replica.store.history().keys().size() + 1);
  EXPECT_EQ(replica.store.digest(), replica.store.recomputed_digest());
}

TEST(Snapshot, IsWrittenInPiecesOfAboutTheSizeAskedFor) {
  Replica replica;
  const std::string value(100, 'x');
  for (int i = 0; i < 1000; ++i) replica.put("hot", value);
  SnapshotWriter writer(replica.store);
  Bytes piece;
  int pieces = 0;
  for (bool more = true; more; ++pieces) {
    piece.clear();
    more = writer.write(piece, 1000);
    EXPECT_LT(piece.size(), 1000u + 200u);
  }
  EXPECT_GT(pieces, 80);
}

TEST(Snapshot, IsReadHoweverItIsCut) {
  Replica replica;
  fill(replica);
  const Bytes bytes = snapshot_of(replica.store);
  for (const std::size_t cut : {1, 7, 511, 512, 513, 1000}) {
    SnapshotReader reader;
    for (std::size_t at = 0; at < bytes.size(); at += cut)
      ASSERT_TRUE(reader.feed(std::span(bytes).subspan(at, std::min(cut, bytes.size() - at))).has_value());
    const auto store = reader.finish();
    ASSERT_TRUE(store.has_value());
    EXPECT_EQ((*store)->digest(), replica.store.digest());
  }
}

TEST(Snapshot, WithPartsThatAreLargerThanThePiecesIsReadAsWell) {
  Replica replica;
  for (int i = 0; i < 40; ++i)
    replica.put("k" + std::to_string(i), std::string(static_cast<std::size_t>(i) * 211, 'v'));
  const Bytes bytes = snapshot_of(replica.store);
  for (const std::size_t cut : {100, 1000, 4096, 6000}) {
    SnapshotReader reader;
    for (std::size_t at = 0; at < bytes.size(); at += cut)
      ASSERT_TRUE(reader.feed(std::span(bytes).subspan(at, std::min(cut, bytes.size() - at))).has_value());
    ASSERT_EQ(reader.digest(), replica.store.digest());
    EXPECT_TRUE(reader.finish().has_value());
  }
}

TEST(Snapshot, ThatIsCutShortOrLongIsRefused) {
  Replica replica;
  replica.put("a", "1");
  Bytes bytes = snapshot_of(replica.store);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(restored(std::span(bytes).first(size)).error(), SnapshotError::truncated);
  bytes.push_back(0);
  EXPECT_FALSE(restored(bytes).has_value());
}

TEST(Snapshot, WithAnyBitWrongIsRefused) {
  Replica replica;
  fill(replica);
  Bytes bytes = snapshot_of(replica.store);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto bit = static_cast<std::uint8_t>(1u << (at % 8));
    bytes[at] ^= bit;
    EXPECT_FALSE(restored(bytes).has_value()) << at;
    bytes[at] ^= bit;
  }
}

Bytes parts(const std::vector<SnapshotPart>& all) {
  Bytes out;
  for (const SnapshotPart& part : all) encode(part, out);
  return out;
}

TEST(Snapshot, WhosePartsContradictEachOtherIsRefused) {
  const SnapshotHeader header = {.format = "conclave-kv-1", .revision = 3, .log_begin = 3};
  const SnapshotHeader longer = {.format = "conclave-kv-1", .revision = 4, .log_begin = 3};
  const SnapshotRecord put = {.key = "a", .create = 3, .mod = 3, .version = 1};
  const auto verdict = [](const std::vector<SnapshotPart>& all) {
    const auto store = restored(parts(all));
    return store ? std::string_view("fine") : describe(store.error());
  };
  const std::string_view wrong = describe(SnapshotError::contradictory);
  EXPECT_EQ(verdict({header, put, SnapshotEnd{}}), describe(SnapshotError::digest))
      << "nothing else is wrong here";
  EXPECT_EQ(verdict({put}), wrong) << "no header";
  EXPECT_EQ(verdict({header, header}), wrong);
  EXPECT_EQ(verdict({header, put, SnapshotLease{1, 1, 0}}), wrong) << "leases come first";
  EXPECT_EQ(verdict({header, put, put}), wrong) << "twice";
  SnapshotRecord bad = put;
  bad.mod = 4;
  EXPECT_EQ(verdict({header, bad}), wrong) << "from the future";
  bad = put;
  bad.version = 2;
  EXPECT_EQ(verdict({header, bad}), wrong) << "created in its second version";
  bad = put;
  bad.lease = 5;
  EXPECT_EQ(verdict({header, bad, SnapshotEnd{}}), wrong) << "no such lease";
  bad = {.create = 3, .mod = 4, .version = 3};
  EXPECT_EQ(verdict({longer, put, bad}), wrong) << "a version is missing";
  bad = {.key = "b", .create = 3, .mod = 3, .version = 1};
  EXPECT_EQ(verdict({header, put, bad, SnapshotEnd{}}), wrong) << "two changes at one place";
  bad.sub = 1;
  EXPECT_EQ(verdict({header, put, bad, SnapshotEnd{}}), describe(SnapshotError::digest))
      << "nothing is wrong";
  bad.sub = 2;
  EXPECT_EQ(verdict({header, put, bad, SnapshotEnd{}}), wrong) << "the second change is missing";
  EXPECT_EQ(verdict({longer, put, SnapshotEnd{}}), wrong) << "a revision is missing";
  bad.sub = 1;
  EXPECT_EQ(verdict({longer, put, bad, SnapshotEnd{}}), wrong)
      << "a revision is missing, and another has two";
  EXPECT_EQ(verdict({header, SnapshotLease{2, 1, 0}, SnapshotLease{1, 1, 0}}), wrong) << "leases ascend";
  EXPECT_EQ(verdict({header, SnapshotLease{1, 1, 5000}}), wrong) << "ends later than it may";
  EXPECT_EQ(verdict({SnapshotHeader{.format = "other", .revision = 1}}), wrong);
}

}  // namespace
}  // namespace conclave::kv
