// Bytes that nobody changes any more: a command on its way through a replicated log, a snapshot. Copies share
// them, also between threads; they compare and hash by what they say.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace conclave {

class Payload {
 public:
  Payload() = default;
  explicit Payload(std::span<const std::uint8_t> bytes) : size_(bytes.size()) {
    if (bytes.empty()) return;
    auto copy = std::make_shared_for_overwrite<std::uint8_t[]>(bytes.size());
    std::ranges::copy(bytes, copy.get());
    bytes_ = std::move(copy);
  }
  // Bytes that somebody else holds: a part of a buffer that many share, a file mapped into memory.
  Payload(std::shared_ptr<const std::uint8_t[]> owner, std::span<const std::uint8_t> bytes)
      : bytes_(std::move(owner), bytes.data()), size_(bytes.size()) {}

  std::span<const std::uint8_t> bytes() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  bool operator==(const Payload& other) const {
    return size_ == other.size_ &&
           (bytes_.get() == other.bytes_.get() || std::ranges::equal(bytes(), other.bytes()));
  }

 private:
  std::shared_ptr<const std::uint8_t[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace conclave
