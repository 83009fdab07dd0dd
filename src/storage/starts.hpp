// How often processes have begun with a directory, in a file of its own: a number that no two of them share,
// whatever clocks show and however alike their seeds are. docs/storage-format.md has the format.
//
//   auto start = storage::begin_start(directory, 1);
//
#pragma once
#include <cstdint>

#include "storage/directory.hpp"

namespace conclave::storage {

inline constexpr const char* starts_file = "STARTS";

// The number of the last start; 0: no process has said that it began, as in a directory of an earlier
// version.
Result<std::uint64_t> last_start(const Directory& directory);
// Begins the next one, and not before `least`. When this returns, its number is on the disk.
Result<std::uint64_t> begin_start(const Directory& directory, std::uint64_t least);

}  // namespace conclave::storage
