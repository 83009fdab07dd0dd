// What a message, command or event is called, and what it says, whichever of its alternatives it is.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <variant>

#include "core/describe.hpp"
#include "core/visit.hpp"

namespace conclave {

template <class Variant>
inline constexpr auto alternative_names = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array{std::string_view(type_name<std::variant_alternative_t<I, Variant>>)...};
}
(std::make_index_sequence<std::variant_size_v<Variant>>{});

template <class Variant>
std::string_view alternative_name(const Variant& value) {
  return alternative_names<Variant>[value.index()];
}

// The fields of whichever alternative it is, as JSON.
template <class Variant>
std::string alternative_content(const Variant& value) {
  std::string out;
  Describer sink(out);
  visit_in_place(value, [&](const auto& alternative) { walk(sink, alternative); });
  return out;
}

}  // namespace conclave
