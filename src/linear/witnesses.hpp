// A few operations of a broken history that are broken by themselves.
#pragma once
#include <span>

#include "linear/linear.hpp"

namespace conclave::linear {

// Of the operations of one key, which together are broken; `misfit` is the place of the first return that
// nothing explains.
History witnesses(const History& history, std::span<const std::size_t> chosen, std::size_t misfit);

}  // namespace conclave::linear
