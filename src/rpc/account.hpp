// What memory outsiders make us use: an account in a tree. What a connection uses counts for its address,
// too, and for the server.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace conclave::rpc {

// What for.
enum class Use : std::uint8_t {
  requests,     // received, but not whole yet, or held back
  answers,      // made, but not taken yet
  frames,       // that the HTTP/2 library keeps for itself
  calls,        // open streams
  reads,        // what an answer is being made of
  watchers,     // what is kept for who watches
  connections,  // what each takes by itself
};
inline constexpr std::size_t uses = 7;

class Account {
 public:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  explicit Account(std::size_t limit = unlimited, Account* above = nullptr) : limit_(limit), above_(above) {}
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;
  ~Account() { close(); }
  // Gives everything back, and counts for nobody else from now on.
  void close() {
    for (std::size_t i = 0; i < uses; ++i) set(static_cast<Use>(i), 0);
    above_ = nullptr;
  }

  // What is there is counted, whether it fits or not.
  void take(Use use, std::size_t bytes) {
    for (Account* at = this; at != nullptr; at = at->above_) {
      at->parts_[index(use)] += bytes;
      at->used_ += bytes;
    }
  }
  void give(Use use, std::size_t bytes) {
    for (Account* at = this; at != nullptr; at = at->above_) {
      at->parts_[index(use)] -= bytes;
      at->used_ -= bytes;
    }
  }
  // For what is measured from time to time.
  void set(Use use, std::size_t bytes) {
    const std::size_t before = used(use);
    if (bytes > before) take(use, bytes - before);
    if (bytes < before) give(use, before - bytes);
  }

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return used_; }
  std::size_t used(Use use) const { return parts_[index(use)]; }
  std::size_t used_by_calls() const { return used_ - used(Use::connections); }
  bool over() const { return used_ > limit_; }
  // What still fits, here and in all accounts above.
  std::size_t room() const {
    std::size_t least = unlimited;
    for (const Account* at = this; at != nullptr; at = at->above_)
      least = std::min(least, at->limit_ - std::min(at->limit_, at->used_));
    return least;
  }
  // Whether this one or one above has more than its limit.
  bool anything_over() const {
    for (const Account* at = this; at != nullptr; at = at->above_)
      if (at->over()) return true;
    return false;
  }

 private:
  static std::size_t index(Use use) { return static_cast<std::size_t>(use); }

  std::size_t limit_;
  Account* above_;
  std::size_t used_ = 0;
  std::array<std::size_t, uses> parts_ = {};
};

}  // namespace conclave::rpc
