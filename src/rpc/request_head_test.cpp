#include "rpc/request_head.hpp"

#include <gtest/gtest.h>

namespace conclave::rpc {
namespace {

using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

RequestHead head(const Fields& fields, std::size_t most_bytes = 1000) {
  RequestHead result;
  for (const auto& [name, value] : fields) result.add(name, value, most_bytes);
  result.complete();
  return result;
}

const Fields good = {
    {":method", "POST"}, {":scheme", "http"}, {":path", "/a.B/C"}, {"content-type", "application/grpc"}};

Fields with(Fields fields, std::pair<std::string_view, std::string_view> more) {
  fields.push_back(more);
  return fields;
}

TEST(RequestHead, TakesAProperHead) {
  EXPECT_FALSE(head(good).malformed());
  EXPECT_TRUE(head(good).grpc());
  EXPECT_EQ(head(good).path(), "/a.B/C");
}

TEST(RequestHead, TakesAnAuthorityWithAScheme) {
  Fields fields = good;
  fields.insert(fields.begin(), {":authority", "http://127.0.0.1:2379"});
  EXPECT_FALSE(head(fields).malformed());
}

TEST(RequestHead, RefusesWhatHttp2Forbids) {
  EXPECT_TRUE(head(with(good, {":authority", "x"})).malformed()) << "a pseudo-header after the others";
  EXPECT_TRUE(head(with(good, {"Upper", "x"})).malformed());
  EXPECT_TRUE(head(with(good, {"", "x"})).malformed());
  EXPECT_TRUE(head(with(good, {"a b", "x"})).malformed());
  EXPECT_TRUE(head(with(good, {"a", "x\r\ny: z"})).malformed());
  EXPECT_TRUE(head(with(good, {"connection", "close"})).malformed());
  EXPECT_TRUE(
      head({{":method", "GET"}, {":method", "GET"}, {":scheme", "http"}, {":path", "/"}}).malformed());
  EXPECT_TRUE(
      head({{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":status", "200"}}).malformed());
  EXPECT_TRUE(head({{":method", "GET"}, {":scheme", "http"}}).malformed());
  EXPECT_TRUE(head({{":method", "GET"}, {":scheme", "http"}, {":path", "x"}}).malformed());
  EXPECT_TRUE(head({}).malformed());
}

TEST(RequestHead, StopsAtTheLimit) {
  const std::string large(1000, 'x');
  const RequestHead tall = head(with(good, {"large", large}));
  EXPECT_TRUE(tall.too_large());
  EXPECT_FALSE(tall.malformed());
  EXPECT_FALSE(tall.fields().get("large"));
}

TEST(RequestHead, KnowsGrpcByItsContentType) {
  for (const char* type : {"application/grpc", "application/grpc+proto", "application/grpc;x"})
    EXPECT_TRUE(
        head({{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {"content-type", type}}).grpc());
  for (const char* type : {"application/grpcweb", "application/json", ""})
    EXPECT_FALSE(
        head({{":method", "POST"}, {":scheme", "http"}, {":path", "/"}, {"content-type", type}}).grpc());
}

}  // namespace
}  // namespace conclave::rpc
