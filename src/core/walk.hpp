// One traversal of a value, for every use: bytes on the wire, fingerprints of states, text in traces.
//
// `walk(sink, value)` tells the sink which of nine shapes the value has; the sink does its work and
// calls `walk` for the parts. Whoever adds a shape adds it here, once, and every sink refuses to compile
// until it knows it.
#pragma once
#include <boost/pfr.hpp>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/boxed.hpp"
#include "core/names.hpp"
#include "core/node_set.hpp"
#include "core/payload.hpp"

namespace conclave {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_optional<Boxed<T>> = true;

template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

template <class T>
inline constexpr bool is_map = false;
template <class K, class V>
inline constexpr bool is_map<std::map<K, V>> = true;

template <class T>
concept Transparent = requires {
  typename T::Transparent;
};

template <class T>
concept Number = std::integral<T> || std::is_enum_v<T>;

template <class T>
concept Sequence = requires(T& t) {
  typename T::value_type;
  t.push_back(std::declval<typename T::value_type>());
  t.size();
  t.clear();
}
&&!std::same_as<std::remove_const_t<T>, std::string>;

template <class Sink, class T>
void walk(Sink& sink, T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (Number<Plain>) {
    sink.number(value);
  } else if constexpr (std::same_as<Plain, std::string> || std::same_as<Plain, std::string_view>) {
    sink.text(value);  // a view is text that somebody else keeps: whoever decoded it keeps the bytes
  } else if constexpr (std::same_as<Plain, NodeSet>) {
    sink.nodes(value);
  } else if constexpr (std::same_as<Plain, Payload>) {
    sink.bytes(value);
  } else if constexpr (Transparent<Plain>) {
    walk(sink, boost::pfr::get<0>(value));
  } else if constexpr (is_optional<Plain>) {
    sink.optional(value);
  } else if constexpr (is_variant<Plain>) {
    sink.variant(value);
  } else if constexpr (is_map<Plain>) {
    sink.map(value);
  } else if constexpr (Sequence<Plain>) {
    sink.sequence(value);
  } else {
    static_assert(std::is_aggregate_v<Plain>, "state and messages are plain aggregates");
    sink.structure(value);
  }
}

// What every sink that writes one thing after another has in common: tags and lengths, then the parts.
// The sink itself says what becomes of a tag.
template <class Self>
class SerialSink {
 public:
  template <class T>
  void optional(const T& value) {
    self().tag(value.has_value() ? 1 : 0);
    if (value) walk(self(), *value);
  }
  template <class T>
  void variant(const T& value) {
    self().tag(value.index());
    std::visit([this](const auto& alternative) { walk(self(), alternative); }, value);
  }
  template <class T>
  void sequence(const T& value) {
    self().tag(value.size());
    for (const auto& element : value) walk(self(), element);
  }
  template <class T>
  void map(const T& value) {
    self().tag(value.size());
    for (const auto& [key, mapped] : value) {
      walk(self(), key);
      walk(self(), mapped);
    }
  }
  template <class T>
  void structure(const T& value) {
    boost::pfr::for_each_field(value, [this](const auto& field) { walk(self(), field); });
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace conclave
