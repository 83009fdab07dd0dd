// Regular expressions that users of ShiViz write: named groups, as JavaScript has them.
#pragma once
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::causality {

class Pattern {
 public:
  static std::expected<Pattern, std::string> parse(const std::string& text);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  bool has_group(std::string_view name) const;
  // How many lines a match can span: one more than the expression has line ends.
  std::size_t lines() const { return lines_; }

  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  // The first match at or after `from`. Groups that took no part are empty. An error if the expression needs
  // too many attempts on this text.
  std::expected<std::optional<Match>, std::string> search(std::string_view text, std::size_t from);
  // Of the last match.
  std::string_view group(const std::string& name) const;

 private:
  struct Machine;
  Pattern();
  std::unique_ptr<Machine> machine_;
  std::vector<std::string> groups_;
  std::size_t lines_ = 1;
};

}  // namespace conclave::causality
