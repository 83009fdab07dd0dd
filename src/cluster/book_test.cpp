#include "cluster/book.hpp"

#include <gtest/gtest.h>

#include "core/codec.hpp"

namespace conclave::cluster {
namespace {

Book book_of_three() {
  Found found;
  for (std::uint16_t i = 1; i <= 3; ++i) found.members[{i}] = {.host = "h", .port = i};
  Book book;
  EXPECT_TRUE(book.apply(found));
  return book;
}
const auto everybody = [](NodeId) { return true; };
const auto nobody = [](NodeId) { return false; };

TEST(Book, TheFirstFoundationCounts) {
  Book book = book_of_three();
  Found other;
  other.members[{9}] = {.host = "x", .port = 9};
  ASSERT_TRUE(book.apply(other));
  EXPECT_EQ(book, book_of_three());
  EXPECT_EQ(book.voters, (NodeSet{{1}, {2}, {3}}));
}

TEST(Book, NothingChangesBeforeTheFoundation) {
  EXPECT_EQ(Book().apply(Enter{"h", 4}), std::unexpected(BookError::not_founded));
}

TEST(Book, IdsAreNotUsedTwice) {
  Book book = book_of_three();
  EXPECT_EQ(book.apply(Enter{"h", 4}), NodeId{4});
  EXPECT_EQ(book.apply(Leave{{4}}), NodeId{4});
  EXPECT_FALSE(book.contains({4})) << "it was in no configuration, so nobody waits for it";
  EXPECT_EQ(book.apply(Enter{"h", 4}), NodeId{5});
}

TEST(Book, NobodyVotesBeforeItHasCaughtUp) {
  Book book = book_of_three();
  ASSERT_TRUE(book.apply(Enter{.host = "h", .port = 4, .votes = true}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, nobody), (Book::Wish{{{1}, {2}, {3}}, NodeSet{{4}}}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, everybody), (Book::Wish{{{1}, {2}, {3}, {4}}, {}}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}, {4}}, nobody), (Book::Wish{{{1}, {2}, {3}, {4}}, {}}))
      << "who votes goes on voting";
}

TEST(Book, ALearnerVotesWhenItIsPromoted) {
  Book book = book_of_three();
  ASSERT_TRUE(book.apply(Enter{"h", 4}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, everybody), (Book::Wish{{{1}, {2}, {3}}, NodeSet{{4}}}));
  ASSERT_TRUE(book.apply(Promote{{4}}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, everybody).voters, (NodeSet{{1}, {2}, {3}, {4}}));
  ASSERT_TRUE(book.apply(Promote{{4}, false}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, everybody).voters, (NodeSet{{1}, {2}, {3}}));
  EXPECT_EQ(book.apply(Promote{{3}}), std::unexpected(BookError::not_a_learner));
  EXPECT_EQ(book.apply(Promote{{7}}), std::unexpected(BookError::no_such_member));
}

TEST(Book, ReplacingIsOneChange) {
  Book book = book_of_three();
  ASSERT_EQ(book.apply(Enter{.host = "h", .port = 3, .replaces = {3}}), NodeId{4}) << "even at its address";
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, nobody), (Book::Wish{{{1}, {2}, {3}}, NodeSet{{4}}}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, everybody), (Book::Wish{{{1}, {2}, {4}}, {}}));
  EXPECT_EQ(book.apply(Enter{.host = "h", .port = 5, .replaces = {3}}),
            std::unexpected(BookError::is_replaced));
  book.settle({{1}, {2}, {3}}, NodeSet{{4}});
  EXPECT_TRUE(book.contains({3}));
  book.settle({{1}, {2}, {4}}, {});
  EXPECT_FALSE(book.contains({3}));
  EXPECT_EQ(book.find({4})->replaces, NodeId{});
}

TEST(Book, AReplacementMayBeCalledOff) {
  Book book = book_of_three();
  ASSERT_TRUE(book.apply(Enter{.host = "h", .port = 4, .replaces = {3}}));
  ASSERT_TRUE(book.apply(Leave{{4}}));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, everybody), (Book::Wish{{{1}, {2}, {3}}, {}}));
}

TEST(Book, WhoeverLeavesIsKnownUntilItsConfigurationIsGone) {
  Book book = book_of_three();
  ASSERT_TRUE(book.apply(Leave{{2}}));
  EXPECT_TRUE(book.contains({2}));
  EXPECT_EQ(book.apply(Leave{{2}}), std::unexpected(BookError::no_such_member));
  EXPECT_EQ(book.wish({{1}, {2}, {3}}, everybody), (Book::Wish{{{1}, {3}}, {}}));
  book.settle({{1}, {3}}, {});
  EXPECT_FALSE(book.contains({2}));
}

TEST(Book, SomebodyVotes) {
  Book book = book_of_three();
  ASSERT_TRUE(book.apply(Leave{{1}}));
  ASSERT_TRUE(book.apply(Leave{{2}}));
  ASSERT_TRUE(book.apply(Enter{"h", 4}));
  EXPECT_EQ(book.apply(Leave{{3}}), std::unexpected(BookError::no_voter_left));
}

TEST(Book, AnAddressIsOneMembers) {
  Book book = book_of_three();
  EXPECT_EQ(book.apply(Enter{"h", 2}), std::unexpected(BookError::address_taken));
  EXPECT_EQ(book.apply(Move{{1}, "h", 2}), std::unexpected(BookError::address_taken));
  EXPECT_EQ(book.apply(Enter{"", 2}), std::unexpected(BookError::malformed));
  EXPECT_EQ(book.apply(Enter{"h", 0}), std::unexpected(BookError::malformed));
  ASSERT_TRUE(book.apply(Move{{1}, "elsewhere", 2}));
  EXPECT_EQ(book.find({1})->host, "elsewhere");
}

TEST(Book, AMemberSaysOnceWhichDataItHas) {
  Book book = book_of_three();
  ASSERT_TRUE(book.apply(Introduce{{2}, "two", {"http://h:1"}, 77}));
  ASSERT_TRUE(book.apply(Introduce{{2}, "two again", {"http://h:2"}, 78}));
  EXPECT_EQ(book.find({2})->data, 77u);
  EXPECT_EQ(book.find({2})->name, "two again");
}

TEST(Book, MembersAreBounded) {
  Book book = book_of_three();
  for (std::uint16_t port = 4; port <= most_members; ++port) ASSERT_TRUE(book.apply(Enter{"h", port}));
  EXPECT_EQ(book.apply(Enter{"h", 1000}), std::unexpected(BookError::too_many));
}

TEST(Book, IsBytesAndBack) {
  Book book = book_of_three();
  ASSERT_TRUE(book.apply(Enter{.host = "h", .port = 4, .clients = {"http://h:9"}, .replaces = {3}}));
  EXPECT_EQ(decode<Book>(encode(book)), book);
  const BookChange change = Introduce{{2}, "two", {"http://h:1"}, 77};
  EXPECT_EQ(decode<BookChange>(encode(change)), change);
}

}  // namespace
}  // namespace conclave::cluster
