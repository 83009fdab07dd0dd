#include "desk/leaders.hpp"

#include <gtest/gtest.h>

namespace conclave::desk {
namespace {

Leads leads(const std::string& name, std::uint64_t fence, const std::string& value = "v") {
  return {.name = name, .key = name + "/1", .value = value, .fence = fence};
}
std::string leader(const Leaders& leaders, const std::string& name) {
  const auto told = leaders.greatest(name);
  return told ? std::to_string(told->member.value) + told->leads->value : "none";
}

TEST(Leaders, AreWhoeverHasTheGreatestFence) {
  Leaders leaders;
  EXPECT_EQ(leader(leaders, "e"), "none");
  leaders.take({1}, leads("e", 3));
  leaders.take({2}, leads("e", 2));
  EXPECT_EQ(leader(leaders, "e"), "1v");
  leaders.take({1}, leads("e", 3, "w"));
  EXPECT_EQ(leader(leaders, "e"), "1w");
  leaders.take({2}, leads("e", 4));
  EXPECT_EQ(leader(leaders, "e"), "2v");
  leaders.take({1}, Ended{"e", 3});
  EXPECT_EQ(leader(leaders, "e"), "2v");
}

TEST(Leaders, DoNotComeBackWhenALaterOneEnded) {
  Leaders leaders;
  leaders.take({1}, leads("e", 3));
  leaders.take({2}, leads("e", 4));
  leaders.take({2}, Ended{"e", 4});
  EXPECT_EQ(leader(leaders, "e"), "none");
  leaders.take({3}, leads("e", 2));
  EXPECT_EQ(leader(leaders, "e"), "none");
  EXPECT_NE(leaders.told_by("e", {1}), nullptr);
}

TEST(Leaders, OfAMemberThatBeginsAnewAreForgotten) {
  Leaders leaders;
  leaders.take({1}, leads("e", 3));
  leaders.take({1}, leads("f", 1));
  leaders.take({2}, leads("g", 1));
  leaders.changed();
  leaders.take({1}, Anew{});
  EXPECT_EQ(leaders.changed(), (std::vector<std::string>{"e", "f"}));
  EXPECT_EQ(leaders.names(), std::vector<std::string>{"g"});
  EXPECT_TRUE(leaders.all_of({1}).empty());
}

TEST(Leaders, AreCountedForEachMember) {
  Leaders leaders({.names_per_member = 2, .bytes_per_member = 20});
  EXPECT_TRUE(leaders.take({1}, leads("a", 1)));
  EXPECT_TRUE(leaders.take({1}, leads("b", 1)));
  EXPECT_FALSE(leaders.take({1}, leads("c", 1)));
  EXPECT_TRUE(leaders.take({2}, leads("c", 1)));
  EXPECT_FALSE(leaders.take({1}, leads("b", 1, "longer than allowed")));
  EXPECT_TRUE(leaders.take({1}, Ended{"a", 1}));
  EXPECT_TRUE(leaders.take({1}, leads("c", 2)));
  EXPECT_EQ(leader(leaders, "c"), "1v");
}

TEST(Notes, AreReadAsTheyWereWritten) {
  const std::vector<Note> notes = {Anew{}, leads("e", 7), Ended{"e", 7}};
  for (const Note& note : notes) {
    const Bytes bytes = encode(note);
    EXPECT_EQ(decode_note(live::bytes_of(bytes)).value(), note);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
      EXPECT_EQ(decode_note(live::bytes_of(bytes).first(cut)).error(), NoteError::malformed);
  }
}

TEST(Notes, ThatSayTheImpossibleAreRefused) {
  const auto error = [](const Note& note) {
    const Bytes bytes = encode(note);
    return decode_note(live::bytes_of(bytes)).error();
  };
  EXPECT_EQ(error(Anew{.version = 9}), NoteError::unknown_version);
  EXPECT_EQ(error(leads("", 1)), NoteError::out_of_bounds);
  EXPECT_EQ(error(leads("e", 0)), NoteError::out_of_bounds);
  EXPECT_EQ(error(leads("e", UINT64_MAX)), NoteError::out_of_bounds);
  EXPECT_EQ(error(leads(std::string(longest_client_name + 1, 'e'), 1)), NoteError::out_of_bounds);
  EXPECT_EQ(error(leads("e", 1, std::string(longest_value + 1, 'v'))), NoteError::out_of_bounds);
  EXPECT_EQ(error(Ended{"", 1}), NoteError::out_of_bounds);
}

}  // namespace
}  // namespace conclave::desk
