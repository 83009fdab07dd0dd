#include "protocols/raft/durable.hpp"

#include <gtest/gtest.h>

namespace conclave::raft {
namespace {

Entry entry(std::uint64_t term) { return {{term}, {}, {}}; }
constexpr Position at(std::uint64_t term, std::uint64_t index) { return {{term}, {index}}; }

TEST(RaftDurable, AWriteChangesOnlyWhatItNames) {
  Durable disk;
  disk.take({.ballot = Ballot{{2}, NodeId{3}}});
  disk.take({.tail = Write::Tail{{0}, {entry(1), entry(2)}}});
  EXPECT_EQ(disk.ballot, (Ballot{{2}, NodeId{3}}));
  EXPECT_EQ(disk.log.last(), at(2, 2));
}

TEST(RaftDurable, ATailReplacesWhateverFollowed) {
  Durable disk;
  disk.take({.tail = Write::Tail{{0}, {entry(1), entry(1), entry(1)}}});
  disk.take({.tail = Write::Tail{{1}, {entry(2)}}});
  EXPECT_EQ(disk.log.last(), at(2, 2));
}

TEST(RaftDurable, ASnapshotReplacesEntriesAndKeepsThoseAfterItsBase) {
  Durable disk;
  disk.take({.tail = Write::Tail{{0}, {entry(1), entry(1), entry(1), entry(1)}}});
  disk.take({.snapshot = Snapshot{.last = at(1, 3)}, .base = at(1, 2)});
  EXPECT_EQ(disk.log.base, at(1, 2));
  EXPECT_EQ(disk.log.last(), at(1, 4));
  disk.take({.snapshot = Snapshot{.last = at(2, 9)}, .base = at(2, 9)});
  EXPECT_EQ(disk.log.last(), at(2, 9)) << "a leader's, which has more than we had";
}

TEST(RaftDurable, WhatIsLeftOfOlderWritesMayBeginBeforeTheSnapshotEnds) {
  Durable disk;
  disk.take({.snapshot = Snapshot{.last = at(1, 4)}, .base = at(1, 2)});
  disk.take({.tail = Write::Tail{{0}, {entry(1), entry(1), entry(1)}}});
  EXPECT_EQ(disk.log.last(), at(1, 3));
  disk.take({.tail = Write::Tail{{3}, {entry(1), entry(2)}}});
  EXPECT_EQ(disk.log.last(), at(2, 5));
  disk.take({.tail = Write::Tail{{0}, {entry(1)}}});
  EXPECT_EQ(disk.log.last(), at(2, 5)) << "all of that has been replaced";
}

TEST(RaftDurable, WhatIsLeftMayBeginBeforeTheSnapshotThatReplacedTheRest) {
  // A segment of the log that began before there was a snapshot; those before it are gone.
  Durable disk;
  disk.take({.ballot = Ballot{{1}, NodeId{3}}});
  disk.take({.tail = Write::Tail{{7}, {entry(1), entry(1)}}});
  EXPECT_FALSE(disk.known());
  disk.take({.tail = Write::Tail{{9}, {entry(1), entry(1)}}});
  disk.take({.snapshot = Snapshot{.last = at(1, 10)}, .base = at(1, 8)});
  EXPECT_TRUE(disk.known());
  EXPECT_EQ(disk.log.base, at(1, 8));
  EXPECT_EQ(disk.log.last(), at(1, 11));
}

TEST(RaftDurable, WhatIsLeftMayBeginWithAnEarlierSnapshotThanTheRest) {
  Durable disk;
  disk.take({.snapshot = Snapshot{.last = at(1, 4)}, .base = at(1, 2)});
  disk.take({.tail = Write::Tail{{7}, {entry(1), entry(1)}}});
  disk.take({.snapshot = Snapshot{.last = at(1, 9)}, .base = at(1, 8)});
  EXPECT_EQ(disk.log.base, at(1, 8));
  EXPECT_EQ(disk.log.last(), at(1, 9));
}

TEST(RaftDurable, WhatIsLeftMayBeginExactlyWhereTheSnapshotSays) {
  for (const bool ends_there : {false, true}) {
    Durable disk;
    disk.take({.snapshot = Snapshot{.last = at(1, 4)}, .base = at(1, 4)});  // with which a segment begins
    disk.take({.tail = Write::Tail{{8}, {entry(2), entry(2)}}});
    EXPECT_FALSE(disk.known());
    disk.take(ends_there ? Write{.snapshot = Snapshot{.last = at(1, 8)}, .base = at(1, 6)}
                         : Write{.snapshot = Snapshot{.last = at(2, 9)}, .base = at(1, 8)});
    EXPECT_TRUE(disk.known());
    EXPECT_EQ(disk.log.base, at(1, 8));
    EXPECT_EQ(disk.log.last(), at(2, 10));
  }
}

TEST(RaftDurable, EntriesThatGaveWayBeforeTheSnapshotAreNotBroughtBack) {
  Durable disk;
  disk.take({.tail = Write::Tail{{7}, {entry(1), entry(1), entry(1)}}});
  disk.take({.tail = Write::Tail{{5}, {entry(2)}}});  // another leader's, and shorter
  EXPECT_EQ(disk.log.last(), at(2, 6));
  disk.take({.tail = Write::Tail{{6}, {entry(2), entry(2), entry(2)}}});
  disk.take({.snapshot = Snapshot{.last = at(2, 9)}, .base = at(2, 8)});
  EXPECT_EQ(disk.log.last(), at(2, 9));
  EXPECT_TRUE(disk.known());
}

}  // namespace
}  // namespace conclave::raft
