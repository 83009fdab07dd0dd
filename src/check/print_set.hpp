// Which states have been met: their fingerprints, packed.
//
// The set is cut into cells by the fingerprints' first bits, and a cell is a few units of 16 KiB. A cell
// grows by one unit when it is nearly full, so the set is never much larger than what it holds, no more than
// a cell is ever in the making, and what moves stays in the cache.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "check/large_pages.hpp"
#include "check/prefetch.hpp"
#include "core/ensure.hpp"

namespace conclave::check {

class PrintSet {
 public:
  // With `numbered`, every fingerprint has a number beside it.
  explicit PrintSet(bool numbered) : stride_(numbered ? 5 : 4), cells_(1) { add_unit(cells_[0]); }

  void prefetch(const std::uint32_t* print) const {
    const std::uint64_t hash = hash_of(print);
    const Cell& cell = cells_[cell_of(hash)];
    const std::uint32_t* first = slot(cell, home(cell, hash));
    check::prefetch(first);
    check::prefetch(first + bucket_slots * stride_);  // where every other search ends
  }
  // The number beside that fingerprint and false; or, if it is new, `number` and true. Of unnumbered
  // fingerprints, the number means nothing.
  std::pair<std::uint32_t, bool> insert(const std::uint32_t* print, std::uint32_t number) {
    const std::uint64_t hash = hash_of(print);
    Cell& cell = cells_[cell_of(hash)];
    std::uint32_t index = home(cell, hash);
    std::uint32_t* at = slot(cell, index);
    for (;;) {
      if (equal(at, print)) return {stride_ == 5 ? at[4] : 0, false};
      if (is_empty(at)) break;
      if ((++index & (unit_slots - 1)) != 0) [[likely]] {
        at += stride_;
      } else {
        if (index == cell.count * unit_slots) index = 0;
        at = slot(cell, index);
      }
    }
    std::memcpy(at, print, 16);
    if (stride_ == 5) at[4] = number;
    ++used_;
    if (++cell.used > full(cell)) [[unlikely]]
      grow(cell);
    return {number, true};
  }
  std::uint64_t size() const { return used_; }
  std::uint64_t bytes() const { return units_ * unit_words() * 4 + cells_.capacity() * sizeof(Cell); }

 private:
  static constexpr std::uint32_t unit_slots = 1024;
  static constexpr std::uint32_t bucket_slots = 4;  // a search begins with a line of the cache
  static constexpr std::uint32_t most_units = 16;
  struct Cell {
    std::array<std::uint32_t*, most_units> units = {};
    std::uint32_t count = 0;
    std::uint32_t used = 0;
  };

  static std::uint64_t half(const std::uint32_t* at) {
    std::uint64_t both = 0;
    std::memcpy(&both, at, sizeof both);
    return both;
  }
  static std::uint64_t hash_of(const std::uint32_t* print) { return half(print + 2); }
  static bool equal(const std::uint32_t* a, const std::uint32_t* b) {
    return ((half(a) ^ half(b)) | (half(a + 2) ^ half(b + 2))) == 0;
  }
  // No fingerprint is zero: whoever makes one sees to that.
  static bool is_empty(const std::uint32_t* at) { return (half(at) | half(at + 2)) == 0; }
  static std::uint32_t full(const Cell& cell) { return cell.count * (unit_slots / 5 * 4); }

  std::size_t cell_of(std::uint64_t hash) const { return cell_bits_ == 0 ? 0 : hash >> (64 - cell_bits_); }
  static std::uint32_t home(std::uint32_t units, std::uint64_t rest) {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t buckets = units * (unit_slots / bucket_slots);
    return static_cast<std::uint32_t>(static_cast<Wide>(rest) * buckets >> 64) * bucket_slots;
  }
  std::uint32_t home(const Cell& cell, std::uint64_t hash) const {
    return home(cell.count, hash << cell_bits_);
  }
  std::uint32_t* slot(const Cell& cell, std::uint32_t index) const {
    return cell.units[index / unit_slots] + (index % unit_slots) * stride_;
  }
  std::size_t unit_words() const { return unit_slots * stride_; }

  void add_unit(Cell& cell) {
    ensure(cell.count < most_units, "cells are cut before they are too large");
    if (fresh_ == 0) {
      const std::size_t block = std::clamp<std::size_t>(units_, 1, 128);  // 2 MiB at most
      blocks_.emplace_back(block * unit_words());
      fresh_ = block;
    }
    cell.units[cell.count++] = blocks_.back().data() + --fresh_ * unit_words();
    ++units_;
  }

  void grow(Cell& cell) {
    if (used_ > cells_.size() * std::uint64_t{unit_slots} * (most_units / 2) * 7 / 8) return cut_cells();
    const Cell old = take_out(cell);
    for (std::uint32_t more = std::max(1u, cell.count / 3); more > 0; --more) add_unit(cell);
    put_back(old, &cell, 1);
  }
  // Twice as many cells, each with half the units.
  void cut_cells() {
    std::vector<Cell> whole(2 * cells_.size());
    whole.swap(cells_);
    ++cell_bits_;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Cell old = take_out(whole[i]);
      for (std::uint32_t unit = 0; unit < whole[i].count; ++unit) {
        Cell& part = cells_[2 * i + unit % 2];
        part.units[part.count++] = whole[i].units[unit];
      }
      if (whole[i].count % 2 != 0) add_unit(cells_[2 * i + 1]);
      put_back(old, &cells_[2 * i], 2);
    }
  }
  // What the cell holds, somewhere else; it is empty then.
  Cell take_out(Cell& cell) {
    thread_local std::vector<std::uint32_t> elsewhere;
    elsewhere.resize(std::max(elsewhere.size(), most_units * unit_words()));
    Cell copy = cell;
    for (std::uint32_t unit = 0; unit < cell.count; ++unit) {
      copy.units[unit] = elsewhere.data() + unit * unit_words();
      std::memcpy(copy.units[unit], cell.units[unit], unit_words() * 4);
      std::memset(cell.units[unit], 0, unit_words() * 4);
    }
    cell.used = 0;
    return copy;
  }
  // Into one cell, or into two neighbours of which this is the first.
  void put_back(const Cell& old, Cell* first, std::size_t cells) {
    if (cells == 1) return put_back(old, *first, 0, 0);
    const unsigned bit = 64 - cell_bits_;
    put_back(old, first[0], std::uint64_t{1} << bit, 0);
    put_back(old, first[1], std::uint64_t{1} << bit, std::uint64_t{1} << bit);
  }
  // Those whose hash has the bit.
  void put_back(const Cell& old, Cell& cell, std::uint64_t bit, std::uint64_t value) {
    const Cell to = cell;  // what is written cannot be mistaken for it
    const std::uint32_t stride = stride_, slots = to.count * unit_slots;
    const unsigned shift = cell_bits_;
    std::uint32_t used = 0;
    for (std::uint32_t unit = 0; unit < old.count; ++unit) {
      const std::uint32_t* from = old.units[unit];
      for (const std::uint32_t* end = from + unit_words(); from != end; from += stride) {
        const std::uint64_t hash = hash_of(from);
        if ((half(from) | hash) == 0 || (hash & bit) != value) continue;
        std::uint32_t index = home(to.count, hash << shift);
        std::uint32_t* at = to.units[index / unit_slots] + (index % unit_slots) * stride;
        while (!is_empty(at)) {
          if (++index == slots) index = 0;
          at = to.units[index / unit_slots] + (index % unit_slots) * stride;
        }
        std::memcpy(at, from, 16);
        if (stride == 5) at[4] = from[4];
        ++used;
      }
    }
    cell.used += used;
  }

  const std::uint32_t stride_;
  unsigned cell_bits_ = 0;
  std::vector<Cell> cells_;
  std::vector<std::vector<std::uint32_t, LargePages<std::uint32_t>>> blocks_;
  std::size_t fresh_ = 0;  // units of the last block that nobody has yet
  std::uint64_t units_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace conclave::check
