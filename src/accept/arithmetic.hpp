// Small formulas as vectors write them: "p*p+n-2 with p=n-1-k", "2p+n-2 for p>=2, n-1 for p=1, with p=n-1-k".
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace conclave::accept {

using Numbers = std::map<std::string, std::int64_t, std::less<>>;

// Sums, differences, products (also of a number and a name, or of brackets, standing side by side), exact
// quotients and powers of numbers and names of one letter; throws CannotPlay for anything else.
std::int64_t evaluate(std::string_view expression, const Numbers& names);

// The cases of a formula are separated by commas; `with` defines a name, `for` limits a case. The first case
// that applies counts; none if none does.
std::optional<std::int64_t> evaluate_cases(std::string_view formula, Numbers names);

}  // namespace conclave::accept
