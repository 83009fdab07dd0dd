// An observer that judges: which properties of its family held in the run, and what else there is to say.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/step.hpp"
#include "trace/verdict.hpp"

namespace conclave::trace {

// Something a report says beside the costs that every run has.
struct Fact {
  std::string name;  // "leader"
  std::string text;  // for people
  std::string json;  // the value for programs
};

// Something that is easier to see than to read: a value over time, with the bound it claims.
struct Chart {
  struct Point {
    double x = 0;
    double y = 0;
    double bound = 0;  // y should lie between -bound and bound
  };
  struct Curve {
    std::string name;
    std::vector<Point> points;
  };
  std::string title;
  std::string x;  // labels of the axes
  std::string y;
  std::vector<Curve> curves;
};

class Monitor : public Observer {
 public:
  virtual std::vector<Verdict> verdicts() const = 0;
  virtual std::vector<Fact> facts() const { return {}; }
  virtual std::optional<Chart> chart() const { return std::nullopt; }
};

// The number in the field `key` of a JSON object written by conclave, if it is there. Monitors read the
// contents of events so often that parsing them whole would cost more than the run.
inline std::optional<std::uint64_t> number_field(std::string_view object, std::string_view key) {
  const std::size_t at = object.find('"' + std::string(key) + "\":");
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = object.data() + at + key.size() + 3;
  std::uint64_t value = 0;
  const auto result = std::from_chars(begin, object.data() + object.size(), value);
  if (result.ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace conclave::trace
