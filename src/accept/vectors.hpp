// Acceptance vectors: what a run must produce, as data. The format is described in docs/vectors.md.
#pragma once
#include <expected>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace conclave::accept {

using Json = nlohmann::ordered_json;

struct Vector {
  std::string name;
  std::string algorithm;
  std::string variant;
  std::string kind;
  std::string polarity;
  Json config;
  Json inputs;
  Json expected;
};

// All vectors of a file, or one sentence that says which one is wrong.
std::expected<std::vector<Vector>, std::string> parse(const std::string& text);

struct Result {
  enum class Outcome { passed, failed, skipped };
  Outcome outcome = Outcome::passed;
  std::string why = {};
};

Result run(const Vector& vector);

// Where `got` differs from what `expected` lists, in one line; empty if it does not. Numbers may differ in
// the fourth decimal place. A field that `got` does not have is a difference too: it was not checked.
std::string difference(const Json& expected, const Json& got, const std::string& path = {});

// Matches * and ?.
bool matches(std::string_view glob, std::string_view text);

}  // namespace conclave::accept
