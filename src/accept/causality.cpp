#include "accept/families.hpp"

namespace conclave::accept {

std::optional<Result> run_causality(const Vector&) { return std::nullopt; }

}  // namespace conclave::accept
