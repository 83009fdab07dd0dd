#include "causality/timeline.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::causality {
namespace {

// Seven bits a byte, the lowest first; the top bit says that more follow.
void put(std::vector<std::uint8_t>& bytes, std::uint64_t value) {
  while (value >= 0x80) {
    bytes.push_back(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  bytes.push_back(static_cast<std::uint8_t>(value));
}

std::uint64_t get(const std::uint8_t*& at) {
  std::uint64_t value = *at & 0x7f;
  for (unsigned shift = 7; *at++ & 0x80; shift += 7) value |= static_cast<std::uint64_t>(*at & 0x7f) << shift;
  return value;
}

// Lines of one process mostly follow each other, but a log need not keep them in order.
std::uint64_t zigzag(std::uint64_t from, std::uint64_t to) {
  return to >= from ? (to - from) << 1 : ((from - to) << 1) | 1;
}

std::uint64_t unzigzag(std::uint64_t from, std::uint64_t code) {
  return code & 1 ? from - (code >> 1) : from + (code >> 1);
}

}  // namespace

std::uint64_t Timeline::bytes() const {
  return bytes_.capacity() + keyframes_.capacity() * sizeof(Keyframe) +
         (pool_.capacity() + latest_.capacity()) * sizeof(std::uint32_t);
}

void Timeline::append(std::uint64_t line, std::span<const Growth> growths) {
  put(bytes_, zigzag(line_, line));
  put(bytes_, growths.size());
  for (const Growth& growth : growths) {
    put(bytes_, growth.process);
    put(bytes_, growth.by);
    if (growth.process >= latest_.size()) latest_.resize(growth.process + 1);
    latest_[growth.process] += growth.by;
  }
  ++size_;
  line_ = line;
  ++since_keyframe_;
  grown_since_keyframe_ += growths.size();
  if (since_keyframe_ >= least_stride && grown_since_keyframe_ >= latest_.size()) keep_keyframe();
}

void Timeline::keep_keyframe() {
  keyframes_.push_back({.cursor = {.number = size_, .at = bytes_.size(), .line = line_},
                        .begin = pool_.size(),
                        .size = static_cast<std::uint32_t>(latest_.size())});
  pool_.insert(pool_.end(), latest_.begin(), latest_.end());
  since_keyframe_ = 0;
  grown_since_keyframe_ = 0;
}

void Timeline::next(Cursor& cursor, std::vector<Growth>& growths) const {
  ensure(cursor.number < size_, "only what was appended is read");
  const std::uint8_t* at = bytes_.data() + cursor.at;
  cursor.line = unzigzag(cursor.line, get(at));
  growths.resize(get(at));
  for (Growth& growth : growths) {
    growth.process = static_cast<std::uint32_t>(get(at));
    growth.by = static_cast<std::uint32_t>(get(at));
  }
  cursor.at = static_cast<std::uint64_t>(at - bytes_.data());
  ++cursor.number;
}

std::uint64_t Timeline::restore(std::uint32_t number, std::span<std::uint32_t> counts) const {
  ensure(number <= size_, "only what was appended is read");
  std::ranges::fill(counts, 0u);
  Cursor cursor;
  const auto after = std::ranges::upper_bound(keyframes_, number, {},
                                              [](const Keyframe& frame) { return frame.cursor.number; });
  if (after != keyframes_.begin()) {
    const Keyframe& frame = *std::prev(after);
    cursor = frame.cursor;
    std::copy_n(pool_.begin() + static_cast<std::ptrdiff_t>(frame.begin), frame.size, counts.begin());
  }
  const std::uint8_t* at = bytes_.data() + cursor.at;
  for (; cursor.number < number; ++cursor.number) {
    cursor.line = unzigzag(cursor.line, get(at));
    for (std::uint64_t grown = get(at); grown > 0; --grown) {
      const auto process = get(at);
      counts[process] += static_cast<std::uint32_t>(get(at));
    }
  }
  return cursor.line;
}

}  // namespace conclave::causality
