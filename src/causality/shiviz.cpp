#include "causality/shiviz.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "causality/clock_text.hpp"
#include "causality/line_reader.hpp"
#include "causality/pattern.hpp"
#include "core/describe.hpp"

namespace conclave::causality {
namespace {

constexpr std::string_view usual_form = R"((?<host>\S*) (?<clock>{.*})\n(?<event>.*))";
constexpr std::string_view words_first_form = R"((?<event>.*)\n(?<host>\S*) (?<clock>{.*}))";

enum class Form : std::uint8_t { clock_then_words, words_then_clock, one_line, pattern };

std::string_view name_of_form(Form form) {
  switch (form) {
    case Form::clock_then_words: return "two lines per event, the clock first";
    case Form::words_then_clock: return "two lines per event, the clock last";
    case Form::one_line: return "one line per event";
    case Form::pattern: return "by regular expression";
  }
  return {};
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_blank(std::string_view text) { return std::ranges::all_of(text, is_space); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Where in a line host and clock stand: a word, a space, and a brace that a name or another brace follows.
struct Place {
  std::string_view host;
  std::string_view clock;  // and what follows it
};

std::optional<Place> find_clock(std::string_view line) {
  for (std::size_t at = line.find('{'); at != std::string_view::npos; at = line.find('{', at + 1)) {
    if (at == 0 || !is_space(line[at - 1])) continue;
    std::size_t after = at + 1;
    while (after < line.size() && is_space(line[after])) ++after;
    const char next = after < line.size() ? line[after] : '"';
    if (next != '"' && next != '\\' && next != '}') continue;
    std::size_t end = at;
    while (end > 0 && is_space(line[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && !is_space(line[begin - 1])) --begin;
    if (begin == end) continue;
    return Place{line.substr(begin, end - begin), line.substr(at)};
  }
  return std::nullopt;
}

// What a line looks like.
enum class Look : std::uint8_t { words, clock, clock_and_words };

Look look_of(std::string_view line) {
  const auto place = find_clock(line);
  if (!place) return Look::words;
  ClockText clock(place->clock);
  while (clock.next()) {
  }
  if (clock.failed()) return Look::words;
  return is_blank(place->clock.substr(clock.length())) ? Look::clock : Look::clock_and_words;
}

// The form of a log, from its beginning. `whole` says that there is nothing more.
std::optional<Form> recognise(std::string_view text, bool whole) {
  std::vector<Look> looks;
  while (!text.empty() && looks.size() < 200) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos && !whole) break;
    const std::string_view line = text.substr(0, end);
    if (!is_blank(line)) looks.push_back(look_of(line));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  const auto first = std::ranges::find_if(looks, [](Look look) { return look != Look::words; });
  if (first == looks.end()) return std::nullopt;
  if (*first == Look::clock_and_words) return Form::one_line;
  if (first + 1 != looks.end() && first[1] == Look::clock) return Form::one_line;  // without any words
  if (first == looks.begin()) return Form::clock_then_words;
  // Words come first: either they belong to the clock below them, or they are a headline. The end tells.
  return text.empty() && looks.back() == Look::words ? Form::clock_then_words : Form::words_then_clock;
}

// What is wrong, in words; the line is added where it is caught.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string excerpt(std::string_view text) {
  std::string out(text.substr(0, 60));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > 60 ? out + "…" : out;
}

class LogReader {
 public:
  LogReader(std::istream& in, std::string_view head, const LogOptions& options, LogSink& sink)
      : options_(options), sink_(sink), lines_(in, head, options.limits.line) {}

  std::expected<LogSummary, std::string> read() {
    try {
      choose_form();
      switch (form_) {
        case Form::clock_then_words: read_clock_then_words(); break;
        case Form::words_then_clock: read_words_then_clock(); break;
        case Form::one_line: read_one_line(); break;
        case Form::pattern: read_pattern(); break;
      }
    } catch (const Wrong& wrong) {
      return std::unexpected(wrong.what());
    }
    if (lines_.too_long())
      return std::unexpected(
          fmt::format("line {}: longer than {} bytes", lines_.number(), options_.limits.line));
    if (events_ == 0)
      return std::unexpected(form_ == Form::pattern ? "the regular expression matches nothing in the file"
                                                    : "no line of the file holds a vector clock");
    return LogSummary{lines_.number(), skipped_, std::string(name_of_form(form_))};
  }

 private:
  [[noreturn]] void refuse(std::uint64_t line, const std::string& what) const {
    throw Wrong(fmt::format("line {}: {}", line, what));
  }

  Pattern compiled(const std::string& text) const {
    auto pattern = Pattern::parse(text);
    if (!pattern) throw Wrong(pattern.error());
    return std::move(*pattern);
  }

  void choose_form() {
    const std::string_view text = lines_.peek();
    if (text.empty()) throw Wrong("the file is empty");
    if (text.starts_with("\x1f\x8b")) throw Wrong("compressed; unpack it first, with gunzip");
    if (text.substr(0, 4096).find('\0') != std::string_view::npos) throw Wrong("binary, not a log");
    std::string regex = options_.regex;
    std::string delimiter = options_.delimiter;
    if (text.substr(0, text.find('\n')).find("(?<clock>") != std::string_view::npos) {
      // The file says itself how it is to be read.
      std::string_view line;
      lines_.next(line);
      if (regex.empty()) regex = trimmed(line);
      if (lines_.next(line) && delimiter.empty()) delimiter = trimmed(line);
    }
    if (!delimiter.empty()) delimiter_.emplace(compiled(delimiter));
    if (regex.empty()) {
      const auto form = recognise(lines_.peek(), lines_.peek().size() < 4096);
      if (!form)
        throw Wrong(
            "no line looks like host {\"host\": 1}; if it is a log of vector clocks in another form, say "
            "with --regex how an event looks");
      form_ = *form;
    } else if (regex == usual_form) {
      form_ = Form::clock_then_words;
    } else if (regex == words_first_form) {
      form_ = Form::words_then_clock;
    } else {
      form_ = Form::pattern;
      pattern_.emplace(compiled(regex));
      for (const char* group : {"host", "clock", "event"}) {
        if (!pattern_->has_group(group))
          throw Wrong(fmt::format("the regular expression has no group (?<{}>…)", group));
      }
    }
  }

  // True if the line separates executions.
  bool begins_execution(std::string_view line) {
    if (!delimiter_) return false;
    const auto found = delimiter_->search(line, 0);
    if (!found) refuse(lines_.number(), found.error());
    if (!*found) return false;
    label_ = delimiter_->has_group("trace") ? std::string(delimiter_->group("trace")) : std::string();
    begun_ = false;
    return true;
  }

  // A line where a clock is due. Without one it is skipped; a broken one is an error.
  std::optional<std::string_view> take_clock(std::string_view line) {
    const auto place = find_clock(line);
    if (!place) return std::nullopt;
    return take(place->host, place->clock, lines_.number());
  }

  // Reads the clock and remembers the event; returns what follows the clock.
  std::string_view take(std::string_view host, std::string_view clock, std::uint64_t line) {
    if (!begun_) {
      hosts_.clear();
      orders_.clear();
      sink_.execution(label_);
      begun_ = true;
    }
    const std::uint32_t own = host_named(host, line);
    if (own >= orders_.size()) orders_.resize(hosts_.size());
    known_.clear();
    ++events_;
    std::uint32_t number = 0;
    std::size_t position = 0;
    ClockText text(clock);
    while (text.next()) {
      const std::uint32_t other = guessed_host(own, position++, text.name(), line);
      if (other >= seen_.size()) seen_.resize(other + 1);
      if (seen_[other] == events_)
        refuse(line, fmt::format("the clock names host '{}' twice", excerpt(text.name())));
      seen_[other] = events_;
      if (other == own) number = text.count();
      if (text.count() > 0) known_.push_back({other, text.count()});
    }
    if (text.failed()) refuse(line, fmt::format("broken clock: {}, in {}", text.why(), excerpt(clock)));
    if (number == 0)
      refuse(line,
             fmt::format("the clock has no entry for its own host '{}'; if that is not the host, say with "
                         "--regex how an event looks",
                         excerpt(host)));
    event_ = {.event = {own, number}, .line = line};
    return clock.substr(text.length());
  }

  // Clocks of one host mostly name the hosts in the same order.
  std::uint32_t guessed_host(std::uint32_t own, std::size_t position, std::string_view name,
                             std::uint64_t line) {
    if (own >= orders_.size()) orders_.resize(own + 1);
    std::vector<std::uint32_t>& order = orders_[own];
    if (position < order.size() && hosts_.names()[order[position]] == name) return order[position];
    const std::uint32_t host = host_named(name, line);
    if (position < order.size()) {
      order[position] = host;
    } else {
      order.push_back(host);
    }
    return host;
  }

  std::uint32_t host_named(std::string_view name, std::uint64_t line) {
    if (const auto known = hosts_.find(name)) return *known;
    if (name.empty()) refuse(line, "a host has no name");
    if (name.size() > options_.limits.host_name)
      refuse(line, fmt::format("the name of a host is longer than {} bytes", options_.limits.host_name));
    if (hosts_.size() == options_.limits.hosts)
      refuse(line, fmt::format("more than {} hosts", options_.limits.hosts));
    return hosts_.add(name);
  }

  void emit(std::string_view text) {
    event_.clock = known_;
    event_.text = text;
    sink_.event(event_, hosts_);
  }

  void skip(std::string_view line) {
    if (!is_blank(line)) ++skipped_;
  }

  void read_clock_then_words() {
    std::string_view line;
    while (lines_.next(line)) {
      if (begins_execution(line)) continue;
      const auto rest = take_clock(line);
      if (!rest) {
        skip(line);
        continue;
      }
      std::string_view words;
      if (!lines_.next(words)) words = {};
      emit(words);
    }
  }

  void read_words_then_clock() {
    std::string_view line;
    std::string words;
    bool held = false;
    while (lines_.next(line)) {
      if (is_blank(line) || begins_execution(line)) continue;
      if (!held) {
        words = line;
        held = true;
      } else if (take_clock(line)) {
        emit(words);
        held = false;
      } else {
        skip(words);
        words = line;
      }
    }
    if (held) skip(words);
  }

  void read_one_line() {
    std::string_view line;
    while (lines_.next(line)) {
      if (begins_execution(line)) continue;
      const auto rest = take_clock(line);
      if (rest) {
        emit(trimmed(*rest));
      } else {
        skip(line);
      }
    }
  }

  // As many lines as a match can span are looked at together; a line in which none begins is dropped.
  void read_pattern() {
    std::string window;
    std::size_t in_window = 0;
    std::uint64_t first = lines_.number() + 1;  // line where the window begins
    bool more = true;
    for (;;) {
      std::string_view line;
      while (in_window < pattern_->lines() && more && (more = lines_.next(line))) {
        if (begins_execution(line)) {
          // Events do not reach across executions.
          finish_window(window, first);
          window.clear();
          in_window = 0;
          first = lines_.number() + 1;
          continue;
        }
        if (in_window > 0) window += '\n';
        window += line;
        ++in_window;
      }
      if (in_window == 0) return;
      const std::size_t used = match_in(window, first);
      const auto newlines = static_cast<std::size_t>(
          std::count(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(used), '\n'));
      const std::size_t end = window.find('\n', used);
      if (used == 0 || is_blank(std::string_view(window).substr(used, end - used))) {
        // Nothing begins here any more: on to the next line.
        if (used == 0) skip(std::string_view(window).substr(0, end));
        window.erase(0, end == std::string::npos ? window.size() : end + 1);
        in_window -= newlines + 1;
        first += newlines + 1;
      } else {
        window.erase(0, used);
        in_window -= newlines;
        first += newlines;
      }
    }
  }

  void finish_window(std::string& window, std::uint64_t first) {
    while (!window.empty()) {
      const std::size_t used = match_in(window, first);
      const std::size_t end = used > 0 ? used : window.find('\n');
      first += static_cast<std::uint64_t>(std::count(
          window.begin(), window.begin() + static_cast<std::ptrdiff_t>(std::min(end, window.size())), '\n'));
      if (end == std::string::npos) return;
      window.erase(0, used > 0 ? used : end + 1);
    }
  }

  // Tries one match that begins in the first line of the window; how far it reaches, 0 if there is none.
  std::size_t match_in(std::string_view window, std::uint64_t first) {
    const auto match = pattern_->search(window, 0);
    if (!match) refuse(first, match.error());
    if (!*match || (*match)->end == 0 || (*match)->begin > window.find('\n')) return 0;
    const auto clock = pattern_->group("clock");
    const auto before = window.substr(0, static_cast<std::size_t>(clock.data() - window.data()));
    const auto line = first + static_cast<std::uint64_t>(std::ranges::count(before, '\n'));
    const std::string_view rest = take(pattern_->group("host"), trimmed(clock), line);
    if (!is_blank(rest)) refuse(line, fmt::format("something follows the clock: {}", excerpt(rest)));
    emit(pattern_->group("event"));
    return (*match)->end;
  }

  const LogOptions& options_;
  LogSink& sink_;
  LineReader lines_;
  Form form_ = Form::clock_then_words;
  std::optional<Pattern> pattern_ = {};
  std::optional<Pattern> delimiter_ = {};
  std::string label_ = {};
  bool begun_ = false;
  Hosts hosts_ = {};
  std::vector<std::vector<std::uint32_t>> orders_ = {};  // by host, in which order its clocks name hosts
  std::vector<std::uint64_t> seen_ = {};                 // by host, the last event whose clock names it
  std::vector<Known> known_ = {};
  LogEvent event_ = {};
  std::uint64_t events_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace

std::optional<std::uint32_t> Hosts::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t Hosts::add(std::string_view name) {
  const auto [found, added] = by_name_.try_emplace(std::string(name), size());
  if (added) names_.emplace_back(name);
  return found->second;
}

void Hosts::clear() {
  names_.clear();
  by_name_.clear();
}

std::expected<LogSummary, std::string> read_log(std::istream& in, std::string_view head,
                                                const LogOptions& options, LogSink& sink) {
  return LogReader(in, head, options, sink).read();
}

void append_shiviz(std::string& out, const LogEvent& event, std::span<const std::string> names) {
  out += names[event.event.process];
  out += " {";
  bool first = true;
  for (const Known& known : event.clock) {
    if (known.count == 0) continue;
    if (!std::exchange(first, false)) out += ", ";
    append_json_text(out, names[known.process]);
    out += ':';
    append_number(out, known.count);
  }
  out += "}\n";
  // Two lines per event, whatever the words are.
  for (const char c : event.text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  out += '\n';
}

}  // namespace conclave::causality
