// The vector times of one process's events, in few bytes each.
// An event is stored as what changed since the one before it: the line it stands on, and the entries that
// grew, all as variable-length numbers. An internal event takes two or three bytes. A full vector is kept
// whenever the changes since the last one weigh as much, so that any time is restored in few steps.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace conclave::causality {

// How much one entry of a clock grew.
struct Growth {
  std::uint32_t process = 0;
  std::uint32_t by = 0;
};

class Timeline {
 public:
  std::uint32_t size() const { return size_; }
  std::uint64_t bytes() const;
  // The entry of that process after the last event.
  std::uint32_t latest(std::uint32_t process) const {
    return process < latest_.size() ? latest_[process] : 0;
  }
  std::uint32_t width() const { return static_cast<std::uint32_t>(latest_.size()); }

  void append(std::uint64_t line, std::span<const Growth> growths);

  // Reads the events one by one, from some event on.
  struct Cursor {
    std::uint32_t number = 0;  // of the last event read
    std::uint64_t at = 0;      // byte where the next one begins
    std::uint64_t line = 0;    // of the last event read
  };
  void next(Cursor& cursor, std::vector<Growth>& growths) const;

  // The vector after that event, without the own entry, which is the number of the event. Returns its line.
  std::uint64_t restore(std::uint32_t number, std::span<std::uint32_t> counts) const;

 private:
  struct Keyframe {
    Cursor cursor = {};
    std::uint64_t begin = 0;  // in pool_
    std::uint32_t size = 0;
  };
  static constexpr std::uint32_t least_stride = 32;

  void keep_keyframe();

  std::uint32_t size_ = 0;
  std::uint64_t line_ = 0;
  std::uint32_t since_keyframe_ = 0;
  std::uint64_t grown_since_keyframe_ = 0;
  std::vector<std::uint32_t> latest_;
  std::vector<std::uint8_t> bytes_;
  std::vector<Keyframe> keyframes_;
  std::vector<std::uint32_t> pool_;
};

}  // namespace conclave::causality
