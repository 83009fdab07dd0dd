// Values from the JSON text that describe.hpp makes of them: how a trace gives back what it was told. Strict:
// fields in their order and all of them, no spaces.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "core/walk.hpp"

namespace conclave {

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  bool finished() const { return !failed_ && rest_.empty(); }

  template <Number T>
  void number(T& value) {
    if constexpr (std::same_as<T, bool>) {
      value = takes("true");
      if (!value) need("false");
    } else if constexpr (std::is_enum_v<T>) {
      const auto found = enumerator_named<T>(quoted());
      if (found) value = *found;
      failed_ |= !found;
    } else {
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc{}) return fail();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    }
  }
  void text(std::string& value) { value = quoted(); }
  void bytes(Payload& value) {
    const std::string digits = quoted();
    std::vector<std::uint8_t> all(digits.size() / 2);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const char* const first = digits.data() + 2 * i;
      if (std::from_chars(first, first + 2, all[i], 16).ptr != first + 2) return fail();
    }
    failed_ |= digits.size() % 2 != 0;
    value = Payload(all);
  }
  void nodes(NodeSet& set) {
    set = {};
    list([&] {
      NodeId node;
      walk(*this, node);
      set.insert(node);
    });
  }
  template <class T>
  void optional(T& value) {
    value.reset();
    if (!takes("null")) walk(*this, value.emplace());
  }
  template <class T>
  void variant(T& value) {
    need("{\"type\":");
    const std::string type = quoted();
    const bool known = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((type_name<std::variant_alternative_t<I, T>> == type &&
               (fields(value.template emplace<I>(), false), true)) ||
              ...);
    }
    (std::make_index_sequence<std::variant_size_v<T>>{});
    failed_ |= !known;
    need("}");
  }
  template <class T>
  void sequence(T& value) {
    value.clear();
    list([&] {
      value.push_back({});
      walk(*this, value.back());
    });
  }
  template <class T>
  void map(T& value) {
    value.clear();
    need("{");
    for (bool first = true; !failed_ && !takes("}"); first = false) {
      if (!first) need(",");
      const std::string name = quoted();
      JsonReader inner(name);
      typename T::key_type key = {};
      walk(inner, key);
      failed_ |= !inner.finished();
      need(":");
      walk(*this, value[key]);
    }
  }
  template <class T>
  void structure(T& value) {
    need("{");
    fields(value, true);
    need("}");
  }

 private:
  template <class T>
  void fields(T& value, bool first) {
    boost::pfr::for_each_field(value, [&](auto& field, std::size_t index) {
      if (failed_) return;
      if (!std::exchange(first, false)) need(",");
      if (quoted() != field_names<T>[index]) return fail();
      need(":");
      walk(*this, field);
    });
  }
  template <class Element>
  void list(Element&& element) {
    need("[");
    for (bool first = true; !failed_ && !takes("]"); first = false) {
      if (!first) need(",");
      element();
    }
  }

  void fail() { failed_ = true; }
  bool takes(std::string_view word) {
    if (failed_ || !rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void need(std::string_view word) {
    if (!takes(word)) fail();
  }
  std::string quoted() {
    need("\"");
    std::string out;
    while (!failed_ && !takes("\"")) {
      if (rest_.empty()) {
        fail();
      } else if (takes("\\")) {
        out += escaped();
      } else {
        out += rest_.front();
        rest_.remove_prefix(1);
      }
    }
    return out;
  }
  char escaped() {
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    std::uint8_t code = 0;
    if (takes("u00") && rest_.size() >= 2) {
      if (std::from_chars(rest_.data(), rest_.data() + 2, code, 16).ptr != rest_.data() + 2) fail();
      rest_.remove_prefix(2);
      return static_cast<char>(code);
    }
    const std::size_t which = rest_.empty() ? std::string_view::npos : names.find(rest_.front());
    if (which == std::string_view::npos) {
      fail();
      return '?';
    }
    rest_.remove_prefix(1);
    return meant[which];
  }

  std::string_view rest_;
  bool failed_ = false;
};

// False if the text describes no value of this type; what the value is then nobody knows.
template <class T>
bool read_json(std::string_view text, T& value) {
  JsonReader reader(text);
  walk(reader, value);
  return reader.finished();
}

}  // namespace conclave
