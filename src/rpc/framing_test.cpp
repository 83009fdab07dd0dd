#include "rpc/framing.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace conclave::rpc {
namespace {

std::string framed(std::string_view message) {
  std::string bytes(prefix_bytes, '\0');
  put_prefix(bytes.data(), message.size());
  return bytes.append(message);
}

// Everything a reader delivers for `pieces`, or the error it stops at.
std::expected<std::vector<std::string>, FrameError> read_all(FrameReader& reader,
                                                             const std::vector<std::string>& pieces) {
  std::vector<std::string> messages;
  for (const std::string& piece : pieces) {
    std::string_view input = piece;
    while (true) {
      const auto next = reader.next(input);
      if (!next) return std::unexpected(next.error());
      if (!*next) break;
      messages.emplace_back(**next);
    }
    EXPECT_TRUE(input.empty());
  }
  return messages;
}

const std::vector<std::string> some = {"first", "", std::string(300, 'x'), "last"};

std::string some_bytes() {
  std::string bytes;
  for (const std::string& message : some) bytes += framed(message);
  return bytes;
}

TEST(FrameReader, ReadsMessagesThatComeTogether) {
  FrameReader reader(1000);
  EXPECT_EQ(read_all(reader, {some_bytes()}), some);
  EXPECT_TRUE(reader.at_boundary());
}

TEST(FrameReader, ReadsTheSameHoweverTheBytesAreCutInTwo) {
  const std::string bytes = some_bytes();
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    FrameReader reader(1000);
    EXPECT_EQ(read_all(reader, {bytes.substr(0, cut), bytes.substr(cut)}), some) << cut;
    EXPECT_TRUE(reader.at_boundary());
  }
}

TEST(FrameReader, ReadsTheSameByteByByte) {
  std::vector<std::string> pieces;
  for (const char c : some_bytes()) pieces.emplace_back(1, c);
  FrameReader reader(1000);
  EXPECT_EQ(read_all(reader, pieces), some);
}

TEST(FrameReader, KnowsWhenAMessageIsHalfRead) {
  const std::string bytes = framed("message");
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    FrameReader reader(1000);
    EXPECT_EQ(read_all(reader, {bytes.substr(0, cut)})->size(), 0u);
    EXPECT_FALSE(reader.at_boundary()) << cut;
    EXPECT_EQ(reader.kept(), cut);
  }
}

TEST(FrameReader, RefusesWhatIsTooLargeByItsLengthAlone) {
  FrameReader reader(10);
  EXPECT_EQ(read_all(reader, {framed("0123456789")})->size(), 1u);
  EXPECT_EQ(read_all(reader, {framed("0123456789a").substr(0, prefix_bytes)}).error(), FrameError::too_large);
}

TEST(FrameReader, RefusesCompressedMessages) {
  std::string bytes = framed("x");
  bytes[0] = 1;
  FrameReader reader(10);
  EXPECT_EQ(read_all(reader, {bytes}).error(), FrameError::compressed);
}

TEST(FrameReader, TakesNoMemoryForALengthThatIsOnlyClaimed) {
  FrameReader reader(1u << 30);
  std::string prefix(prefix_bytes, '\0');
  put_prefix(prefix.data(), 1u << 30);
  EXPECT_EQ(read_all(reader, {prefix + "abc"})->size(), 0u);
  EXPECT_EQ(reader.kept(), prefix_bytes + 3);
}

}  // namespace
}  // namespace conclave::rpc
