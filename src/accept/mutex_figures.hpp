// Formulas and predicates of the mutual exclusion family. What a run can show is run, not computed.
#pragma once
#include "accept/vectors.hpp"

namespace conclave::accept {

Json figures(const Vector& vector);

// K, for the voting sets that are computed for n members.
std::uint64_t voting_set_size(const Json& n);

}  // namespace conclave::accept
