// Which states have been met: their fingerprints, packed.
//
// A fingerprint lies in the line of the cache that its hash names, or, if that is full, in the next one with
// room. Lines are named in the order of the hashes, however many there are; so when the set has grown, one
// pass from its end to its beginning moves everything to where it belongs now, in place and without jumping
// about. That is cheap enough to grow in small steps, and the set is never much larger than what it holds.
#pragma once
#include <algorithm>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "check/prefetch.hpp"
#include "check/room.hpp"

namespace conclave::check {

// What is kept of a fingerprint.
struct Print {
  std::uint64_t low = 0;  // never 0
  std::uint32_t high = 0;
  auto operator<=>(const Print&) const = default;
};

class PrintSet {
 public:
  // With `numbered`, every fingerprint has a number beside it.
  explicit PrintSet(bool numbered) : numbered_(numbered) { add_lines(first_lines); }

  void prefetch(const Print& print) const { check::prefetch(line(home(print.low))); }

  // Whether it is new. Of a set without numbers.
  bool insert(const Print& print) { return insert<Plain>(print, 0).second; }
  // The number beside that fingerprint and false; or, if it is new, `number` and true.
  std::pair<std::uint32_t, bool> insert(const Print& print, std::uint32_t number) {
    return insert<Numbered>(print, number);
  }
  std::uint64_t size() const { return used_; }
  std::uint64_t bytes() const { return room_.bytes(); }

 private:
  // All at once, and nothing to guess for the processor: where in a line a search ends.
  static bool one_of_four(const std::uint32_t* numbers, std::uint32_t number) {
    using Four [[gnu::vector_size(16)]] = std::uint32_t;
    using Two [[gnu::vector_size(16)]] = std::uint64_t;
    Four four;
    std::memcpy(&four, numbers, sizeof four);
    const auto same = reinterpret_cast<Two>(four == number);
    return (same[0] | same[1]) != 0;
  }
  // The fingerprints of a line stand in front.
  struct alignas(64) Plain {
    static constexpr unsigned room = 5;
    std::uint64_t lows[room];
    std::uint32_t highs[room];
    std::uint32_t count;
    unsigned used() const { return count; }
    bool may_hold(std::uint32_t high) const { return one_of_four(highs, high) | (highs[4] == high); }
    void add(const Print& print, std::uint32_t) {
      lows[count] = print.low;
      highs[count++] = print.high;
    }
    std::uint32_t number(unsigned) const { return 0; }
  };
  struct alignas(64) Numbered {
    static constexpr unsigned room = 4;
    std::uint64_t lows[room];
    std::uint32_t highs[room];
    std::uint32_t numbers[room];
    bool may_hold(std::uint32_t high) const { return one_of_four(highs, high); }
    // Nothing to guess for the processor: how full a line is is a matter of chance.
    unsigned used() const {
      unsigned sum = 0;
      for (const std::uint64_t low : lows) sum += low != 0;
      return sum;
    }
    void add(const Print& print, std::uint32_t number) {
      const unsigned i = used();
      lows[i] = print.low;
      highs[i] = print.high;
      numbers[i] = number;
    }
    std::uint32_t number(unsigned i) const { return numbers[i]; }
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
  std::pair<std::uint32_t, bool> insert(const Print& print, std::uint32_t number) {
    for (std::uint64_t index = home(print.low);;) {
      Line& line = at<Line>(index);
      if (line.may_hold(print.high)) [[unlikely]] {
        for (unsigned i = 0; i < Line::room; ++i)
          if (line.lows[i] == print.low && line.highs[i] == print.high) return {line.number(i), false};
      }
      if (line.used() < Line::room) {
        line.add(print, number);
        if (++used_ > full_) [[unlikely]]
          grow<Line>();
        return {number, true};
      }
      if (++index == lines_) index = 0;
    }
  }

  // By doubling as long as it is small, then by a third, and no further than to whole pages.
  template <class Line>
  void grow() {
    const std::uint64_t before = lines_;
    const std::uint64_t bytes = before * line_bytes;
    const std::uint64_t step = Room::step_at(bytes);
    add_lines(bytes < 4 * Room::small ? before
                                      : std::max(bytes / 3 / step, std::uint64_t{1}) * step / line_bytes);
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
      if (line.used() == Line::room) continue;
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
    full_ = lines_ * (numbered_ ? Numbered::room : Plain::room) * 2 / 3;
  }

  bool numbered_;
  Room room_;
  std::byte* first_ = room_.begin();
  std::uint64_t lines_ = 0;
  std::uint64_t full_ = 0;  // how many fingerprints are enough
  std::uint64_t used_ = 0;
};

}  // namespace conclave::check
