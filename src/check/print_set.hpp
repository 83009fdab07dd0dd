// Which states have been met: their fingerprints, packed. A bucket of four is looked at as a whole, which
// lets the table fill to nine tenths before it grows; it grows by a quarter, so that it is never much larger
// than what it holds.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "check/large_pages.hpp"

namespace conclave::check {

class PrintSet {
 public:
  // With `numbered`, every fingerprint has a number beside it.
  explicit PrintSet(bool numbered) : stride_(numbered ? 5 : 4), buckets_(16) {
    words_.resize(buckets_ * bucket_slots * stride_);
  }

  // Room for that many more.
  void prepare(std::size_t more) {
    while ((used_ + more) * 10 > buckets_ * bucket_slots * 9) grow();
  }
  void prefetch(const std::uint32_t* print) const {
    __builtin_prefetch(words_.data() + home(print) * bucket_slots * stride_);
  }
  // The number beside that fingerprint and false; or, if it is new, `number` and true. Of unnumbered
  // fingerprints, the number means nothing.
  std::pair<std::uint32_t, bool> insert(const std::uint32_t* print, std::uint32_t number) {
    for (std::size_t bucket = home(print);; bucket = bucket + 1 == buckets_ ? 0 : bucket + 1) {
      std::uint32_t* slot = words_.data() + bucket * bucket_slots * stride_;
      for (std::size_t i = 0; i < bucket_slots; ++i, slot += stride_) {
        if (equal(slot, print)) return {stride_ == 5 ? slot[4] : 0, false};
        if (!is_empty(slot)) continue;
        std::copy_n(print, 4, slot);
        if (stride_ == 5) slot[4] = number;
        ++used_;
        return {number, true};
      }
    }
  }
  std::uint64_t size() const { return used_; }
  std::uint64_t bytes() const { return words_.capacity() * sizeof(std::uint32_t); }

 private:
  static constexpr std::size_t bucket_slots = 4;

  static bool equal(const std::uint32_t* a, const std::uint32_t* b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
  }
  // No fingerprint is zero: whoever makes one sees to that.
  static bool is_empty(const std::uint32_t* slot) { return (slot[0] | slot[1] | slot[2] | slot[3]) == 0; }

  // The low half chooses the bucket; the high half has chosen the shard.
  std::size_t home(const std::uint32_t* print) const {
    const std::uint64_t hash = std::uint64_t{print[3]} << 32 | print[2];
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::size_t>(static_cast<Wide>(hash) * buckets_ >> 64);
  }

  void grow() {
    std::vector<std::uint32_t, LargePages<std::uint32_t>> old;
    old.swap(words_);
    const std::size_t slots = buckets_ * bucket_slots;
    buckets_ += buckets_ / 4;
    words_.resize(buckets_ * bucket_slots * stride_);
    used_ = 0;
    for (std::size_t i = 0; i < slots; ++i) {
      const std::uint32_t* slot = old.data() + i * stride_;
      if (!is_empty(slot)) insert(slot, stride_ == 5 ? slot[4] : 0);
    }
  }

  std::size_t stride_;
  std::size_t buckets_;
  std::vector<std::uint32_t, LargePages<std::uint32_t>> words_;
  std::size_t used_ = 0;
};

}  // namespace conclave::check
