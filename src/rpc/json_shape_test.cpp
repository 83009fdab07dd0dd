#include "rpc/json_shape.hpp"

#include <gtest/gtest.h>

#include <string>

namespace conclave::rpc {
namespace {

TEST(JsonShape, OrdinaryTextsMayBeParsed) {
  EXPECT_EQ(objection_to(""), "");
  EXPECT_EQ(objection_to(R"({"key": "YQ==", "value": ["[[[[", {"a": 1}]})"), "");
  EXPECT_EQ(objection_to(std::string(max_json_depth, '[') + std::string(max_json_depth, ']')), "");
}

TEST(JsonShape, WhatIsNestedDeeplyMayNot) {
  EXPECT_NE(objection_to(std::string(max_json_depth + 1, '[')), "");
  EXPECT_NE(objection_to(std::string(max_json_depth + 1, '{')), "");
  EXPECT_NE(objection_to("\"\\\\\"" + std::string(max_json_depth + 1, '[')), "") << "the string ended before";
}

TEST(JsonShape, WhatIsInAStringDoesNotCount) {
  EXPECT_EQ(objection_to('"' + std::string(1'000'000, '[') + '"'), "");
  EXPECT_EQ(objection_to("\"a\\\"" + std::string(1'000'000, '[') + '"'), "");
  EXPECT_EQ(objection_to("\"never ends" + std::string(1'000'000, '[')), "");
}

TEST(JsonShape, AnyNumberOfPartsMayNot) {
  std::string many = "[1";
  for (std::size_t i = 0; i < max_json_parts; ++i) many += ",1";
  EXPECT_NE(objection_to(many + "]"), "");
}

}  // namespace
}  // namespace conclave::rpc
