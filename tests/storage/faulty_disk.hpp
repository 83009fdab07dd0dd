// A disk that fails on command: this program's own calls of the system stand before those of the library.
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
// The nth such call from now, by any thread, and the next `times` - 1 fail with this error.
enum class Call { open, read, write, rename, remove };
void fail(Call call, int nth, int times, int error);
// Every other call of each thread is interrupted before it does anything. Reads and writes take a half of
// what they were given.
void interrupt();
void shorten();
std::uint64_t struck();  // calls that were failed, interrupted or shortened since `heal`
void heal();

std::uint64_t syncs();  // so far, by all threads

}  // namespace conclave::storage::faulty
