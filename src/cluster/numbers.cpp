#include "cluster/numbers.hpp"

#include <utility>

namespace conclave::cluster {

std::uint64_t Numbers::give(std::uint64_t value, Payload bytes) {
  open_.push_back({++last_, value, std::move(bytes)});
  return last_;
}

// Commands of one server stand in the log in their order: what is still open below this one never will.
Numbers::Whose Numbers::whose(const log::Entry& entry) {
  if (entry.serial <= first_) return Whose::earlier;
  close(entry.serial - 1);
  if (open_.empty() || open_.front().serial != entry.serial) return Whose::nobodys;
  const Open open = std::move(open_.front());
  open_.pop_front();
  return open.value == entry.value && open.bytes == entry.bytes ? Whose::ours : Whose::nobodys;
}

void Numbers::close(std::uint64_t serial) {
  while (!open_.empty() && open_.front().serial <= serial) open_.pop_front();
}

}  // namespace conclave::cluster
