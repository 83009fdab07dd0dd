#include "desk/lines.hpp"

#include <gtest/gtest.h>

namespace conclave::desk {
namespace {

struct Fixture {
  std::vector<std::string> said = {};  // to the group
  std::vector<std::string> told = {};  // by the lines
  std::function<void()> put_off = {};
  bool grants_at_once = false;
  std::uint64_t fence = 0;
  Lines lines{{.waiting_per_place = 3, .claims = 5},
              {.ask =
                   [this](const std::string& place) {
                     said.push_back("ask " + place);
                     if (grants_at_once) lines.granted(place, ++fence);
                   },
               .give_back = [this](const std::string& place) { said.push_back("give " + place); },
               .later = [this](std::function<void()> then) { put_off = std::move(then); }},
              {.holds = [this](Claim& claim) { told.push_back("holds " + claim.id); },
               .ended = [this](const Claim& claim) { told.push_back("ended " + claim.id); },
               .lost = [this](const Claim& claim,
                              const std::string& why) { told.push_back("lost " + claim.id + why); },
               .stray_grant = [this](const std::string& place) { told.push_back("stray " + place); }}};
  void join(const std::string& place, const std::string& id) { lines.join({.id = id, .place = place}); }
};

using Words = std::vector<std::string>;

TEST(Lines, AskOnceForAllWhoWait) {
  Fixture all;
  all.join("p", "1");
  all.join("p", "2");
  EXPECT_EQ(all.said, Words{"ask p"});
  all.lines.granted("p", 7);
  EXPECT_EQ(all.told, Words{"holds 1"});
  EXPECT_EQ(all.lines.find("1")->fence, 7u);
  EXPECT_EQ(all.lines.held(), 1u);
  EXPECT_EQ(all.lines.waiting(), 1u);
}

TEST(Lines, GiveBackBeforeTheyAskForTheNext) {
  Fixture all;
  all.join("p", "1");
  all.join("p", "2");
  all.lines.granted("p", 1);
  all.lines.end("1");
  EXPECT_EQ(all.said, (Words{"ask p", "give p", "ask p"}));
  EXPECT_EQ(all.told, (Words{"holds 1", "ended 1"}));
  all.lines.granted("p", 2);
  all.lines.end("2");
  EXPECT_EQ(all.said.back(), "give p");
  EXPECT_TRUE(all.lines.lines().empty());
}

TEST(Lines, MayBeGrantedWhileTheyAsk) {
  Fixture all;
  all.grants_at_once = true;
  all.join("p", "1");
  all.join("p", "2");
  all.lines.end("1");
  EXPECT_EQ(all.told, (Words{"holds 1", "ended 1", "holds 2"}));
}

TEST(Lines, TakeTheRequestBackWhenNobodyWaits) {
  Fixture all;
  all.join("p", "1");
  all.join("p", "2");
  all.lines.end("1");
  EXPECT_EQ(all.said, Words{"ask p"});
  all.lines.end("2");
  EXPECT_EQ(all.said, (Words{"ask p", "give p"}));
  all.lines.granted("p", 1);
  EXPECT_EQ(all.said, (Words{"ask p", "give p", "give p"}))
      << "a grant that comes too late goes back at once";
  EXPECT_EQ(all.told.back(), "stray p");
}

TEST(Lines, KeepWhatTheyHoldWhenAGrantComesTwice) {
  Fixture all;
  all.join("p", "1");
  all.lines.granted("p", 1);
  all.lines.granted("p", 2);
  EXPECT_EQ(all.lines.find("1")->fence, 1u);
  EXPECT_EQ(all.said, Words{"ask p"});
}

TEST(Lines, AskAgainLaterForWhoWaitsWhenTheGroupTookAPlaceAway) {
  Fixture all;
  all.join("p", "1");
  all.join("p", "2");
  all.lines.lost("p", "!");
  EXPECT_EQ(all.told, Words{}) << "nobody held it";
  all.lines.granted("p", 1);
  all.lines.lost("p", "!");
  EXPECT_EQ(all.told, (Words{"holds 1", "lost 1!"}));
  EXPECT_EQ(all.lines.find("1"), nullptr);
  EXPECT_EQ(all.said, Words{"ask p"});
  all.put_off();
  EXPECT_EQ(all.said, (Words{"ask p", "ask p"}));
  all.put_off();
  EXPECT_EQ(all.said.size(), 2u) << "it asked already";
}

TEST(Lines, HaveBounds) {
  Fixture all;
  all.join("p", "1");
  all.join("p", "2");
  EXPECT_TRUE(all.lines.has_room("p"));
  all.join("p", "3");
  EXPECT_FALSE(all.lines.has_room("p"));
  EXPECT_TRUE(all.lines.has_room("q"));
  all.join("q", "4");
  all.join("r", "5");
  EXPECT_FALSE(all.lines.has_room("s"));
  all.lines.end("1");
  EXPECT_TRUE(all.lines.has_room("s"));
}

}  // namespace
}  // namespace conclave::desk
