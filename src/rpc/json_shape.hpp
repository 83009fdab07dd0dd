// Whether a text of JSON may be parsed: what is nested deeply, or has a great many parts, costs far more than
// its length. One pass over the bytes, without memory.
#pragma once
#include <cstddef>
#include <string_view>

namespace conclave::rpc {

inline constexpr std::size_t max_json_depth = 100;
inline constexpr std::size_t max_json_parts = 50'000;  // beginnings, names, elements

// One sentence that says why not; empty: it may. Whether it is JSON is for the parser.
std::string_view objection_to(std::string_view json);

}  // namespace conclave::rpc
