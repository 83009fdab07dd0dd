// A member's store, streamed into a file.
#pragma once
#include <expected>
#include <string>

#include "cli/servers.hpp"
#include "etcd/backup.hpp"

namespace conclave::cli {

// The file is durable and whole when it appears; shows progress on a terminal. What went wrong names the
// endpoint or the file.
std::expected<etcd::BackupFile, std::string> download_snapshot(const ServerFlags& servers,
                                                               const std::string& endpoint,
                                                               const std::string& path);

}  // namespace conclave::cli
