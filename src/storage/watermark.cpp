#include "storage/watermark.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "storage/crc32c.hpp"

namespace conclave::storage {
namespace {

constexpr std::string_view magic = "cnclvmrk";
constexpr std::size_t said_bytes = 32;  // then comes their sum
constexpr std::chrono::milliseconds send_every{100};

using Page = std::array<std::byte, watermark_bytes>;

}  // namespace

void write_watermark(std::byte* at, std::uint64_t directory, const LogPosition& position) {
  std::memcpy(at, magic.data(), magic.size());
  write_number(at + 8, directory);
  write_number(at + 16, position.segment);
  write_number(at + 24, position.end);
  write_number(at + said_bytes, crc32c({at, said_bytes}));
}

std::optional<LogPosition> read_watermark(ByteView bytes, std::uint64_t directory) {
  if (bytes.size() != watermark_bytes) return std::nullopt;
  const std::byte* const at = bytes.data();
  if (std::memcmp(at, magic.data(), magic.size()) != 0 || read_number<std::uint64_t>(at + 8) != directory ||
      read_number<std::uint32_t>(at + said_bytes) != crc32c({at, said_bytes}))
    return std::nullopt;
  return LogPosition{.segment = read_number<std::uint64_t>(at + 16),
                     .end = read_number<std::uint64_t>(at + 24)};
}

// Under another name until it is whole, so that a crash leaves none or one that can be read.
Result<void> Watermark::make(const Directory& directory) {
  const std::string draft = std::string(watermark_file) + ".new";
  auto file = directory.open_file(draft, O_RDWR | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  Page page = {};
  write_watermark(page.data(), directory.id(), {});
  if (auto done = file->write_at(0, page); !done) return done;
  if (auto done = file->sync(); !done) return done;
  return directory.rename(draft, watermark_file);
}

Result<Watermark> Watermark::open(const Directory& directory) {
  const auto found = directory.names_with(watermark_file);
  if (!found) return std::unexpected(found.error());
  if (std::ranges::find(*found, watermark_file) == found->end())
    if (auto made = make(directory); !made) return std::unexpected(made.error());
  auto file = directory.open_file(watermark_file, O_RDWR);
  if (!file) return std::unexpected(file.error());
  const auto size = file->size();
  if (!size) return std::unexpected(size.error());
  Page page = {};
  if (const auto got = file->read_at(0, page); !got) return std::unexpected(got.error());
  const auto position = read_watermark(ByteView(page).first(std::min(*size, page.size())), directory.id());
  if (!position || *size != watermark_bytes)
    return std::unexpected(Failure{
        .kind = FailureKind::damaged,
        .text =
            fmt::format("{} is damaged at byte {}: it does not say up to where the log was durable. Remove "
                        "it to start with what the log itself proves, or remove {} and let the member "
                        "join anew",
                        file->path(), *size == watermark_bytes ? 0 : *size, directory.path())});
  Watermark watermark;
  watermark.file_ = std::move(*file);
  watermark.directory_ = directory.id();
  watermark.position_ = *position;
  return watermark;
}

Result<void> Watermark::raise(const LogPosition& position) {
  std::array<std::byte, said_bytes + 4> bytes;
  write_watermark(bytes.data(), directory_, position);
  if (auto done = file_.write_at(0, bytes); !done) return done;
  position_ = position;
  const auto now = Clock::now();
  if (now - sent_ < send_every) return {};
  sent_ = now;
  file_.send();
  return {};
}

Result<void> Watermark::sync() { return file_.sync(); }

}  // namespace conclave::storage
