// The same value with its nodes called differently. Two states that differ only in such names behave alike,
// if the algorithm treats the nodes alike.
#pragma once
#include <map>

#include "core/walk.hpp"

namespace conclave::check {

using Renaming = std::map<NodeId, NodeId>;

template <class T>
void rename(T& value, const Renaming& names) {
  if constexpr (std::same_as<T, NodeId>) {
    if (const auto found = names.find(value); found != names.end()) value = found->second;
  } else if constexpr (std::same_as<T, NodeSet>) {
    NodeSet other;
    for (NodeId node : value) {
      rename(node, names);
      other.insert(node);
    }
    value = std::move(other);
  } else if constexpr (Number<T> || std::same_as<T, std::string> || std::same_as<T, Payload>) {
    return;
  } else if constexpr (is_optional<T>) {
    if (value) rename(*value, names);
  } else if constexpr (is_variant<T>) {
    std::visit([&](auto& alternative) { rename(alternative, names); }, value);
  } else if constexpr (is_map<T>) {
    T other;
    for (const auto& [key, mapped] : value) {
      auto new_key = key;
      auto new_mapped = mapped;
      rename(new_key, names);
      rename(new_mapped, names);
      other.emplace(std::move(new_key), std::move(new_mapped));
    }
    value = std::move(other);
  } else if constexpr (Sequence<T>) {
    for (auto& element : value) rename(element, names);
  } else {
    boost::pfr::for_each_field(value, [&](auto& field) { rename(field, names); });
  }
}

}  // namespace conclave::check
