// Values to bytes and back. The byte format is described in docs/wire.md.
//
// Encoding is canonical: equal values give equal bytes, and every other byte string is refused. Decoding
// is total: whatever the bytes, it returns a value or a DecodeError, and never reserves more memory than
// the bytes at hand justify.
#pragma once
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <vector>

#include "core/walk.hpp"

namespace conclave {

using Bytes = std::vector<std::uint8_t>;

enum class DecodeError {
  truncated,      // the bytes end inside the value
  trailing,       // the value ends before the bytes do
  unknown_tag,    // no such alternative, enumerator or flag
  out_of_range,   // a number too large for its field
  not_canonical,  // a longer spelling of a value that has a shorter one, or an unsorted set
  too_long,       // a length that the remaining bytes cannot hold
  too_deep,       // lists within lists within lists
};

constexpr std::string_view describe(DecodeError error) {
  switch (error) {
    case DecodeError::truncated: return "the message ends too early";
    case DecodeError::trailing: return "bytes follow the end of the message";
    case DecodeError::unknown_tag: return "unknown tag";
    case DecodeError::out_of_range: return "a number is out of range";
    case DecodeError::not_canonical: return "not in canonical form";
    case DecodeError::too_long: return "a length exceeds the message";
    case DecodeError::too_deep: return "lists are nested too deeply";
  }
  return "unknown error";
}

class Encoder : public SerialSink<Encoder> {
 public:
  explicit Encoder(Bytes& out) : out_(out) {}

  template <Number T>
  void number(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      varint(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_signed_v<T>) {
      const auto v = static_cast<std::int64_t>(value);
      varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
    } else {
      varint(static_cast<std::uint64_t>(value));
    }
  }
  void text(std::string_view value) {
    varint(value.size());
    out_.insert(out_.end(), value.begin(), value.end());
  }
  void bytes(const Payload& value) {
    varint(value.size());
    out_.insert(out_.end(), value.bytes().begin(), value.bytes().end());
  }
  void nodes(const NodeSet& set) {
    varint(set.runs().size());
    for (const NodeSet::Run& run : set.runs()) {
      varint(run.first);
      varint(run.last - run.first);
    }
  }
  void tag(std::uint64_t value) { varint(value); }

 private:
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    out_.push_back(static_cast<std::uint8_t>(value));
  }
  Bytes& out_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  // The payloads of what is read share the bytes with their owner.
  Decoder(std::span<const std::uint8_t> bytes, std::shared_ptr<const std::uint8_t[]> owner)
      : rest_(bytes), owner_(std::move(owner)) {}

  bool failed() const { return error_.has_value(); }
  DecodeError error() const { return *error_; }
  // What has not been read.
  std::span<const std::uint8_t> rest() const { return rest_; }
  void finish() {
    if (!rest_.empty()) refuse(DecodeError::trailing);
  }

  template <Number T>
  void number(T& value) {
    const std::uint64_t raw = varint();
    if (failed()) return;
    if constexpr (std::same_as<T, bool>) {
      if (raw > 1) return refuse(DecodeError::unknown_tag);
      value = raw == 1;
    } else if constexpr (std::is_enum_v<T>) {
      if (raw >= max_enumerators || enumerator_name(static_cast<T>(raw)).empty())
        return refuse(DecodeError::unknown_tag);
      value = static_cast<T>(raw);
    } else if constexpr (std::is_signed_v<T>) {
      const auto v = static_cast<std::int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
      if (!std::in_range<T>(v)) return refuse(DecodeError::out_of_range);
      value = static_cast<T>(v);
    } else {
      if (!std::in_range<T>(raw)) return refuse(DecodeError::out_of_range);
      value = static_cast<T>(raw);
    }
  }
  void text(std::string& value) { value = borrowed(); }
  void text(std::string_view& value) { value = borrowed(); }
  void bytes(Payload& value) {
    const std::size_t size = length(1);
    const auto said = rest_.first(size);
    value = owner_ && size > 0 ? Payload(owner_, said) : Payload(said);
    rest_ = rest_.subspan(size);
  }
  void nodes(NodeSet& set) {
    set.clear();
    for (std::size_t left = length(2); left > 0 && !failed(); --left) {
      std::uint32_t first = 0;
      std::uint32_t more = 0;
      number(first);
      number(more);
      if (failed()) return;
      if (more > UINT32_MAX - first) return refuse(DecodeError::out_of_range);
      if (!set.append({first, first + more})) return refuse(DecodeError::not_canonical);
    }
  }
  template <class T>
  void optional(T& value) {
    bool present = false;
    number(present);
    value.reset();
    if (present && !failed()) walk(*this, made(value));
  }
  template <class T>
  void variant(T& value) {
    const std::uint64_t index = varint();
    if (failed()) return;
    if (index >= std::variant_size_v<T>) return refuse(DecodeError::unknown_tag);
    alternative<0>(value, index);
  }
  template <class T>
  void sequence(T& value) {
    using Element = typename T::value_type;
    static_assert(!std::is_empty_v<Element>, "an element must take at least one byte, or a length is a bomb");
    value.clear();
    // A type that contains itself nests as deep as the bytes say, and each level takes some of our stack.
    if (depth_ == max_depth) return refuse(DecodeError::too_deep);
    ++depth_;
    // Grown element by element: a lying length costs its sender, not us.
    for (std::size_t left = length(1); left > 0 && !failed(); --left) {
      value.push_back(Element{});
      walk(*this, value.back());
    }
    --depth_;
  }
  template <class T>
  void map(T& value) {
    value.clear();
    for (std::size_t left = length(1); left > 0 && !failed(); --left) {
      typename T::key_type key{};
      typename T::mapped_type mapped{};
      walk(*this, key);
      walk(*this, mapped);
      if (failed()) return;
      if (!value.empty() && !(value.rbegin()->first < key)) return refuse(DecodeError::not_canonical);
      value.emplace_hint(value.end(), std::move(key), std::move(mapped));
    }
  }
  template <class T>
  void structure(T& value) {
    boost::pfr::for_each_field(value, [this](auto& field) {
      if (!failed()) walk(*this, field);
    });
  }

 private:
  // A value that is moved in: clang finds that some structs within protocols cannot be made in place.
  template <class T>
  static T& made(std::optional<T>& value) {
    return value.emplace(T{});
  }
  template <class T>
  static auto& made(T& box) {
    return box.emplace();
  }
  template <std::size_t I, class T>
  void alternative(T& value, std::uint64_t index) {
    if constexpr (I < std::variant_size_v<T>) {
      if (index == I) return walk(*this, value.template emplace<I>(std::variant_alternative_t<I, T>{}));
      alternative<I + 1>(value, index);
    }
  }

  void refuse(DecodeError error) {
    if (!error_) error_ = error;
    rest_ = {};
  }

  // Text that stays where it is.
  std::string_view borrowed() {
    const std::size_t size = length(1);
    const std::string_view text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) {
        refuse(DecodeError::truncated);
        return 0;
      }
      const std::uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      if (shift == 63 && byte > 1) {
        refuse(DecodeError::out_of_range);
        return 0;
      }
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) {
        if (byte == 0 && shift > 0) {
          refuse(DecodeError::not_canonical);
          return 0;
        }
        return value;
      }
    }
    refuse(DecodeError::out_of_range);
    return 0;
  }

  // A count of elements of at least `least` bytes each; 0 after refusing one that cannot fit.
  std::size_t length(std::size_t least) {
    const std::uint64_t claimed = varint();
    if (failed()) return 0;
    if (claimed > rest_.size() / least) {
      refuse(DecodeError::too_long);
      return 0;
    }
    return static_cast<std::size_t>(claimed);
  }

  static constexpr unsigned max_depth = 160;

  std::span<const std::uint8_t> rest_;
  std::shared_ptr<const std::uint8_t[]> owner_;
  std::optional<DecodeError> error_;
  unsigned depth_ = 0;
};

template <class T>
void encode(const T& value, Bytes& out) {
  Encoder encoder(out);
  walk(encoder, value);
}

template <class T>
Bytes encode(const T& value) {
  Bytes out;
  encode(value, out);
  return out;
}

template <class T>
std::expected<T, DecodeError> decode(std::span<const std::uint8_t> bytes) {
  Decoder decoder(bytes);
  T value{};
  walk(decoder, value);
  if (!decoder.failed()) decoder.finish();
  if (decoder.failed()) return std::unexpected(decoder.error());
  return value;
}

}  // namespace conclave
