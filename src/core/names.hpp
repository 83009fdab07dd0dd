// Names of types, enumerators and fields, read off the compiler, so that no protocol has to list them.
#pragma once
#include <array>
#include <boost/pfr.hpp>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace conclave {
namespace names {

template <class T>
constexpr std::string_view signature_of_type() {
  return __PRETTY_FUNCTION__;
}

template <auto value>
constexpr std::string_view signature_of_value() {
  return __PRETTY_FUNCTION__;
}

// Both compilers end the signature with "= <what we want>]", g++ sometimes with "; <more>]".
constexpr std::string_view argument(std::string_view signature) {
  const std::size_t begin = signature.find("= ") + 2;
  std::size_t end = signature.find(';', begin);
  if (end == std::string_view::npos) end = signature.rfind(']');
  return signature.substr(begin, end - begin);
}

constexpr std::string_view last_part(std::string_view name) {
  std::string_view head = name.substr(0, name.find('<'));
  const std::size_t colon = head.rfind("::");
  return colon == std::string_view::npos ? head : head.substr(colon + 2);
}

template <class T>
struct Wrapper {
  T value;
};

#if !defined(__clang__)
// An object that is never defined: only the addresses of its fields are looked at.
template <class T>
extern const Wrapper<T> nowhere;

template <class T, std::size_t I>
constexpr std::string_view field_name() {
  constexpr auto pointer = &boost::pfr::get<I>(nowhere<T>.value);
  std::string_view name = argument(signature_of_value<pointer>());
  while (!name.empty() && (name.back() == ')' || name.back() == ' ')) name.remove_suffix(1);
  const std::size_t colon = name.rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}
#endif

template <class T, std::size_t... I>
constexpr auto all_field_names(std::index_sequence<I...>) {
#if defined(__clang__)
  // clang refuses field addresses as template arguments here; it only builds the fuzzer, which prints none.
  return std::array<std::string_view, sizeof...(I)>{((void)I, std::string_view("field"))...};
#else
  return std::array<std::string_view, sizeof...(I)>{field_name<T, I>()...};
#endif
}

template <class E, std::size_t... I>
constexpr auto all_enumerator_names(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{argument(signature_of_value<static_cast<E>(I)>())...};
}

}  // namespace names

// "Request" for conclave::mutex::RicartAgrawala::Request.
template <class T>
inline constexpr std::string_view type_name =
    names::last_part(names::argument(names::signature_of_type<T>()));

template <class T>
inline constexpr auto field_names =
    names::all_field_names<T>(std::make_index_sequence<boost::pfr::tuple_size_v<T>>{});

// Enums that travel or are printed number their values 0, 1, 2 …, and have at most 32.
inline constexpr std::size_t max_enumerators = 32;

// The enumerator's name, empty if there is none of that value: this is how a decoder knows.
template <class E>
  requires std::is_enum_v<E>
constexpr std::string_view enumerator_name(E value) {
  constexpr auto table = names::all_enumerator_names<E>(std::make_index_sequence<max_enumerators>{});
  const auto index = static_cast<std::size_t>(value);
  if (index >= table.size() || table[index].starts_with('(')) return {};
  return names::last_part(table[index]);
}

// The enumerator of that name, if there is one.
template <class E>
  requires std::is_enum_v<E>
constexpr std::optional<E> enumerator_named(std::string_view name) {
  for (std::size_t i = 0; i < max_enumerators; ++i) {
    const auto value = static_cast<E>(i);
    if (!name.empty() && enumerator_name(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace conclave
