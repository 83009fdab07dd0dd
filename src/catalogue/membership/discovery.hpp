// Discovery between real processes, by the registry protocol that the simulator runs.
#pragma once
#include <expected>

#include "live/discovery.hpp"

namespace conclave::catalogue {

std::expected<std::unique_ptr<live::Discovery>, std::string> start_discovery(
    boost::asio::io_context& loop, const live::DiscoveryOptions& options, live::DiscoveryEvents events,
    live::Log log);

// A registry for any number of groups. Works while the loop runs and this lives.
class LiveRegistry {
 public:
  virtual ~LiveRegistry() = default;
  virtual live::Address address() const = 0;
};
std::expected<std::unique_ptr<LiveRegistry>, std::string> serve_registry(boost::asio::io_context& loop,
                                                                         const live::Address& listen,
                                                                         const std::string& key,
                                                                         live::Log log);

}  // namespace conclave::catalogue
