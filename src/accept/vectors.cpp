#include "accept/vectors.hpp"

#include <fmt/format.h>

#include <cmath>

#include "accept/families.hpp"
#include "core/ensure.hpp"
#include "trace/parse_json.hpp"

namespace conclave::accept {

std::expected<std::vector<Vector>, std::string> parse(const std::string& text) {
  const Json document = trace::parse_json<Json>(text);
  if (document.is_discarded()) return std::unexpected("not JSON");
  if (!document.is_object() || !document.contains("vectors") || !document["vectors"].is_array())
    return std::unexpected("no list \"vectors\"; see docs/vectors.md for the format");
  if (const auto format = document.find("format");
      format != document.end() && *format != "acceptance-vectors/1")
    return std::unexpected(
        fmt::format("format {}; this program reads \"acceptance-vectors/1\"", format->dump()));
  std::vector<Vector> vectors;
  for (const Json& object : document["vectors"]) {
    const std::size_t number = vectors.size() + 1;
    if (!object.is_object()) return std::unexpected(fmt::format("vector {} is no object", number));
    const std::string name = object.value("name", std::string());
    const auto wrong = [&](const char* key, const char* type) {
      return std::unexpected(fmt::format("vector {} ('{}') has no {} \"{}\"", number, name, type, key));
    };
    Vector vector;
    const std::pair<const char*, std::string Vector::*> texts[] = {
        {"name", &Vector::name}, {"algorithm", &Vector::algorithm}, {"kind", &Vector::kind}};
    for (const auto& [key, field] : texts) {
      if (!object.contains(key) || !object[key].is_string()) return wrong(key, "text");
      vector.*field = object[key].get<std::string>();
    }
    for (const char* key : {"variant", "polarity"}) {
      if (object.contains(key) && !object[key].is_string()) return wrong(key, "text");
    }
    vector.variant = object.value("variant", std::string("canonical"));
    vector.polarity = object.value("polarity", std::string("must"));
    if (!object.contains("expected") || !object["expected"].is_object()) return wrong("expected", "object");
    vector.expected = object["expected"];
    vector.config = object.value("config", Json::object());
    vector.inputs = object.value("inputs", Json::object());
    if (!vector.config.is_object()) return wrong("config", "object");
    if (!vector.inputs.is_object()) return wrong("inputs", "object");
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

Result run(const Vector& vector) {
  for (const auto& family : {run_explore, run_mutex, run_election, run_consensus, run_raft, run_timesync,
                             run_registers, run_overlay, run_causality, run_limits}) {
    if (auto result = family(vector)) return std::move(*result);
  }
  return {Result::Outcome::skipped, fmt::format("no algorithm '{}' in the catalogue yet", vector.algorithm)};
}

const Json& need(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key))
    throw CannotPlay(fmt::format("\"{}\" is missing in {}", key, object.dump()));
  return object[key];
}

Result answered(const Vector& vector, const std::function<Json()>& compute) {
  try {
    if (std::string found = difference(vector.expected, compute()); !found.empty())
      return {Result::Outcome::failed, std::move(found)};
    return {};
  } catch (const InvariantViolation& violation) {
    return {Result::Outcome::failed, fmt::format("the protocol broke its own rule: {}", violation.what())};
  } catch (const std::exception& problem) {
    return {Result::Outcome::failed, problem.what()};
  }
}

std::string difference(const Json& expected, const Json& got, const std::string& path) {
  const std::string where = path.empty() ? "the result" : path;
  if (expected.is_object()) {
    if (!got.is_object()) return fmt::format("{}: expected {}, got {}", where, expected.dump(), got.dump());
    for (const auto& [key, value] : expected.items()) {
      const std::string inner = path.empty() ? key : path + "." + key;
      if (!got.contains(key))
        return fmt::format("{}: expected {}, but nothing here computes it", inner, value.dump());
      if (std::string found = difference(value, got[key], inner); !found.empty()) return found;
    }
    return {};
  }
  if (expected.is_array() && got.is_array() && expected.size() == got.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::string found = difference(expected[i], got[i], fmt::format("{}[{}]", where, i));
          !found.empty())
        return found;
    }
    return {};
  }
  if (expected.is_number() && got.is_number()) {
    if (std::abs(expected.get<double>() - got.get<double>()) < 6e-4) return {};
  } else if (expected == got) {
    return {};
  }
  return fmt::format("{}: expected {}, got {}", where, expected.dump(), got.dump());
}

bool matches(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob.front() == '*')
    return matches(glob.substr(1), text) || (!text.empty() && matches(glob, text.substr(1)));
  if (text.empty() || (glob.front() != '?' && glob.front() != text.front())) return false;
  return matches(glob.substr(1), text.substr(1));
}

}  // namespace conclave::accept
