// Acceptance vectors of the mutual exclusion family.
#pragma once
#include <string_view>

#include "accept/vectors.hpp"

namespace conclave::accept {

bool is_mutex(std::string_view algorithm);
Result run_mutex(const Vector& vector);

}  // namespace conclave::accept
