// Bytes that may be too many for memory: the state of a snapshot. They are read a part at a time from
// wherever they are. Copies share them, and they compare by what they say.
//
//   Bulk state = Bulk(payload);                 // in memory
//   state = Bulk(place, 0, size);               // or elsewhere: in a file, say
//   send(state.part(offset, most));             // so many of them, as far as they reach
//   arrived.append(part);                       // what comes a part at a time is in memory until somebody
//   moves it
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/ensure.hpp"
#include "core/payload.hpp"
#include "core/walk.hpp"

namespace conclave {

// What was to be read is not there, or not what it was. No state of a protocol makes up for that.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Bulk {
 public:
  // Where bytes are that are not in memory. They do not change.
  class Place {
   public:
    virtual ~Place() = default;
    // Fills `into`, or throws Unreadable.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> into) const = 0;
  };

  Bulk() = default;
  Bulk(Payload bytes) : tail_(std::move(bytes)) {}  // NOLINT: a payload is a small one of these
  Bulk(std::shared_ptr<const Place> place, std::uint64_t offset, std::uint64_t size)
      : place_(std::move(place)), offset_(offset), size_(size) {}

  std::uint64_t size() const { return size_ + tail_.size(); }
  bool empty() const { return size() == 0; }

  // From `offset` on, at most so many.
  Payload part(std::uint64_t offset, std::uint64_t most) const {
    if (offset >= size() || most == 0) return {};
    const std::uint64_t count = std::min(most, size() - offset);
    if (offset >= size_) return of_tail(offset - size_, count);
    auto bytes = std::make_shared_for_overwrite<std::uint8_t[]>(count);
    const std::span<std::uint8_t> into(bytes.get(), count);
    const std::uint64_t elsewhere = std::min(count, size_ - offset);
    place_->read(offset_ + offset, into.first(elsewhere));
    std::ranges::copy(tail_.bytes().first(count - elsewhere), into.subspan(elsewhere).begin());
    return Payload(std::move(bytes), into);
  }
  // All of them, in memory: for those that are known to be few.
  Payload whole() const { return size_ == 0 ? tail_ : part(0, size()); }
  Bulk from(std::uint64_t offset) const {
    ensure(offset <= size(), "what is left out is there");
    if (offset >= size_) return of_tail(offset - size_, size() - offset);
    Bulk rest(place_, offset_ + offset, size_ - offset);
    rest.tail_ = tail_;
    return rest;
  }

  void append(const Payload& more) {
    if (more.empty()) return;
    if (tail_.empty()) {
      tail_ = more;
      return;
    }
    std::vector<std::uint8_t> both(tail_.bytes().begin(), tail_.bytes().end());
    both.insert(both.end(), more.bytes().begin(), more.bytes().end());
    tail_ = Payload(both);
  }
  // What of it is in memory: its last part, or all. For whoever walks it, that is its value, or there is
  // none: in a world that writes down or compares what it runs, nobody moves bytes elsewhere.
  const Payload& in_memory() const { return tail_; }
  bool has_value() const { return !tail_.empty(); }
  explicit operator bool() const { return has_value(); }
  Payload& operator*() { return tail_; }
  const Payload& operator*() const { return tail_; }
  Payload& emplace() {
    reset();
    return tail_;
  }
  void reset() { *this = Bulk(); }
  // Somebody has put that where all of it is now.
  void move_to(std::shared_ptr<const Place> place) { *this = Bulk(std::move(place), 0, size()); }

  bool operator==(const Bulk& other) const {
    if (size() != other.size()) return false;
    if (size_ == 0 && other.size_ == 0) return tail_ == other.tail_;
    if (place_ == other.place_ && offset_ == other.offset_ && size_ == other.size_)
      return tail_ == other.tail_;
    constexpr std::uint64_t step = 1 << 16;
    for (std::uint64_t at = 0; at < size(); at += step)
      if (part(at, step) != other.part(at, step)) return false;
    return true;
  }

 private:
  Payload of_tail(std::uint64_t offset, std::uint64_t count) const {
    if (offset == 0 && count == tail_.size()) return tail_;
    return Payload(tail_.bytes().subspan(offset, count));
  }

  std::shared_ptr<const Place> place_ = {};
  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;  // of what is there
  Payload tail_ = {};       // and, behind it, in memory
};

template <>
inline constexpr bool is_optional<Bulk> = true;

}  // namespace conclave
