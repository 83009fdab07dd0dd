// The bully election between real processes: the type that the simulator runs, over links.
#pragma once
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>

#include "live/links.hpp"

namespace conclave::catalogue {

struct LiveElectionOptions {
  live::LinkOptions links = {};
  bool came_back = false;
  std::chrono::milliseconds transmission = std::chrono::milliseconds(200);  // a message takes no longer
  std::chrono::milliseconds processing = std::chrono::milliseconds(100);    // nor does answering it
};

// Works while the loop runs and this lives.
class LiveElection {
 public:
  virtual ~LiveElection() = default;
  virtual std::optional<NodeId> leader() const = 0;
};

std::expected<std::unique_ptr<LiveElection>, std::string> hold_election(
    boost::asio::io_context& loop, LiveElectionOptions options,
    std::function<void(std::optional<NodeId>)> leader, live::Log log);

}  // namespace conclave::catalogue
