// Logs of vector clocks as ShiViz reads them and GoVector and its relatives write them: per event a host, its
// clock as {"host": count, …}, and what happened in words.
//
//   alice {"alice":2, "bob":1}          the usual form: two lines per event
//   receives the invitation
//
// Other forms that are recognised: the words on the line before the clock; all on one line; anything before
// the host, as a time. For the rest there are regular expressions with the groups host, clock and event; a
// file may carry its own on its first line, and on its second one that separates executions. Lines that
// belong to no event are skipped.
#pragma once
#include <cstdint>
#include <expected>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "causality/history.hpp"

namespace conclave::causality {

struct LogLimits {
  std::size_t line = 1 << 20;  // bytes
  std::uint32_t hosts = 4096;
  std::size_t host_name = 256;  // bytes
};

struct LogOptions {
  std::string regex = {};      // empty: as the file says, else as it looks
  std::string delimiter = {};  // of executions; empty: as the file says, else there is one
  LogLimits limits = {};
};

struct LogEvent {
  EventId event = {};
  std::span<const Known> clock = {};  // entries of 0 are left out
  std::string_view text = {};
  std::uint64_t line = 0;  // on which the clock stands
};

// Who hosts are, in the order in which the log names them.
class Hosts {
 public:
  const std::vector<std::string>& names() const { return names_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  std::optional<std::uint32_t> find(std::string_view name) const;
  std::uint32_t add(std::string_view name);  // or find
  void clear();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> by_name_;
};

class LogSink {
 public:
  virtual ~LogSink() = default;
  // A new execution; its hosts are not those of the one before. `label` is what its delimiter says.
  virtual void execution(std::string_view label) = 0;
  virtual void event(const LogEvent& event, const Hosts& hosts) = 0;
};

struct LogSummary {
  std::uint64_t lines = 0;
  std::uint64_t skipped = 0;  // lines with text that belongs to no event
  std::string form = {};      // how it was read, in words
};

// Everything goes to the sink, or one sentence names the line and what is wrong with it. `head` is what was
// read from the stream already.
std::expected<LogSummary, std::string> read_log(std::istream& in, std::string_view head,
                                                const LogOptions& options, LogSink& sink);

// One event in the usual form, two lines.
void append_shiviz(std::string& out, const LogEvent& event, std::span<const std::string> names);

}  // namespace conclave::causality
