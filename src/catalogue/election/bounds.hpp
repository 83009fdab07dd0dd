// What elections with time-outs share: their bounds as parameters, and worlds that keep them.
#pragma once
#include "catalogue/entry.hpp"
#include "protocols/election/failure_detector.hpp"

namespace conclave::catalogue {

// T_t and T_p, for Entry::parameters.
std::vector<Parameter> bounds_parameters();
election::Bounds bounds_of(const Setting& setting);
// The value of a parameter that is a number; `usual` if it is not set.
std::uint64_t number_of(const Setting& setting, const std::string& parameter, std::uint64_t usual);

}  // namespace conclave::catalogue
