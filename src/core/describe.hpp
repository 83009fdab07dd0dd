// Values as JSON text: what the trace shows of messages, events and states. Fields go by their names,
// node sets are lists of ids, an alternative is {"type": …} followed by its fields.
#pragma once
#include <charconv>
#include <string>
#include <string_view>

#include "core/walk.hpp"

namespace conclave {

inline constexpr char hex_digits[] = "0123456789abcdef";

inline void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hex_digits[byte >> 4];
      out += hex_digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <std::integral T>
void append_number(std::string& out, T value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

class Describer {
 public:
  explicit Describer(std::string& out) : out_(out) {}

  template <Number T>
  void number(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      out_ += value ? "true" : "false";
    } else if constexpr (std::is_enum_v<T>) {
      append_json_text(out_, enumerator_name(value));
    } else {
      append_number(out_, value);
    }
  }
  void text(std::string_view value) { append_json_text(out_, value); }
  void bytes(const Payload& value) {  // two digits each
    out_ += '"';
    for (const std::uint8_t byte : value.bytes()) {
      out_ += hex_digits[byte >> 4];
      out_ += hex_digits[byte & 15];
    }
    out_ += '"';
  }
  void nodes(const NodeSet& set) { list(set); }
  template <class T>
  void optional(const T& value) {
    if (value) {
      walk(*this, *value);
    } else {
      out_ += "null";
    }
  }
  template <class T>
  void variant(const T& value) {
    std::visit(
        [this]<class A>(const A& alternative) {
          out_ += "{\"type\":";
          append_json_text(out_, type_name<A>);
          fields(alternative, false);
          out_ += '}';
        },
        value);
  }
  template <class T>
  void sequence(const T& value) {
    list(value);
  }
  template <class T>
  void map(const T& value) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, mapped] : value) {
      if (!std::exchange(first, false)) out_ += ',';
      std::string name;
      Describer inner(name);
      walk(inner, key);
      append_json_text(out_, name);
      out_ += ':';
      walk(*this, mapped);
    }
    out_ += '}';
  }
  template <class T>
  void structure(const T& value) {
    out_ += '{';
    fields(value, true);
    out_ += '}';
  }

 private:
  template <class T>
  void fields(const T& value, bool first) {
    boost::pfr::for_each_field(value, [&](const auto& field, std::size_t index) {
      if (!std::exchange(first, false)) out_ += ',';
      append_json_text(out_, field_names<T>[index]);
      out_ += ':';
      walk(*this, field);
    });
  }
  template <class T>
  void list(const T& value) {
    out_ += '[';
    bool first = true;
    for (const auto& element : value) {
      if (!std::exchange(first, false)) out_ += ',';
      walk(*this, element);
    }
    out_ += ']';
  }
  std::string& out_;
};

template <class T>
std::string describe_json(const T& value) {
  std::string out;
  Describer sink(out);
  walk(sink, value);
  return out;
}

// The fields in which two states differ, with their new values: {} if they are equal. Of a field that is
// large and knows what changed in it, only that.
template <class T>
std::string describe_change(const T& before, const T& after) {
  std::string out = "{";
  Describer sink(out);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto compare = [&](const auto& old_field, const auto& new_field, std::size_t index) {
      if (old_field == new_field) return;
      if (out.size() > 1) out += ',';
      append_json_text(out, field_names<T>[index]);
      out += ':';
      if constexpr (requires { new_field.change_since(old_field); }) {
        const auto change = new_field.change_since(old_field);
        walk(sink, change);
      } else {
        walk(sink, new_field);
      }
    };
    (compare(boost::pfr::get<I>(before), boost::pfr::get<I>(after), I), ...);
  }
  (std::make_index_sequence<boost::pfr::tuple_size_v<T>>{});
  out += '}';
  return out;
}

}  // namespace conclave
