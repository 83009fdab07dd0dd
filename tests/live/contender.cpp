// One of many that want a lock: enters so many times, and each time writes its fence into a file that all
// share. While it is inside, a second file exists; whoever finds it there already has caught two inside.
//
//   contender ENDPOINTS NAME ENTRIES FOLDER [TTL]
//
// Prints how often it entered. It leaves early once FOLDER/enough exists. Exit status 3: two were inside. 4:
// it never got in. The fences file is for whoever started it: they must grow from line to line.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <conclave/client.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

int number(const char* text) {
  int value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

// What the lock protects. False: somebody else is there.
bool critical_section(const std::string& folder, const conclave::Mutex& mutex) {
  const std::string inside = folder + "/inside";
  const int marker = open(inside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (marker < 0) return false;
  close(marker);
  const std::string line = std::to_string(mutex.fence()) + "\n";
  const int file = open((folder + "/fences").c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (file >= 0) close(file);
  unlink(inside.c_str());
  return written;
}

bool enough(const std::string& folder) { return access((folder + "/enough").c_str(), F_OK) == 0; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int wanted = number(argv[3]);
  const std::string folder = argv[4];
  const int ttl = argc > 5 ? number(argv[5]) : 10;
  auto client = conclave::connect({.endpoints = split(argv[1])});
  if (!client) return 2;
  int entered = 0;
  for (int failures = 0; entered < wanted && failures < 100 && !enough(folder);) {
    // A new one for each entry after a failure: the lease of the old one may be gone.
    conclave::Mutex mutex(*client, argv[2], {.ttl = std::chrono::seconds(ttl)});
    for (; entered < wanted && !enough(folder); ++entered) {
      const auto fence = mutex.acquire_for(30s);
      if (!fence) {
        std::fprintf(stderr, "contender: %s\n", fence.error().message.c_str());
        ++failures;
        std::this_thread::sleep_for(50ms);
        break;
      }
      if (!critical_section(folder, mutex)) {
        std::fprintf(stderr, "contender: somebody else is inside, at fence %lld\n",
                     static_cast<long long>(*fence));
        return 3;
      }
      if (!mutex.release()) break;
    }
  }
  std::printf("%d\n", entered);
  return entered > 0 ? 0 : 4;
}
