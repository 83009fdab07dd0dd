#include "causality/pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/regex.hpp>

namespace conclave::causality {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// {3}, {3,} or {3,5} at the beginning of the text: how long it is, else 0.
std::size_t repetition(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && is_digit(text[at])) ++at;
  if (at == 1) return 0;
  if (at < text.size() && text[at] == ',') {
    ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
  }
  return at < text.size() && text[at] == '}' ? at + 1 : 0;
}

// JavaScript takes a brace that is no repetition for itself; Boost does not.
struct Translated {
  std::string text;
  std::vector<std::string> groups;
  std::size_t lines = 1;
};

Translated translated(std::string_view text) {
  Translated out;
  bool in_class = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      if (text[i + 1] == 'n') ++out.lines;
      out.text += c;
      out.text += text[++i];
      continue;
    }
    if (c == '\n') ++out.lines;
    if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
    } else if (c == '{') {
      if (const std::size_t length = repetition(text.substr(i))) {
        out.text += text.substr(i, length);
        i += length - 1;
        continue;
      }
      out.text += '\\';
    } else if (c == '}') {
      out.text += '\\';
    } else if (c == '(' && text.substr(i).starts_with("(?<") && i + 3 < text.size() && text[i + 3] != '=' &&
               text[i + 3] != '!') {
      const std::size_t end = text.find('>', i);
      if (end != std::string_view::npos) out.groups.emplace_back(text.substr(i + 3, end - i - 3));
    }
    out.text += c;
  }
  return out;
}

}  // namespace

struct Pattern::Machine {
  boost::regex expression;
  boost::cmatch match;
};

Pattern::Pattern() : machine_(std::make_unique<Machine>()) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

std::expected<Pattern, std::string> Pattern::parse(const std::string& text) {
  Pattern pattern;
  Translated parts = translated(text);
  try {
    pattern.machine_->expression.assign(parts.text);
  } catch (const std::exception& problem) {
    return std::unexpected(fmt::format("'{}' is no regular expression: {}", text, problem.what()));
  }
  pattern.groups_ = std::move(parts.groups);
  pattern.lines_ = parts.lines;
  return pattern;
}

bool Pattern::has_group(std::string_view name) const {
  return std::ranges::find(groups_, name) != groups_.end();
}

std::expected<std::optional<Pattern::Match>, std::string> Pattern::search(std::string_view text,
                                                                          std::size_t from) {
  auto flags = boost::match_not_dot_newline;
  if (from > 0) flags |= boost::match_prev_avail;
  const char* begin = text.data();
  try {
    if (!boost::regex_search(begin + from, begin + text.size(), machine_->match, machine_->expression, flags))
      return std::nullopt;
  } catch (const std::exception&) {
    return std::unexpected(
        std::string("the regular expression takes too long on this text; make it simpler"));
  }
  return Match{static_cast<std::size_t>(machine_->match[0].first - begin),
               static_cast<std::size_t>(machine_->match[0].second - begin)};
}

std::string_view Pattern::group(const std::string& name) const {
  const auto& found = machine_->match[name];
  if (!found.matched) return {};
  return {found.first, static_cast<std::size_t>(found.length())};
}

}  // namespace conclave::causality
