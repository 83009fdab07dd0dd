#include "live/register_tally.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace conclave::live {

std::string tally_of(const std::string& lock) { return lock + ".tally"; }

std::expected<std::unique_ptr<RegisterTally>, std::string> RegisterTally::open(const std::string& path) {
  const auto failed = [&] { return std::unexpected(path + ": " + std::strerror(errno)); };
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return failed();
  // Whoever comes first makes it so long; the system fills it with zeros.
  void* mapped = MAP_FAILED;
  if (::ftruncate(file, sizeof(Counts)) == 0)
    mapped = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  ::close(file);
  errno = error;
  if (mapped == MAP_FAILED) return failed();
  return std::unique_ptr<RegisterTally>(new RegisterTally(static_cast<Counts*>(mapped)));
}

RegisterTally::~RegisterTally() { ::munmap(counts_, sizeof(Counts)); }

void RegisterTally::count_entry(std::uint64_t fence) {
  if (counts_->inside.fetch_add(1) != 0) counts_->overlaps.fetch_add(1);
  const std::uint64_t before = counts_->entries;
  if (fence <= counts_->last_fence) ++counts_->stale_fences;
  counts_->last_fence = fence;
  if (before % 16 == 0) std::this_thread::yield();
  counts_->entries = before + 1;
  counts_->inside.fetch_sub(1);
}

bool wait_for_all(const RegisterTally& tally, std::size_t all,
                  std::chrono::steady_clock::time_point deadline) {
  while (tally.arrived() < all) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace conclave::live
