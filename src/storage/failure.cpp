#include "storage/failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace conclave::storage {
namespace {

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

FailureKind kind_of(int error) {
  if (is_full(error)) return FailureKind::no_space;
  if (error == EMFILE || error == ENFILE) return FailureKind::no_descriptor;
  if (error == ENOMEM) return FailureKind::no_memory;
  return FailureKind::io;
}

std::string_view advice(int error) {
  if (is_full(error)) return "; free some space on that disk";
  if (error == EIO)
    return "; the disk or its controller has failed: look at the kernel's log before starting again";
  if (error == EACCES || error == EPERM || error == EROFS)
    return "; give this user the right to write there, or choose another directory";
  if (error == EMFILE || error == ENFILE)
    return "; raise the limit of open files (ulimit -n, LimitNOFILE=), or close some";
  if (error == ENOMEM) return "; the system is short of memory";
  return "";
}

}  // namespace

Failure system_failure(std::string_view action, const std::string& path, std::uint64_t offset, int error) {
  return {.kind = kind_of(error),
          .text = fmt::format("cannot {} {} at byte {}: {}{}", action, path, offset, std::strerror(error),
                              advice(error))};
}

Failure system_failure(std::string_view action, const std::string& path, int error) {
  return {.kind = kind_of(error),
          .text = fmt::format("cannot {} {}: {}{}", action, path, std::strerror(error), advice(error))};
}

Failure sync_failure(const std::string& path, int error) {
  Failure failure = system_failure("make durable", path, error);
  failure.kind = FailureKind::io;
  return failure;
}

}  // namespace conclave::storage
