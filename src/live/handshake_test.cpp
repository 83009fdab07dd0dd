#include "live/handshake.hpp"

#include <gtest/gtest.h>

#include "live/members.hpp"
#include "live/secrets.hpp"

namespace conclave::live {
namespace {

Terms usual() {
  return {.group = "g",
          .algorithm = "lamport",
          .members = std::string(32, 'm'),
          .epoch = 3,
          .key = "secret",
          .ids = {{1}, {2}, {3}}};
}

// A dialler and an acceptor that hand each other bytes.
struct Pair {
  Terms at_dialler = usual();
  Terms at_acceptor = usual();
  NodeId dialler = {1};
  NodeId acceptor = {2};
  NodeId meant = {2};
  std::string dialler_binding = {};
  std::string acceptor_binding = {};
  std::function<void(int, Bytes&)> tamper = [](int, Bytes&) {};

  struct Outcome {
    bool dialler_done = false;
    bool acceptor_done = false;
    std::optional<Refusal> by_dialler = {};
    std::optional<Refusal> by_acceptor = {};
    std::optional<Card> seen_by_acceptor = {};
    std::optional<Card> seen_by_dialler = {};
    std::optional<Seal> at_dialler = {};
    std::optional<Seal> at_acceptor = {};
    std::string on_the_wire = {};
  };

  Outcome run() {
    Outcome outcome;
    Bytes to_acceptor;
    Bytes to_dialler;
    const Standing ours = {
        .incarnation = 100, .stream = 1, .first_stream = 1, .knows = {.incarnation = 200, .received = 7}};
    auto a = Handshake::dial(
        at_dialler, dialler, meant, [&](NodeId) { return ours; }, fresh_nonce(), dialler_binding,
        to_acceptor);
    auto b = Handshake::accept(
        at_acceptor, acceptor,
        [](NodeId id) {
          return Standing{200 + id.value, 4, 2, {}};
        },
        fresh_nonce(), acceptor_binding);
    for (int step = 0; step < 4; ++step) {
      const bool at_b = step % 2 == 0;
      Bytes in = std::exchange(at_b ? to_acceptor : to_dialler, {});
      tamper(step, in);
      outcome.on_the_wire.append(in.begin(), in.end());
      const auto frame = next_frame(bytes_of(in), most_greeting_bytes);
      if (!frame || !*frame) break;
      const auto done = (at_b ? b : a).on_frame(**frame, at_b ? to_dialler : to_acceptor);
      if (!done) {
        (at_b ? outcome.by_acceptor : outcome.by_dialler) = done.error();
        break;
      }
      (at_b ? outcome.acceptor_done : outcome.dialler_done) = *done;
    }
    outcome.seen_by_acceptor = b.theirs();
    outcome.seen_by_dialler = a.theirs();
    outcome.at_dialler = a.take_seal();
    outcome.at_acceptor = b.take_seal();
    return outcome;
  }
};

TEST(Handshake, BothSidesLearnWhoTheOtherIsAndWhereItStands) {
  const auto outcome = Pair{}.run();
  EXPECT_TRUE(outcome.acceptor_done);
  EXPECT_TRUE(outcome.dialler_done);
  EXPECT_EQ(outcome.seen_by_acceptor->incarnation, 100u);
  EXPECT_EQ(outcome.seen_by_acceptor->knows.received, 7u);
  EXPECT_EQ(outcome.seen_by_dialler->incarnation, 201u);
  EXPECT_EQ(outcome.seen_by_dialler->stream, 4u);
  EXPECT_EQ(outcome.seen_by_dialler->first_stream, 2u);
}

// Frames go on under the seal that the cards had.
TEST(Handshake, WithAKeyBothSidesGoOnUnderOneSeal) {
  auto outcome = Pair{}.run();
  ASSERT_TRUE(outcome.at_dialler && outcome.at_acceptor);
  Bytes record;
  const ByteView words = bytes_of(std::string_view("words"));
  outcome.at_dialler->close({&words, 1}, record);
  std::vector<std::byte> opened;
  EXPECT_TRUE(outcome.at_acceptor->open((*next_frame(bytes_of(record), 100))->body, opened));
  EXPECT_TRUE(std::ranges::equal(opened, words));
  Pair without;
  without.at_dialler.key = without.at_acceptor.key = "";
  EXPECT_FALSE(without.run().at_acceptor);
}

TEST(Handshake, WhoDoesNotKnowTheKeyLearnsNothingOfAMember) {
  Pair pair;
  pair.at_dialler.key = "guess";
  const auto outcome = pair.run();
  EXPECT_FALSE(outcome.seen_by_dialler || outcome.seen_by_acceptor);
  // Two hellos and the card of the stranger, under a seal that nobody here knows.
  const std::size_t hello = frame_head_bytes + 8 + 4 + 32;
  ASSERT_GT(outcome.on_the_wire.size(), 2 * hello);
  EXPECT_EQ(outcome.on_the_wire.find("lamport"), std::string::npos);
  EXPECT_EQ(Pair{}.run().on_the_wire.find("lamport"), std::string::npos);
  Pair open;
  open.at_dialler.key = open.at_acceptor.key = "";
  EXPECT_NE(open.run().on_the_wire.find("lamport"), std::string::npos)
      << "what is looked for is there at all";
}

// Having a key decides, not what the other side says.
TEST(Handshake, NobodyIsTalkedOutOfTheSeal) {
  for (const bool dialler_has_one : {false, true}) {
    Pair pair;
    (dialler_has_one ? pair.at_acceptor : pair.at_dialler).key = "";
    const auto outcome = pair.run();
    ASSERT_TRUE(outcome.by_acceptor);
    EXPECT_EQ(outcome.by_acceptor->code, RefusalCode::wrong_key);
    EXPECT_FALSE(outcome.dialler_done);
  }
  Pair pair;  // whoever stands between has the acceptor's card, in the clear
  pair.tamper = [](int step, Bytes& bytes) {
    if (step != 3) return;
    bytes.clear();
    encode_card({.group = "g",
                 .algorithm = "lamport",
                 .members = std::string(32, 'm'),
                 .epoch = 3,
                 .from = {2},
                 .to = {1},
                 .incarnation = 1,
                 .stream = 1,
                 .first_stream = 1},
                bytes);
  };
  const auto outcome = pair.run();
  ASSERT_TRUE(outcome.by_dialler);
  EXPECT_EQ(outcome.by_dialler->code, RefusalCode::wrong_key);
}

TEST(Handshake, ItWorksWithoutAKeyAsWell) {
  Pair pair;
  pair.at_dialler.key = pair.at_acceptor.key = "";
  EXPECT_TRUE(pair.run().dialler_done);
}

struct Mismatch {
  const char* name;
  std::function<void(Pair&)> make;
  RefusalCode code;
};

TEST(Handshake, WhateverDiffersIsNamed) {
  const std::vector<Mismatch> mismatches = {
      {"group", [](Pair& p) { p.at_dialler.group = "h"; }, RefusalCode::wrong_group},
      {"algorithm", [](Pair& p) { p.at_dialler.algorithm = "maekawa"; }, RefusalCode::wrong_algorithm},
      {"members", [](Pair& p) { p.at_dialler.members[0] = 'n'; }, RefusalCode::wrong_members},
      {"epoch", [](Pair& p) { p.at_dialler.epoch = 4; }, RefusalCode::wrong_epoch},
      {"key", [](Pair& p) { p.at_dialler.key = "guess"; }, RefusalCode::wrong_key},
      {"version",
       [](Pair& p) {
         p.at_dialler.versions = {3, 4};
       },
       RefusalCode::wrong_version},
      {"recipient", [](Pair& p) { p.meant = {3}; }, RefusalCode::wrong_recipient},
      {"id", [](Pair& p) { p.dialler = {2}; }, RefusalCode::duplicate_id},
      {"stranger", [](Pair& p) { p.dialler = {9}; }, RefusalCode::unknown_member},
      {"direction", [](Pair& p) { p.dialler = {3}; }, RefusalCode::unknown_member},
      {"tls session", [](Pair& p) { p.dialler_binding = "another"; }, RefusalCode::wrong_key},
  };
  for (const Mismatch& mismatch : mismatches) {
    Pair pair;
    mismatch.make(pair);
    const auto outcome = pair.run();
    ASSERT_TRUE(outcome.by_acceptor) << mismatch.name;
    EXPECT_EQ(outcome.by_acceptor->code, mismatch.code) << mismatch.name;
    EXPECT_FALSE(outcome.by_acceptor->text.empty());
    EXPECT_FALSE(outcome.dialler_done);
  }
}

TEST(Handshake, VersionsThatOverlapAreSpoken) {
  Pair pair;
  pair.at_dialler.versions = {2, 4};
  EXPECT_TRUE(pair.run().dialler_done);
}

TEST(Handshake, TheAcceptorHasToProveItselfToo) {
  Pair pair;
  pair.tamper = [](int step, Bytes& bytes) {
    if (step == 3) bytes.back() ^= 1;
  };
  const auto outcome = pair.run();
  ASSERT_TRUE(outcome.by_dialler);
  EXPECT_EQ(outcome.by_dialler->code, RefusalCode::wrong_key);
}

TEST(Handshake, AChangedByteSpoilsTheProof) {
  for (const int step : {0, 1, 2}) {
    Pair pair;
    pair.tamper = [step](int now, Bytes& bytes) {
      if (now == step) bytes.back() ^= 1;  // of a nonce, or of the dialler's card
    };
    const auto outcome = pair.run();
    ASSERT_TRUE(outcome.by_acceptor);
    EXPECT_EQ(outcome.by_acceptor->code, RefusalCode::wrong_key);
  }
}

TEST(Handshake, ARecordedCardDoesNotFitAnotherHandshake) {
  Bytes recorded;
  Pair first;
  first.tamper = [&](int step, Bytes& bytes) {
    if (step == 2) recorded = bytes;
  };
  ASSERT_TRUE(first.run().acceptor_done);
  Pair second;
  second.tamper = [&](int step, Bytes& bytes) {
    if (step == 2) bytes = recorded;
  };
  EXPECT_EQ(second.run().by_acceptor->code, RefusalCode::wrong_key);
}

TEST(Handshake, ADiallersCardDoesNotServeAsTheAcceptors) {
  Bytes reflected;
  Pair pair;
  pair.tamper = [&](int step, Bytes& bytes) {
    if (step == 2) reflected = bytes;
    if (step == 3) bytes = reflected;
  };
  EXPECT_EQ(pair.run().by_dialler->code, RefusalCode::wrong_key);
}

TEST(Handshake, FramesOutOfTurnAreGarbage) {
  Bytes ignored;
  const Terms terms = usual();
  auto acceptor = Handshake::accept(terms, {2}, [](NodeId) { return Standing{}; }, fresh_nonce(), {});
  const auto alive = alive_frame(0);
  EXPECT_EQ(acceptor.on_frame(**next_frame(alive, 100), ignored).error().code, RefusalCode::garbage);
  Bytes card;
  encode_card({}, card);
  EXPECT_EQ(acceptor.on_frame(**next_frame(bytes_of(card), 100), ignored).error().code, RefusalCode::garbage);
  Bytes hello;
  encode_hello({wire_versions, std::string(32, 'x')}, hello);
  ASSERT_TRUE(acceptor.on_frame(**next_frame(bytes_of(hello), 100), ignored));
  EXPECT_EQ(acceptor.on_frame(**next_frame(bytes_of(hello), 100), ignored).error().code,
            RefusalCode::garbage);
}

TEST(Secrets, AgreeWithPublishedVectors) {
  const auto hex = [](const std::string& bytes) {
    std::string text;
    for (const char c : bytes) {
      constexpr char digits[] = "0123456789abcdef";
      text += digits[static_cast<unsigned char>(c) >> 4];
      text += digits[static_cast<unsigned char>(c) & 15];
    }
    return text;
  };
  // FIPS 180-2, appendix B.1; RFC 4231, case 2.
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256({}, "text"), hmac_sha256("", "text"));
  // RFC 5869, case 1.
  std::string salt;
  std::string use;
  for (char i = 0; i < 13; ++i) salt += i;
  for (int i = 0xf0; i < 0xfa; ++i) use += static_cast<char>(i);
  EXPECT_EQ(hex(hkdf_sha256(std::string(22, '\x0b'), salt, use, 42)),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  EXPECT_NE(fresh_nonce(), fresh_nonce());
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "abcd"));
}

TEST(Members, ALoopbackAddressIsReachedByThisMachineOnly) {
  for (const char* host :
       {"127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1", "no-such-host.invalid"})
    EXPECT_FALSE(reached_from_elsewhere(host)) << host;
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1"})
    EXPECT_TRUE(reached_from_elsewhere(host)) << host;
}

TEST(Members, ADigestDoesNotDependOnTheOrderOfTheList) {
  const std::vector<Peer> one = {{{1}, "a", 1}, {{2}, "b", 2}};
  const std::vector<Peer> other = {{{2}, "b", 2}, {{1}, "a", 1}};
  EXPECT_EQ(members_digest(one), members_digest(other));
  EXPECT_EQ(members_digest(one), sha256("1=a:1\n2=b:2\n"));
  EXPECT_NE(members_digest(one), members_digest({{{1}, "a", 1}, {{2}, "b", 3}}));
}

TEST(Members, AListSaysWhatIsWrongWithIt) {
  EXPECT_EQ(wrong_with({{{1}, "a", 1}, {{2}, "b", 2}}, {1}), "");
  EXPECT_NE(wrong_with({{{1}, "a", 1}, {{1}, "b", 2}}, {1}), "");
  EXPECT_NE(wrong_with({{{1}, "a", 1}, {{2}, "a", 1}}, {1}), "");
  EXPECT_NE(wrong_with({{{1}, "a", 1}}, {2}), "");
  EXPECT_NE(wrong_with({{{1}, "", 1}}, {1}), "");
  EXPECT_NE(wrong_with({{{1}, "a", 0}}, {1}), "");
}

}  // namespace
}  // namespace conclave::live
