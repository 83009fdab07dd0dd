// ns-3's bare event scheduler as the event loop: one Simulator::Schedule per message, nothing of its
// network model.
#pragma once
#include <string_view>
#include <vector>

#include "workload.hpp"

namespace conclave::bench {

#ifdef CONCLAVE_HAS_NS3
inline constexpr bool has_ns3 = true;
// Those that finish this workload in reasonable time; the first is ns-3's default.
std::vector<std::string_view> ns3_schedulers(const Workload& workload);
Outcome run_ns3(const Workload& workload, std::string_view scheduler);
#else
inline constexpr bool has_ns3 = false;
inline std::vector<std::string_view> ns3_schedulers(const Workload&) { return {}; }
inline Outcome run_ns3(const Workload&, std::string_view) { return {}; }
#endif

}  // namespace conclave::bench
