// A log for tests: records are numbers with some bytes behind them, in a folder that goes away.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cli/temporary_folder.hpp"
#include "storage/segmented_log.hpp"

namespace conclave::storage {

// Record number n of a length that depends on n.
inline std::vector<std::byte> numbered(std::uint64_t number, std::size_t extra) {
  std::vector<std::byte> bytes(sizeof number + extra);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number * 31 + i);
  std::copy_n(bytes_of(number).begin(), sizeof number, bytes.begin());
  return bytes;
}

inline ByteView view_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// What opening a log handed out.
struct Replay {
  std::vector<std::uint64_t> numbers = {};
  std::vector<std::string> preambles = {};

  void operator()(const Replayed& record) {
    if (record.is_preamble)
      return void(
          preambles.emplace_back(reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()));
    const auto number = read_number<std::uint64_t>(record.bytes.data());
    EXPECT_EQ(record.tag, number);
    EXPECT_TRUE(std::ranges::equal(record.bytes, numbered(number, record.bytes.size() - sizeof number)))
        << number;
    numbers.push_back(number);
  }
};

inline constexpr LogOptions small = {
    .segment_bytes = 16 * 1024, .first_segment_bytes = 8 * 1024, .most_spares = 2};

// Numbers from one to the other.
inline std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> numbers;
  for (; from <= to; ++from) numbers.push_back(from);
  return numbers;
}

// A directory and a log in it, opened and closed at will.
struct Journal {
  cli::TemporaryFolder folder = {};
  DirectoryOptions directory_options = {.reserve_bytes = 0};
  LogOptions options = small;
  std::unique_ptr<Directory> directory = {};
  std::unique_ptr<SegmentedLog> log = {};
  Replay replay = {};

  std::string path() const { return folder.file("data"); }
  std::string file(const std::string& name) const { return path() + "/" + name; }

  Result<void> open() {
    close();
    replay = {};
    auto opened = Directory::open(path(), directory_options);
    if (!opened) return std::unexpected(opened.error());
    directory = std::move(*opened);
    auto made = SegmentedLog::open(*directory, options, [&](const Replayed& record) { replay(record); });
    if (!made) return std::unexpected(made.error());
    log = std::move(*made);
    return {};
  }
  void close() {  // without a seal, like a crash after the last fdatasync
    log.reset();
    directory.reset();
  }
  void append(std::uint64_t number, std::size_t extra) {
    const auto bytes = numbered(number, extra);
    const ByteView all = bytes;
    log->append({all.first(3), {}, all.subspan(3)}, number);
  }
  Result<void> write(std::uint64_t number, std::size_t extra = 100) {
    append(number, extra);
    return log->sync();
  }
};

}  // namespace conclave::storage
