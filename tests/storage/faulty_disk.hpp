// A disk that fails on command: this program's own fdatasync, fsync and pwritev stand before those of the
// library.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace conclave::storage::faulty {

// The power is cut while a write of this thread is under way.
struct Crash {};

// The nth fdatasync or fsync from now, by any thread, fails with this error; so do all later ones.
void fail_sync(int nth, int error);
// The nth write from now, by this thread, leaves only those of its sectors that `arrives` says, and ends in a
// Crash. Sectors have 512 bytes; each holds its old bytes or its new ones.
void crash_in_write(int nth, std::function<bool()> arrives);
// From now on, no fdatasync or fsync of a file in this folder comes to an end until `heal`.
void stall(std::string folder);
bool stalls();  // somebody waits for one
void heal();

std::uint64_t syncs();  // so far, by all threads

}  // namespace conclave::storage::faulty
