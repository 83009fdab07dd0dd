// Writes numbered records to a log until it is killed. Whatever is durable goes to standard output as a
// number of eight bytes, after it is.
//
//   storage_writer DIRECTORY inline|flusher
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "storage/flusher.hpp"

namespace {

using namespace conclave::storage;

constexpr LogOptions options = {.segment_bytes = 256 * 1024, .first_segment_bytes = 64 * 1024};

int complain(const Failure& failure) {
  std::fprintf(stderr, "%s\n", failure.text.c_str());
  return 1;
}

void tell(std::uint64_t durable) {
  if (::write(STDOUT_FILENO, &durable, sizeof durable) != sizeof durable) ::_exit(1);
}

// Record n is n, then up to two pages that depend on it.
std::vector<std::byte> record(std::uint64_t number) {
  std::vector<std::byte> bytes(8 + number * 7919 % 8192, static_cast<std::byte>(number));
  write_number(bytes.data(), number);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool inline_sync = std::string_view(argv[2]) == "inline";
  auto directory = Directory::open(argv[1], {.reserve_bytes = 0});
  if (!directory) return complain(directory.error());
  std::uint64_t last = 0;
  auto log = SegmentedLog::open(**directory, options, [&](const Replayed& replayed) { last = replayed.tag; });
  if (!log) return complain(log.error());
  tell(last);

  if (inline_sync) {
    for (std::uint64_t number = last + 1;; ++number) {
      (*log)->append({record(number)}, number);
      if (number % 3 != 0) continue;
      if (auto done = (*log)->sync(); !done) return complain(done.error());
      tell(number);
      if (number % 300 == 0) (*log)->release(number - 200);
    }
  }
  std::atomic<std::uint64_t> durable = 0;
  Flusher flusher(std::move(*log), {},
                  {.durable =
                       [&](std::uint64_t upto) {
                         durable = upto;
                         tell(last + upto);
                       },
                   .failed = [](const Failure& failure) { ::_exit(complain(failure)); }});
  for (std::uint64_t number = last + 1;; ++number) {
    flusher.append({record(number)}, number);
    const std::uint64_t ticket = flusher.submit();
    while (ticket > durable + 50) ::usleep(20);
    if (number % 300 == 0) flusher.release(number - 200);
  }
}
