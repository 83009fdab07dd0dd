// std::visit for one variant on a hot path. The standard library's goes through layers of functions that
// g++ does not inline at -O2; this one is a chain of comparisons in place.
#pragma once
#include <utility>
#include <variant>

namespace conclave {

template <class Variant, class Visitor>
inline void visit_in_place(Variant& variant, Visitor&& visitor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (void)((variant.index() == I && (visitor(*std::get_if<I>(&variant)), true)) || ...);
  }
  (std::make_index_sequence<std::variant_size_v<std::remove_const_t<Variant>>>{});
}

}  // namespace conclave
