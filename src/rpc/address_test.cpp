#include "rpc/address.hpp"

#include <gtest/gtest.h>

namespace conclave::rpc {
namespace {

TEST(Address, TakesWhatUsersWrite) {
  EXPECT_EQ(parse_address("127.0.0.1:2379"), (Address{"127.0.0.1", "2379", false}));
  EXPECT_EQ(parse_address("http://db.example:80/"), (Address{"db.example", "80", false}));
  EXPECT_EQ(parse_address("https://[::1]:0"), (Address{"::1", "0", true}));
  EXPECT_EQ(parse_address(":2379"), (Address{"0.0.0.0", "2379", false}));
  EXPECT_EQ(parse_address("[::1]:5")->text(), "[::1]:5");
}

TEST(Address, SaysWhatIsWrong) {
  for (const char* text : {"", "host", "host:", "host:x", "host:65536", "host:123456", "::1:5", "ftp://h:1",
                           "h:-1", "http://[::1s://[::1]:8371"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_NE(address.error().find("is no address"), std::string::npos);
  }
}

}  // namespace
}  // namespace conclave::rpc
