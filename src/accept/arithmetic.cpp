#include "accept/arithmetic.hpp"

#include <fmt/format.h>

#include <cctype>
#include <vector>

#include "accept/vectors.hpp"

namespace conclave::accept {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

class Reader {
 public:
  Reader(std::string_view text, const Numbers& names) : whole_(text), names_(names) {
    for (const char c : text) {
      if (c != ' ') text_ += c;
    }
  }

  std::int64_t all() {
    const std::int64_t value = sum();
    if (at_ != text_.size()) wrong();
    return value;
  }

 private:
  [[noreturn]] void wrong() const { throw CannotPlay(fmt::format("'{}' is no formula", whole_)); }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  std::int64_t sum() {
    std::int64_t value = take('-') ? -product() : product();
    for (;;) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  std::int64_t product() {
    std::int64_t value = power();
    for (;;) {
      if (take('*')) {
        value *= power();
      } else if (take('/')) {
        const std::int64_t divisor = power();
        if (divisor == 0 || value % divisor != 0) wrong();
        value /= divisor;
      } else if (next() == '(' || is_letter(next())) {
        value *= power();
      } else {
        return value;
      }
    }
  }

  std::int64_t power() {
    const std::int64_t base = factor();
    if (!take('^')) return base;
    std::int64_t value = 1;
    for (std::int64_t left = factor(); left > 0; --left) value *= base;
    return value;
  }

  std::int64_t factor() {
    if (++depth_ > 50) wrong();
    std::int64_t value = 0;
    if (take('(')) {
      value = sum();
      if (!take(')')) wrong();
    } else if (is_digit(next())) {
      while (is_digit(next())) {
        value = 10 * value + (text_[at_++] - '0');
        if (value > 1'000'000'000) wrong();
      }
    } else {
      const auto found = names_.find(std::string_view(text_).substr(std::min(at_, text_.size()), 1));
      if (found == names_.end()) wrong();
      ++at_;
      value = found->second;
    }
    --depth_;
    return value;
  }

  std::string_view whole_;
  const Numbers& names_;
  std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// "p>=2", "p=1"
bool applies(std::string_view condition, const Numbers& names) {
  for (const std::string_view relation : {">=", "<=", "==", ">", "<", "="}) {
    const std::size_t at = condition.find(relation);
    if (at == std::string_view::npos) continue;
    const std::int64_t left = evaluate(condition.substr(0, at), names);
    const std::int64_t right = evaluate(condition.substr(at + relation.size()), names);
    if (relation == ">=") return left >= right;
    if (relation == "<=") return left <= right;
    if (relation == ">") return left > right;
    if (relation == "<") return left < right;
    return left == right;
  }
  throw CannotPlay(fmt::format("'{}' is no condition", condition));
}

}  // namespace

std::int64_t evaluate(std::string_view expression, const Numbers& names) {
  return Reader(expression, names).all();
}

std::optional<std::int64_t> evaluate_cases(std::string_view formula, Numbers names) {
  std::vector<std::string_view> cases;
  while (!formula.empty()) {
    std::string_view part = formula.substr(0, formula.find_first_of(",;"));
    formula.remove_prefix(std::min(formula.size(), part.size() + 1));
    // "… with p=n-1-k", at the end of a case or by itself.
    if (const std::size_t with = part.find("with "); with != std::string_view::npos) {
      const std::string_view definition = trimmed(part.substr(with + 5));
      const std::size_t equals = definition.find('=');
      if (equals == std::string_view::npos) throw CannotPlay(fmt::format("'{}' defines nothing", definition));
      names[std::string(trimmed(definition.substr(0, equals)))] =
          evaluate(definition.substr(equals + 1), names);
      part = part.substr(0, with);
    }
    if (part = trimmed(part); !part.empty()) cases.push_back(part);
  }
  for (const std::string_view part : cases) {
    const std::size_t limit = part.find(" for ");
    if (limit != std::string_view::npos && !applies(part.substr(limit + 5), names)) continue;
    return evaluate(part.substr(0, limit), names);
  }
  return std::nullopt;
}

}  // namespace conclave::accept
