// Which states have been met: their fingerprints, packed.
//
// A fingerprint lies in the line of the cache that its hash names, or, if that is full, in the next one with
// room. Lines are named in the order of the hashes, however many there are; so when the set has grown, one
// pass from its end to its beginning moves everything to where it belongs now, in place and without jumping
// about. So the set is hardly more than twice as large as what it holds, and growing takes a tenth of the
// time.
#pragma once
#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "check/room.hpp"
#include "core/prefetch.hpp"

namespace conclave::check {

// A fingerprint, mixed so that its first half is evenly spread.
struct Print {
  std::uint64_t low = 0;  // never 0
  std::uint64_t high = 0;
  auto operator<=>(const Print&) const = default;
};

class PrintSet {
 public:
  // With `numbered`, every fingerprint has a number beside it.
  explicit PrintSet(bool numbered) : numbered_(numbered) { add_lines(first_lines); }

  // The next line too: it is wanted whenever the first one is full.
  void prefetch(const Print& print) const {
    const std::byte* const first = line(home(print.low));
    conclave::prefetch(first);
    conclave::prefetch(first + line_bytes);
  }

  // Whether it is new. Of a set without numbers.
  bool insert(const Print& print) { return insert<Plain>(print, 0).second; }
  // The number beside that fingerprint and false; or, if it is new, `number` and true.
  std::pair<std::uint32_t, bool> insert(const Print& print, std::uint32_t number) {
    return insert<Numbered>(print, number);
  }
  std::uint64_t size() const { return used_; }
  std::uint64_t bytes() const { return room_.bytes(); }

 private:
  // The fingerprints of a line stand in front, so a line is full if its last place is taken. Nothing in here
  // is for the processor to guess: where in a line a search ends, and how full it is, is a matter of chance.
  template <unsigned places>
  struct Lot {
    static constexpr unsigned room = places;
    std::uint64_t lows[room];
    std::uint64_t highs[room];
    bool full() const { return lows[room - 1] != 0; }
    unsigned used() const {
      unsigned sum = 0;
#pragma GCC unroll 4
      for (const std::uint64_t low : lows) sum += low != 0;
      return sum;
    }
    bool may_hold(std::uint64_t low) const {
      bool same = false;
#pragma GCC unroll 4
      for (const std::uint64_t other : lows) same |= other == low;
      return same;
    }
    unsigned add(const Print& print) {
      const unsigned place = used();
      lows[place] = print.low;
      highs[place] = print.high;
      return place;
    }
  };
  struct alignas(64) Plain : Lot<4> {
    void add(const Print& print, std::uint32_t) { Lot::add(print); }
    std::uint32_t number(unsigned) const { return 0; }
  };
  struct alignas(64) Numbered : Lot<3> {
    std::uint32_t numbers[room];
    void add(const Print& print, std::uint32_t number) { numbers[Lot::add(print)] = number; }
    std::uint32_t number(unsigned place) const { return numbers[place]; }
  };
  static constexpr std::uint64_t line_bytes = 64;
  static_assert(sizeof(Plain) == line_bytes && sizeof(Numbered) == line_bytes);
  static constexpr std::uint64_t first_lines = 64;

  std::uint64_t home(std::uint64_t low) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(low) * lines_ >> 64);
  }
  std::byte* line(std::uint64_t index) const { return first_ + index * line_bytes; }
  template <class Line>
  Line& at(std::uint64_t index) const {
    return *reinterpret_cast<Line*>(line(index));
  }

  template <class Line>
  [[gnu::always_inline]] std::pair<std::uint32_t, bool> insert(const Print& print, std::uint32_t number) {
    for (std::uint64_t index = home(print.low);;) {
      Line& line = at<Line>(index);
      if (line.may_hold(print.low)) [[unlikely]] {
        for (unsigned i = 0; i < Line::room; ++i)
          if (line.lows[i] == print.low && line.highs[i] == print.high) return {line.number(i), false};
      }
      if (!line.full()) {
        line.add(print, number);
        if (++used_ > full_) [[unlikely]]
          grow<Line>();
        return {number, true};
      }
      if (++index == lines_) index = 0;
    }
  }

  // By doubling as long as it is small, then by half, and no further than to whole pages.
  template <class Line>
  [[gnu::noinline]] void grow() {
    const std::uint64_t before = lines_;
    const std::uint64_t bytes = before * line_bytes;
    const std::uint64_t step = Room::step_at(bytes);
    add_lines(bytes < 4 * Room::small ? before
                                      : std::max(bytes / 2 / step, std::uint64_t{1}) * step / line_bytes);
    std::vector<std::pair<Print, std::uint32_t>> late;  // what would go to a line whose turn has not come
    for (std::uint64_t index = before; index-- > 0;) {
      const Line old = at<Line>(index);
      at<Line>(index) = {};
      for (unsigned i = 0, used = old.used(); i < used; ++i) {
        const Print print = {old.lows[i], old.highs[i]};
        if (!put_behind<Line>(index, print, old.number(i))) late.emplace_back(print, old.number(i));
      }
    }
    used_ -= late.size();
    for (const auto& [print, number] : late) insert<Line>(print, number);
  }
  template <class Line>
  bool put_behind(std::uint64_t first, const Print& print, std::uint32_t number) {
    for (std::uint64_t index = home(print.low); index >= first && index < lines_; ++index) {
      Line& line = at<Line>(index);
      if (line.full()) continue;
      line.add(print, number);
      return true;
    }
    return false;
  }
  void add_lines(std::uint64_t more) {
    room_.grow((lines_ + more) * line_bytes);
    // What is there is used, unless it is hardly anything.
    lines_ = lines_ + more < Room::small / line_bytes ? lines_ + more : room_.bytes() / line_bytes;
    // Fuller it would be slower: too many searches would go on to a line that nobody has asked for in time.
    full_ = lines_ * (numbered_ ? Numbered::room : Plain::room) * 3 / 4;
  }

  bool numbered_;
  Room room_;
  std::byte* first_ = room_.begin();
  std::uint64_t lines_ = 0;
  std::uint64_t full_ = 0;  // how many fingerprints are enough
  std::uint64_t used_ = 0;
};

}  // namespace conclave::check
