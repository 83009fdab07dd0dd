// Values by number: equal values get the same one. States are made of such numbers, so a value is copied,
// compared and fingerprinted when it is met for the first time and never again.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>

#include "check/segmented.hpp"
#include "core/fingerprint.hpp"

namespace conclave::check {

using Id = std::uint32_t;

struct HashFingerprint {
  std::size_t operator()(const Fingerprint& f) const { return f.high; }
};

// Spreads what distinguishes kinds of values, so that a sum of fingerprints of different kinds tells them
// apart.
inline Fingerprint salted(std::uint64_t salt, std::uint64_t high, std::uint64_t low) {
  Fingerprinter sink;
  sink.absorb(salt);
  sink.absorb(high);
  sink.absorb(low);
  return sink.result();
}

// A sum changes with its parts.
inline void plus(Fingerprint& sum, const Fingerprint& part) {
  sum.high += part.high;
  sum.low += part.low;
}
inline void minus(Fingerprint& sum, const Fingerprint& part) {
  sum.high -= part.high;
  sum.low -= part.low;
}

template <class T>
class Interner {
 public:
  // The number, and whether it is new.
  std::pair<Id, bool> intern(T value) {
    const Fingerprint print = fingerprint(value);
    const auto [known, fresh] = index_.try_emplace(print, values_.size());
    const Id id = known->second;
    if (fresh) {
      values_.push_back(std::move(value));
    } else {
      ensure(values_[id] == value, "different values have different fingerprints");
    }
    return {id, fresh};
  }
  const T& operator[](Id id) const { return values_[id]; }
  std::uint32_t size() const { return values_.size(); }
  std::uint64_t bytes() const {
    return values_.bytes() + index_.bucket_count() * (sizeof(Fingerprint) + sizeof(Id) + 1);
  }

 private:
  Segmented<T> values_;
  boost::unordered_flat_map<Fingerprint, Id, HashFingerprint> index_;
};

}  // namespace conclave::check
