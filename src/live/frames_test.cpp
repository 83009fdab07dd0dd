#include "live/frames.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

namespace conclave::live {
namespace {

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  std::istringstream in(text);
  for (std::string digits; in >> digits;) {
    while (digits.size() >= 2) {
      bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(0, 2), nullptr, 16)));
      digits.erase(0, 2);
    }
  }
  return bytes;
}

std::string to_hex(ByteView bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    if (!text.empty()) text += ' ';
    text += digits[std::to_integer<unsigned>(byte) >> 4];
    text += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

Card example() {
  return {.group = "g",
          .algorithm = "lamport",
          .members = std::string(32, '\x11'),
          .epoch = 1,
          .from = {1},
          .to = {2},
          .incarnation = 300,
          .stream = 1,
          .first_stream = 1,
          .knows = {.incarnation = 5, .stream = 1, .received = 9}};
}

Hello hello_of(VersionRange versions) { return {versions, std::string(32, '\x22')}; }

Frame only_frame(const Bytes& bytes) {
  const auto frame = next_frame(bytes_of(bytes), most_greeting_bytes);
  EXPECT_TRUE(frame && *frame);
  EXPECT_EQ((*frame)->size, bytes.size());
  return **frame;
}

// The examples of docs/wire.md, by name: lines of hexadecimal digits after "name:".
std::map<std::string, Bytes> examples_of_the_page() {
  std::ifstream page(std::string(CONCLAVE_SOURCE) + "/docs/wire.md");
  std::map<std::string, Bytes> examples;
  const std::regex line_of_bytes("^    ([a-z]+): +((?:[0-9a-f]{2} ?)+).*$");
  const std::regex more_bytes("^           +((?:[0-9a-f]{2} ?)+).*$");
  std::string line;
  std::string name;
  while (std::getline(page, line)) {
    std::smatch match;
    if (std::regex_match(line, match, line_of_bytes)) {
      name = match[1];
      examples[name] = from_hex(match[2]);
    } else if (!name.empty() && std::regex_match(line, match, more_bytes)) {
      const Bytes more = from_hex(match[1]);
      examples[name].insert(examples[name].end(), more.begin(), more.end());
    } else {
      name.clear();
    }
  }
  return examples;
}

TEST(Frames, AreWhatThePageShows) {
  auto page = examples_of_the_page();
  Bytes hello;
  encode_hello(hello_of({2, 2}), hello);
  EXPECT_EQ(to_hex(bytes_of(page["hello"])), to_hex(bytes_of(hello)));
  Bytes card;
  encode_card(example(), card);
  EXPECT_EQ(to_hex(bytes_of(page["card"])), to_hex(bytes_of(card)));
  Bytes refused;
  encode_refused({RefusalCode::wrong_key, "no"}, refused);
  EXPECT_EQ(to_hex(bytes_of(page["refused"])), to_hex(bytes_of(refused)));
  EXPECT_EQ(to_hex(bytes_of(page["alive"])), to_hex(alive_frame(513)));
  const auto head = data_head(3, 2, 2);
  Bytes data(head.size());
  std::memcpy(data.data(), head.data(), head.size());
  data.insert(data.end(), {'h', 'i'});
  EXPECT_EQ(to_hex(bytes_of(page["data"])), to_hex(bytes_of(data)));
}

TEST(Frames, HelloComesBackAsItWas) {
  Bytes bytes;
  encode_hello(hello_of({1, 3}), bytes);
  const auto hello = decode_hello(only_frame(bytes).body, {2, 5});
  ASSERT_TRUE(hello);
  EXPECT_EQ(*hello, hello_of({1, 3}));
}

TEST(Frames, ACardComesBackAsItWas) {
  Bytes bytes;
  encode_card(example(), bytes);
  EXPECT_EQ(*decode_card(only_frame(bytes).body), example());
  Card nobody = example();
  nobody.incarnation = 0;
  bytes.clear();
  encode_card(nobody, bytes);
  EXPECT_EQ(decode_card(only_frame(bytes).body).error(), FrameError::malformed);
}

TEST(Frames, HelloOfAnotherVersionIsReadUpToItsVersions) {
  Bytes bytes;
  encode_hello({{7, 9}, "whatever version 7 puts there"}, bytes);
  const auto hello = decode_hello(only_frame(bytes).body, {1, 6});
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->versions, (VersionRange{7, 9}));
  EXPECT_EQ(hello->nonce, "");
}

TEST(Frames, HelloWithoutMagicOrWithAShortNonceIsMalformed) {
  Bytes bytes;
  encode_hello(hello_of({1, 1}), bytes);
  bytes[5] ^= 1;
  EXPECT_EQ(decode_hello(only_frame(bytes).body, {1, 1}).error(), FrameError::malformed);
  Hello hello = hello_of({1, 1});
  hello.nonce.pop_back();
  bytes.clear();
  encode_hello(hello, bytes);
  EXPECT_EQ(decode_hello(only_frame(bytes).body, {1, 1}).error(), FrameError::malformed);
}

TEST(Frames, ALengthBeyondTheBoundIsRefusedBeforeTheRestArrives) {
  const Bytes bytes = from_hex("02 00 01 00");
  EXPECT_EQ(next_frame(bytes_of(bytes), 65536).error(), FrameError::too_long);
  EXPECT_TRUE(next_frame(bytes_of(bytes), 65537).has_value());
  EXPECT_EQ(next_frame(bytes_of(std::string_view("GET / HTTP/1.1")), most_greeting_bytes).error(),
            FrameError::too_long);
}

TEST(Frames, EveryPrefixIsIncompleteAndNoError) {
  Bytes bytes;
  encode_refused({RefusalCode::busy, "later"}, bytes);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto frame = next_frame(bytes_of(bytes).first(length), 1000);
    ASSERT_TRUE(frame);
    EXPECT_FALSE(*frame) << length;
  }
}

TEST(Frames, UnknownKindsAndEmptyFramesAreRefused) {
  EXPECT_EQ(next_frame(bytes_of(from_hex("01 00 00 00 07")), 10).error(), FrameError::unknown_kind);
  EXPECT_EQ(next_frame(bytes_of(from_hex("01 00 00 00 00")), 10).error(), FrameError::unknown_kind);
  EXPECT_EQ(next_frame(bytes_of(from_hex("00 00 00 00 01")), 10).error(), FrameError::malformed);
}

TEST(Frames, BodiesThatAreTooShortAreMalformed) {
  const Bytes seven(7);
  EXPECT_EQ(decode_alive(bytes_of(seven)).error(), FrameError::malformed);
  const Bytes fifteen(15);
  EXPECT_EQ(decode_data(bytes_of(fifteen)).error(), FrameError::malformed);
  EXPECT_EQ(decode_card(bytes_of(fifteen)).error(), FrameError::malformed);
  EXPECT_EQ(decode_refused(bytes_of(from_hex("63 00"))).error(), FrameError::malformed);
}

TEST(Frames, ARefusalsTextIsCutToItsBound) {
  Bytes bytes;
  encode_refused({RefusalCode::busy, std::string(5000, 'x')}, bytes);
  const auto refusal = decode_refused(only_frame(bytes).body);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->text.size(), 200u);
}

}  // namespace
}  // namespace conclave::live
