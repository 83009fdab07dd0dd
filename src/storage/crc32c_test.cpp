// The sums of RFC 3720, appendix B.4, by both ways.
#include "storage/crc32c.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace conclave::storage {
namespace {

using Sum = std::uint32_t (*)(ByteView, std::uint32_t);

class Crc32c : public testing::TestWithParam<Sum> {};
INSTANTIATE_TEST_SUITE_P(BothWays, Crc32c, testing::Values(&crc32c, &crc32c_by_table));

TEST_P(Crc32c, GivesTheSumsOfTheStandard) {
  std::vector<std::byte> bytes(32, std::byte{0});
  EXPECT_EQ(GetParam()(bytes, 0), 0x8a9136aau);
  bytes.assign(32, std::byte{0xff});
  EXPECT_EQ(GetParam()(bytes, 0), 0x62a8ab43u);
  for (unsigned i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(GetParam()(bytes, 0), 0x46dd794eu);
  for (unsigned i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(GetParam()(bytes, 0), 0x113fdb5cu);
  constexpr std::string_view digits = "123456789";
  EXPECT_EQ(GetParam()(std::as_bytes(std::span(digits)), 0), 0xe3069283u);
  EXPECT_EQ(GetParam()({}, 0), 0u);
}

TEST_P(Crc32c, ContinuesASumAtAnyPlace) {
  std::vector<std::byte> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  const std::uint32_t whole = crc32c_by_table(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const ByteView all = bytes;
    EXPECT_EQ(GetParam()(all.subspan(cut), GetParam()(all.first(cut), 0)), whole) << cut;
  }
}

TEST_P(Crc32c, DiffersAfterDifferentBeginnings) {
  const std::vector<std::byte> bytes(20, std::byte{5});
  for (std::uint32_t bit = 0; bit < 32; ++bit)
    EXPECT_NE(GetParam()(bytes, 1u << bit), GetParam()(bytes, 0)) << bit;
}

}  // namespace
}  // namespace conclave::storage
