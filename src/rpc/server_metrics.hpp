// What /metrics says of connections, calls and the memory of clients, whatever the server serves.
#pragma once
#include "rpc/metrics_page.hpp"
#include "rpc/server.hpp"

namespace conclave::rpc {

void tell(MetricsPage& page, const ServerStats& stats);

}  // namespace conclave::rpc
