#include "rpc/machine.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

namespace conclave::rpc {

namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

// For the disk, 64 peers there and back, strangers at their door, and what any process has.
constexpr std::size_t reserved_descriptors = 256;

// More is for who knows that it is needed: a store has better use for memory.
constexpr std::size_t most_for_clients = std::size_t{256} << 20;
constexpr std::size_t least_for_clients = std::size_t{32} << 20;

std::size_t limit_of(int resource) {
  rlimit limit = {};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return unlimited;
  return static_cast<std::size_t>(limit.rlim_cur);
}

// A file with one number; "max" and what is not there say that there is no limit.
std::size_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::size_t number = 0;
  return file >> number ? number : unlimited;
}

// A group has no more than those that it is in.
std::size_t least_of_groups(const std::string& hierarchy, std::string group, const std::string& name) {
  std::size_t least = unlimited;
  while (true) {
    least = std::min(least, number_in(hierarchy + group + "/" + name));
    const std::size_t slash = group.rfind('/');
    if (slash == std::string::npos) return least;
    group.resize(slash);
  }
}

// Lines of "number:controllers:path"; the second version of control groups has no controllers there.
std::size_t control_group_memory(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::size_t least = unlimited;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    const std::string mounted = root + "/sys/fs/cgroup";
    if (controllers == ",,")
      least = std::min(least, least_of_groups(mounted, group, "memory.max"));
    else if (controllers.contains(",memory,"))
      least = std::min(least, least_of_groups(mounted + "/memory", group, "memory.limit_in_bytes"));
  }
  return least;
}

}  // namespace

std::size_t raise_descriptors() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit_of(RLIMIT_NOFILE);
}

std::size_t descriptors_for_clients(std::size_t descriptors) {
  return std::max<std::size_t>(1, descriptors - std::min(reserved_descriptors, descriptors / 2));
}

std::size_t machine_memory(const std::string& root) {
  const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return std::min({pages * page, control_group_memory(root), limit_of(RLIMIT_AS)});
}

std::size_t memory_for_clients(std::size_t machine_memory) {
  return std::clamp(machine_memory / 4, least_for_clients, most_for_clients);
}

ServerLimits limits_here(std::size_t client_memory) {
  ServerLimits limits;
  limits.connections = std::min(limits.connections, descriptors_for_clients(raise_descriptors()));
  limits.memory_bytes = client_memory > 0 ? client_memory : memory_for_clients(machine_memory());
  return limits;
}

}  // namespace conclave::rpc
