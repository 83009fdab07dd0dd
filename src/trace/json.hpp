// Traces as JSON lines: a header, one line per step, an end line. A file without its end line is truncated.
#pragma once
#include <expected>
#include <iosfwd>
#include <string>
#include <string_view>
#include <variant>

#include "trace/step.hpp"

namespace conclave::trace {

inline constexpr int format_version = 1;

std::string to_json(const Header& header);
std::string to_json(const Step& step);
std::string to_json(const End& end, std::uint64_t steps);

class JsonWriter : public Observer {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}
  void begin(const Header& header) override;
  void see(const Step& step) override;
  void end(const End& end) override;
  bool wants_contents() const override { return true; }

 private:
  void write(std::string line);

  std::ostream& out_;
  std::string run_ = {};  // what every line begins with, where runs share the file
  std::uint64_t steps_ = 0;
};

struct Run {
  Header header = {};
  std::vector<Step> steps = {};
  End end = {};
};

// One line of a file.
struct Line {
  struct Ending {
    End end = {};
    std::uint64_t steps = 0;  // as it counts them
  };
  std::string run = {};  // that it says it belongs to
  std::variant<Header, Step, Ending> what = {};
};
// Or what is wrong with it.
std::expected<Line, std::string> parse_line(std::string_view text);

// Whether a file that begins like this is meant to be a trace.
bool begins_trace(std::string_view head);

// The whole run, or one sentence that names the line and what is wrong with it.
std::expected<Run, std::string> read(std::istream& in);

}  // namespace conclave::trace
