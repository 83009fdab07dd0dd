// How long the engine raft keeps history, in the words of etcd's flags.
#pragma once
#include <expected>
#include <string>

#include "etcd/compactor.hpp"

namespace conclave::cli {

// `mode`: periodic or revision; `retention`: "5m", "1h30m", a number of hours, or of revisions; 0: for ever.
// What is empty is as usual.
std::expected<etcd::CompactorOptions, std::string> retention_in(const std::string& mode,
                                                                const std::string& retention);

}  // namespace conclave::cli
