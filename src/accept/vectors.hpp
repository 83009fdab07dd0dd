// Acceptance vectors: what a run must produce, as data. The format is described in docs/vectors.md.
#pragma once
#include <expected>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
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

// A vector that cannot be run as it stands; the text says why.
struct CannotPlay : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The field of that name, which has to be there.
const Json& need(const Json& object, const char* key);

// Computes what the vector asks for and compares it with what it expects. A vector that makes no sense is a
// failure with a reason, never a crash.
Result answered(const Vector& vector, const std::function<Json()>& compute);

// Where `got` differs from what `expected` lists, in one line; empty if it does not. Numbers may differ in
// the fourth decimal place. A field that `got` does not have is a difference too: it was not checked.
std::string difference(const Json& expected, const Json& got, const std::string& path = {});

// Matches * and ?.
bool matches(std::string_view glob, std::string_view text);

}  // namespace conclave::accept
