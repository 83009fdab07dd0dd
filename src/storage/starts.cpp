#include "storage/starts.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "storage/crc32c.hpp"

namespace conclave::storage {
namespace {

constexpr std::size_t most_bytes = 4096;

std::string text_of(std::uint64_t directory, std::uint64_t start) {
  const std::string body =
      fmt::format("conclave starts, format 1\ndirectory {:016x}\nstart {}\n", directory, start);
  return body + fmt::format("crc32c {:08x}\n", crc32c(std::as_bytes(std::span(body))));
}

Result<std::string> read_all(const Directory& directory) {
  auto file = directory.open_file(starts_file, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  std::string text(most_bytes, '\0');
  const auto got = file->read_at(0, std::as_writable_bytes(std::span(text)));
  if (!got) return std::unexpected(got.error());
  text.resize(*got);
  return text;
}

// Under another name until it is whole, so that a crash leaves the former number or this one.
Result<void> write(const Directory& directory, std::uint64_t start) {
  const std::string draft = std::string(starts_file) + ".new";
  auto file = directory.open_file(draft, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  const std::string text = text_of(directory.id(), start);
  if (auto done = file->write_at(0, std::as_bytes(std::span(text))); !done) return done;
  if (auto done = file->sync(); !done) return done;
  return directory.rename(draft, starts_file);
}

}  // namespace

Result<std::uint64_t> last_start(const Directory& directory) {
  const auto names = directory.names_with(starts_file);
  if (!names) return std::unexpected(names.error());
  if (std::ranges::find(*names, starts_file) == names->end()) return 0;
  const auto text = read_all(directory);
  if (!text) return std::unexpected(text.error());
  unsigned long long start = 0;
  (void)std::sscanf(text->c_str(), "conclave starts, format 1\ndirectory %*x\nstart %llu\n", &start);
  if (start == 0 || *text != text_of(directory.id(), start))
    return std::unexpected(Failure{
        .kind = FailureKind::damaged,
        .text = fmt::format("{} is damaged: it does not say how often a process began here. Remove it to "
                            "begin above all that the log shows, or remove {} and let the member join anew",
                            directory.file(starts_file), directory.path())});
  return start;
}

Result<std::uint64_t> begin_start(const Directory& directory, std::uint64_t least) {
  const auto last = last_start(directory);
  if (!last) return last;
  const std::uint64_t start = std::max(*last + 1, least);
  if (auto done = write(directory, start); !done) return std::unexpected(done.error());
  return start;
}

}  // namespace conclave::storage
