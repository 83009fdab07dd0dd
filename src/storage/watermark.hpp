// Up to where a log is known to be durable, said in a file of its own: what is missing of the log before
// there was lost. The log says it after every batch, without waiting for the disk; so after a kill the file
// is exact, and after a power cut it may be some tenths of a second old. It never says too much.
#pragma once
#include <chrono>
#include <optional>

#include "storage/directory.hpp"

namespace conclave::storage {

inline constexpr const char* watermark_file = "DURABLE";
inline constexpr std::size_t watermark_bytes = 4096;

// A place in the log: everything before it.
struct LogPosition {
  std::uint64_t segment = 0;  // 0: there is no log yet
  std::uint64_t end = 0;
  bool operator==(const LogPosition&) const = default;
};

void write_watermark(std::byte* at, std::uint64_t directory, const LogPosition& position);
std::optional<LogPosition> read_watermark(ByteView bytes, std::uint64_t directory);

class Watermark {
 public:
  // Makes the file if there is none, as in a directory of an earlier version.
  static Result<Watermark> open(const Directory& directory);

  const LogPosition& position() const { return position_; }
  // To the kernel's memory, and ten times a second on its way to the disk.
  Result<void> raise(const LogPosition& position);
  Result<void> sync();

 private:
  using Clock = std::chrono::steady_clock;
  static Result<void> make(const Directory& directory);

  File file_;
  std::uint64_t directory_ = 0;
  LogPosition position_;
  Clock::time_point sent_ = {};
};

}  // namespace conclave::storage
