#include "rpc/status.hpp"

#include <gtest/gtest.h>

namespace conclave::rpc {
namespace {

TEST(Status, WritesItsCodeAsANumber) {
  for (unsigned i = 0; i <= 16; ++i) {
    EXPECT_EQ(number(static_cast<Code>(i)), std::to_string(i));
    EXPECT_EQ(parse_code(std::to_string(i)), static_cast<Code>(i));
  }
  EXPECT_EQ(name(Code::failed_precondition), "FAILED_PRECONDITION");
}

TEST(Status, TakesUnheardOfNumbersForUnknown) {
  for (const char* text : {"", "17", "-1", "1x", "4294967296000"})
    EXPECT_EQ(parse_code(text), Code::unknown) << text;
}

TEST(Status, EscapesWhatHeadersCannotHold) {
  EXPECT_EQ(encode_message("etcdserver: no leader"), "etcdserver: no leader");
  EXPECT_EQ(encode_message("50%\n\xc3\xa4"), "50%25%0A%C3%A4");
  std::string everything;
  for (int i = 0; i < 256; ++i) everything += static_cast<char>(i);
  EXPECT_EQ(decode_message(encode_message(everything)), everything);
}

TEST(Status, ShowsBrokenEscapesAsTheyAre) {
  for (const char* text : {"%", "%4", "%zz", "100%", "a%4"}) EXPECT_EQ(decode_message(text), text);
}

TEST(Status, MapsToHttpAsGatewaysDo) {
  EXPECT_EQ(http_status(Code::not_found), 404u);
  EXPECT_EQ(http_status(Code::unavailable), 503u);
  EXPECT_EQ(code_of_http(503), Code::unavailable);
  EXPECT_EQ(code_of_http(404), Code::unimplemented);
}

}  // namespace
}  // namespace conclave::rpc
