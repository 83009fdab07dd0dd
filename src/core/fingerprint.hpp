// 128 bits that stand for a value. Equal values have equal fingerprints on every machine and in every
// build; the checker remembers states by them.
#pragma once
#include <compare>
#include <cstdint>

#include "core/walk.hpp"

namespace conclave {

struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Fingerprint&) const = default;
};

class Fingerprinter : public SerialSink<Fingerprinter> {
 public:
  Fingerprint result() const { return {fold(a_, 0x9e3779b97f4a7c15u), fold(b_, 0xd6e8feb86659fd93u)}; }

  void absorb(std::uint64_t word) {
    a_ = fold(a_ ^ word, 0xa0761d6478bd642fu);
    b_ = fold(b_ + word, 0xe7037ed1a0b428dbu) ^ word;
  }

  template <Number T>
  void number(const T& value) {
    absorb(static_cast<std::uint64_t>(value));
  }
  void text(std::string_view value) {
    absorb(value.size());
    for (const char c : value) absorb(static_cast<unsigned char>(c));
  }
  void bytes(const Payload& value) {
    absorb(value.size());
    for (const std::uint8_t byte : value.bytes()) absorb(byte);
  }
  void nodes(const NodeSet& set) {
    absorb(set.runs().size());
    for (const NodeSet::Run& run : set.runs()) absorb(std::uint64_t{run.first} << 32 | run.last);
  }
  void tag(std::uint64_t value) { absorb(value); }

 private:
  // The two halves of a 128-bit product, folded: every input bit reaches every output bit.
  static std::uint64_t fold(std::uint64_t x, std::uint64_t k) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(x ^ k) * (k | 1);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  std::uint64_t a_ = 0x243f6a8885a308d3u;
  std::uint64_t b_ = 0x13198a2e03707344u;
};

template <class T>
Fingerprint fingerprint(const T& value) {
  Fingerprinter sink;
  walk(sink, value);
  return sink.result();
}

}  // namespace conclave
