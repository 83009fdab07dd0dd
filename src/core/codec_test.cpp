#include "core/codec.hpp"

#include <gtest/gtest.h>

#include "core/assumptions.hpp"
#include "core/vector_clock.hpp"
#include "protocols/mutex/bakery_messages.hpp"
#include "protocols/mutex/carvalho_roucairol.hpp"
#include "protocols/mutex/central_server.hpp"
#include "protocols/mutex/central_token.hpp"
#include "protocols/mutex/lamport.hpp"
#include "protocols/mutex/maekawa.hpp"
#include "protocols/mutex/maekawa_deadlock_free.hpp"
#include "protocols/mutex/ricart_agrawala.hpp"
#include "protocols/mutex/ricart_agrawala_just_released.hpp"
#include "protocols/mutex/token_ring.hpp"

namespace conclave {
namespace {

// Fills a value of any type with something in every field: what a decoder does, without bytes.
class Inventor {
 public:
  template <Number T>
  void number(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = true;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(1);
    } else {
      value = static_cast<T>(next_ += 100);
    }
  }
  void text(std::string& value) { value = "text"; }
  void bytes(Payload& value) { value = Payload(Bytes{1, 2, 255}); }
  void nodes(NodeSet& set) { set = {{3}, {4}, {static_cast<std::uint32_t>(next_ += 100)}}; }
  template <class T>
  void optional(T& value) {
    walk(*this, value.emplace());
  }
  template <class T>
  void variant(T&) {}  // stays what it is
  template <class T>
  void sequence(T& value) {
    for (int i = 0; i < 2; ++i) {
      value.push_back({});
      walk(*this, value.back());
    }
  }
  template <class T>
  void map(T& value) {
    for (int i = 0; i < 2; ++i) {
      typename T::key_type key;
      walk(*this, key);
      walk(*this, value[key]);
    }
  }
  template <class T>
  void structure(T& value) {
    boost::pfr::for_each_field(value, [this](auto& field) { walk(*this, field); });
  }

 private:
  std::uint64_t next_ = 0;
};

template <class T>
T invent() {
  T value{};
  Inventor inventor;
  walk(inventor, value);
  return value;
}

template <class T>
DecodeError refusal(const Bytes& bytes) {
  const auto value = decode<T>(bytes);
  EXPECT_FALSE(value.has_value()) << "decoded what must be refused";
  return value ? DecodeError{-1} : value.error();
}

template <class T>
void expect_round_trip(const T& value) {
  const Bytes bytes = encode(value);
  const auto back = decode<T>(bytes);
  ASSERT_TRUE(back) << describe(back.error());
  EXPECT_TRUE(*back == value);
  EXPECT_EQ(encode(*back), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const DecodeError error = refusal<T>({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_TRUE(error == DecodeError::truncated || error == DecodeError::too_long) << describe(error);
  }
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(refusal<T>(longer), DecodeError::trailing);
}

template <class P>
class CodecOf : public testing::Test {};
using Protocols =
    testing::Types<mutex::BakeryMessages, mutex::CarvalhoRoucairol, mutex::CentralServer, mutex::CentralToken,
                   mutex::Lamport, mutex::Maekawa, mutex::MaekawaDeadlockFree, mutex::RicartAgrawala,
                   mutex::RicartAgrawalaJustReleased, mutex::TokenRing>;
TYPED_TEST_SUITE(CodecOf, Protocols);

TYPED_TEST(CodecOf, EveryMessageComesBack) {
  using Message = typename TypeParam::Message;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (expect_round_trip(Message(std::variant_alternative_t<I, Message>{})), ...);
    (expect_round_trip(Message(invent<std::variant_alternative_t<I, Message>>())), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Message>>{});
}

TYPED_TEST(CodecOf, AWholeStateComesBack) {
  expect_round_trip(TypeParam{});
  expect_round_trip(invent<TypeParam>());
  typename TypeParam::Out out;
  expect_round_trip(TypeParam::start({2}, NodeSet::range({1}, 5), {}, out));
}

TYPED_TEST(CodecOf, AnUnknownMessageIsRefused) {
  constexpr auto kinds = std::variant_size_v<typename TypeParam::Message>;
  EXPECT_EQ(refusal<typename TypeParam::Message>({kinds}), DecodeError::unknown_tag);
  EXPECT_EQ(refusal<typename TypeParam::Message>({0x7f}), DecodeError::unknown_tag);
}

TEST(Codec, NumbersComeBack) {
  for (const std::uint64_t n : {0ul, 1ul, 127ul, 128ul, 16383ul, 16384ul, 1ul << 63, UINT64_MAX})
    expect_round_trip(n);
  for (const std::int64_t n : {0l, -1l, 1l, -64l, 64l, INT64_MIN, INT64_MAX}) expect_round_trip(n);
  expect_round_trip(std::int8_t{-128});
  expect_round_trip(std::string("a\0b", 3));
  expect_round_trip(NodeSet{});
  expect_round_trip(NodeSet{{0}, {5}, {6}, {UINT32_MAX}});
  expect_round_trip(std::map<std::string, std::optional<bool>>{{"a", true}, {"b", {}}});
}

TEST(Codec, SmallNumbersTakeOneByte) {
  EXPECT_EQ(encode(std::uint64_t{127}), Bytes{127});
  EXPECT_EQ(encode(std::uint64_t{300}), (Bytes{0xac, 0x02}));
  EXPECT_EQ(encode(std::int32_t{-1}), Bytes{1});
  EXPECT_EQ(encode(NodeSet::range({1}, 1'000'000)).size(), 5u);
}

TEST(Codec, EqualValuesGiveEqualBytes) {
  NodeSet a = NodeSet::range({1}, 9).without({5});
  NodeSet b;
  for (const std::uint32_t id : {9u, 1u, 8u, 2u, 7u, 3u, 6u, 4u}) b.insert({id});
  EXPECT_EQ(encode(a), encode(b));
  VectorClock c, d;
  c.tick({2}), c.tick({1});
  d.tick({1}), d.tick({2});
  EXPECT_EQ(encode(c), encode(d));
}

TEST(Codec, RefusesANumberTooLargeForItsField) {
  EXPECT_EQ(refusal<std::uint8_t>({0x80, 0x02}), DecodeError::out_of_range);
  EXPECT_EQ(refusal<std::int8_t>({0x80, 0x02}), DecodeError::out_of_range);
  EXPECT_EQ(refusal<NodeId>({0x80, 0x80, 0x80, 0x80, 0x10}), DecodeError::out_of_range);
  Bytes eleven(10, 0xff);
  eleven.push_back(1);
  EXPECT_EQ(refusal<std::uint64_t>(eleven), DecodeError::out_of_range);
}

TEST(Codec, RefusesALongerSpellingOfANumber) {
  EXPECT_EQ(refusal<std::uint64_t>({0x80, 0x00}), DecodeError::not_canonical);
  EXPECT_EQ(refusal<std::uint64_t>({0xff, 0x80, 0x00}), DecodeError::not_canonical);
}

TEST(Codec, RefusesFlagsAndEnumeratorsThatDoNotExist) {
  EXPECT_EQ(refusal<bool>({2}), DecodeError::unknown_tag);
  EXPECT_EQ(refusal<std::optional<bool>>({2, 1}), DecodeError::unknown_tag);
  EXPECT_EQ(refusal<Links>({4}), DecodeError::unknown_tag);
  EXPECT_EQ(refusal<Links>({0x80, 0x02}), DecodeError::unknown_tag);
}

TEST(Codec, RefusesNodeSetsThatAreNotCanonical) {
  EXPECT_EQ(refusal<NodeSet>({2, 5, 0, 1, 0}), DecodeError::not_canonical);  // descending
  EXPECT_EQ(refusal<NodeSet>({2, 1, 0, 2, 0}), DecodeError::not_canonical);  // adjacent
  EXPECT_EQ(refusal<NodeSet>({2, 1, 4, 3, 0}), DecodeError::not_canonical);  // overlapping
  EXPECT_EQ(refusal<NodeSet>({1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}), DecodeError::out_of_range);
}

TEST(Codec, RefusesMapsWhoseKeysAreNotAscending) {
  EXPECT_EQ(refusal<VectorClock>({2, 5, 1, 4, 1}), DecodeError::not_canonical);
  EXPECT_EQ(refusal<VectorClock>({2, 5, 1, 5, 1}), DecodeError::not_canonical);
}

TEST(Codec, RefusesALengthThatTheBytesCannotHold) {
  const Bytes huge = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0};
  EXPECT_EQ(refusal<std::string>(huge), DecodeError::too_long);
  EXPECT_EQ(refusal<std::vector<std::uint64_t>>(huge), DecodeError::too_long);
  EXPECT_EQ(refusal<NodeSet>(huge), DecodeError::too_long);
  EXPECT_EQ(refusal<VectorClock>(huge), DecodeError::too_long);
  EXPECT_EQ(refusal<NodeSet>({2, 1, 0, 3}), DecodeError::too_long);  // a run takes two bytes at least
}

TEST(Codec, ALyingLengthCostsItsSenderNotUs) {
  // 60000 elements are claimed and would fit; the first one is broken.
  Bytes lie = encode(std::uint64_t{60'000});
  lie.resize(lie.size() + 60'000, 0xff);
  std::vector<mutex::CentralToken::Pending> pending;
  Decoder decoder(lie);
  walk(decoder, pending);
  EXPECT_TRUE(decoder.failed());
  EXPECT_LE(pending.capacity(), 1u);
}

TEST(Codec, AnHonestLengthCostsASmallMultipleOfTheBytes) {
  Bytes honest = encode(std::uint64_t{30'000});
  honest.resize(honest.size() + 60'000, 0);
  std::vector<mutex::CentralToken::Pending> pending;
  Decoder decoder(honest);
  walk(decoder, pending);
  EXPECT_FALSE(decoder.failed());
  EXPECT_EQ(pending.size(), 30'000u);
  EXPECT_LE(pending.capacity() * sizeof pending[0], 128 * honest.size());
}

TEST(Codec, EveryErrorHasItsSentence) {
  for (int error = 0; error <= static_cast<int>(DecodeError::too_deep); ++error)
    EXPECT_NE(describe(static_cast<DecodeError>(error)), "unknown error");
}

}  // namespace
}  // namespace conclave
