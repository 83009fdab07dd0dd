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
    std::optional<Hello> seen_by_acceptor = {};
    std::optional<Hello> seen_by_dialler = {};
  };

  Outcome run() {
    Outcome outcome;
    Bytes to_acceptor;
    Bytes to_dialler;
    const Standing ours = {
        .incarnation = 100, .stream = 1, .first_stream = 1, .knows = {.incarnation = 200, .received = 7}};
    auto a =
        Handshake::dial(at_dialler, dialler, meant, ours, 5, fresh_nonce(), dialler_binding, to_acceptor);
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
  EXPECT_EQ(outcome.seen_by_dialler->attempt, 5u);
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
         p.at_dialler.versions = {2, 3};
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
  pair.at_dialler.versions = {1, 4};
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

TEST(Handshake, AChangedByteOfAHelloSpoilsTheProof) {
  for (const int step : {0, 1}) {
    Pair pair;
    pair.tamper = [step](int now, Bytes& bytes) {
      if (now == step) bytes.back() ^= 1;  // of the nonce
    };
    const auto outcome = pair.run();
    ASSERT_TRUE(outcome.by_acceptor);
    EXPECT_EQ(outcome.by_acceptor->code, RefusalCode::wrong_key);
  }
}

TEST(Handshake, ARecordedProofDoesNotFitAnotherHandshake) {
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

TEST(Handshake, ADiallersProofDoesNotServeAsTheAcceptors) {
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
  Bytes proof;
  encode_proof(std::string(32, 'x'), proof);
  EXPECT_EQ(acceptor.on_frame(**next_frame(bytes_of(proof), 100), ignored).error().code,
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
  EXPECT_NE(fresh_nonce(), fresh_nonce());
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "abcd"));
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
