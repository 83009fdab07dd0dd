// States that a thread writes: what was ended can be read, what was given up leaves nothing, and nobody
// waits.
#include "storage/drafts.hpp"

#include <future>

#include "faulty_disk.hpp"
#include "journal.hpp"

namespace conclave::storage {
namespace {

class DraftsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = Directory::open(folder_.file("data"), {.reserve_bytes = 0});
    ASSERT_TRUE(directory) << directory.error().text;
    directory_ = std::move(*directory);
    snapshots_.emplace(Snapshots::open(*directory_).value());
    drafts_.emplace(*snapshots_);
  }
  void TearDown() override { faulty::heal(); }

  std::unique_ptr<Draft> begin(std::uint64_t tag, Draft::Events events = {}) {
    auto draft = drafts_->begin({.tag = tag}, std::move(events));
    EXPECT_TRUE(draft) << draft.error().text;
    return std::move(*draft);
  }
  static std::vector<std::uint8_t> piece(std::size_t size, std::uint8_t what) {
    return std::vector(size, what);
  }
  std::vector<std::string> files() const { return directory_->names_with("snapshot-").value(); }

  cli::TemporaryFolder folder_;
  std::unique_ptr<Directory> directory_;
  std::optional<Snapshots> snapshots_;
  std::optional<Drafts> drafts_;
};

TEST_F(DraftsTest, ThatAreKeptAreSnapshots) {
  auto draft = begin(7);
  std::vector<std::uint8_t> all;
  for (std::uint8_t i = 0; i < 50; ++i) {
    const auto next = piece(40'000, i);
    all.insert(all.end(), next.begin(), next.end());
    draft->append(next);
  }
  auto reader = draft->end_and_wait(Draft::Fate::keep);
  ASSERT_TRUE(reader) << reader.error().text;
  EXPECT_EQ(bulk_of(std::move(*reader)), Bulk(Payload(all)));
  EXPECT_EQ(bulk_of(snapshots_->read(7).value()), Bulk(Payload(all)));
  EXPECT_EQ(files(), std::vector<std::string>{"snapshot-0000000000000007"});
}

TEST_F(DraftsTest, ThatAreLentAreGoneWithTheirReader) {
  auto draft = begin(7);
  draft->append(piece(100'000, 3));
  auto reader = draft->end_and_wait(Draft::Fate::lend);
  ASSERT_TRUE(reader) << reader.error().text;
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(bulk_of(std::move(*reader)), Bulk(Payload(piece(100'000, 3))));
}

TEST_F(DraftsTest, ThatAreGivenUpLeaveNothing) {
  bool told = false;
  {
    auto draft = begin(7, {.ended = [&](auto) { told = true; }});
    draft->append(piece(100'000, 3));
  }
  auto after = begin(8);  // one after the other
  ASSERT_TRUE(after->end_and_wait(Draft::Fate::keep));
  EXPECT_EQ(files(), std::vector<std::string>{"snapshot-0000000000000008"});
  auto unfinished = begin(9);
  unfinished->append(piece(100'000, 3));
  unfinished.reset();
  drafts_.reset();
  EXPECT_EQ(files(), std::vector<std::string>{"snapshot-0000000000000008"});
  EXPECT_FALSE(told);
}

TEST_F(DraftsTest, SayThatThereIsNoRoomWhileTheDiskStandsStill) {
  std::promise<void> room;
  auto draft = begin(7, {.room = [&] { room.set_value(); }});
  faulty::stall(folder_.file("data"));
  while (draft->has_room()) draft->append(piece(300'000, 3));
  faulty::heal();
  room.get_future().wait();
  EXPECT_TRUE(draft->has_room());
  EXPECT_TRUE(draft->end_and_wait(Draft::Fate::keep));
}

TEST_F(DraftsTest, ThatCannotBeWrittenSayWhyAndLeaveNothing) {
  std::promise<Failure> why;
  auto draft = begin(7, {.ended = [&](auto file) {
                       ASSERT_FALSE(file);
                       why.set_value(file.error());
                     }});
  faulty::fail(faulty::Call::write, 1, 1000, ENOSPC);
  for (int i = 0; i < 10; ++i) draft->append(piece(300'000, 3));
  draft->end(Draft::Fate::keep);
  const Failure failure = why.get_future().get();
  EXPECT_EQ(failure.kind, FailureKind::no_space) << failure.text;
  EXPECT_TRUE(failure.passes());
  faulty::heal();
  draft.reset();
  EXPECT_TRUE(begin(8)->end_and_wait(Draft::Fate::keep));
  EXPECT_EQ(files(), std::vector<std::string>{"snapshot-0000000000000008"});
}

TEST_F(DraftsTest, OfOthersBeginAnew) {
  {
    auto writer = snapshots_->receive({.tag = 7});
    const auto before = piece(200'000, 1);
    ASSERT_TRUE(writer && writer->append(std::as_bytes(std::span(before))));
  }
  auto draft = drafts_->receive({.tag = 7}, {});
  ASSERT_TRUE(draft);
  (*draft)->append(piece(10, 2));
  auto reader = (*draft)->end_and_wait(Draft::Fate::keep);
  ASSERT_TRUE(reader);
  EXPECT_EQ(bulk_of(std::move(*reader)), Bulk(Payload(piece(10, 2))));
}

}  // namespace
}  // namespace conclave::storage
