#include "accept/families.hpp"

namespace conclave::accept {

std::optional<Result> run_limits(const Vector&) { return std::nullopt; }

}  // namespace conclave::accept
