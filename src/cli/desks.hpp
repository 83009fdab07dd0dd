// Front desks of running members, asked by verbs for operators.
#pragma once
#include <proto/conclave.pb.h>

#include <expected>
#include <string>
#include <vector>

#include "cli/servers.hpp"

namespace conclave::cli {

struct Asked {
  std::string endpoint;
  std::expected<conclavepb::StatusResponse, std::string> status;
};
// All of them at once; an endpoint that is silent for some seconds has not answered.
std::vector<Asked> ask_status(const ServerFlags& servers);

std::expected<conclavepb::EvictResponse, std::string> ask_evict(const ServerFlags& servers,
                                                                const std::string& endpoint,
                                                                const conclavepb::EvictRequest& request);

// 61,000 ms as "1 min".
std::string time_span(std::int64_t milliseconds);

}  // namespace conclave::cli
