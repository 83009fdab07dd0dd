#include "catalogue/election/live.hpp"

#include "live/election_run.hpp"
#include "protocols/election/bully.hpp"

namespace conclave::catalogue {
namespace {

using election::Bully;

class Running final : public LiveElection {
 public:
  using Run = live::ElectionRun<Bully>;
  Running(boost::asio::io_context& loop, LiveElectionOptions options, Run::Leader leader, live::Log log)
      : run(loop, std::move(options.links), setup_of(options), options.came_back, std::move(leader),
            std::move(log)) {}
  std::optional<NodeId> leader() const override { return run.leader(); }

  Run run;

 private:
  static Bully::Setup setup_of(const LiveElectionOptions& options) {
    const auto ticks = [](std::chrono::milliseconds time) {
      return Ticks{static_cast<std::uint64_t>(time / live::usual_tick)};
    };
    return {.policy = {.bounds = {.transmission = ticks(options.transmission),
                                  .processing = ticks(options.processing)}}};
  }
};

}  // namespace

std::expected<std::unique_ptr<LiveElection>, std::string> hold_election(
    boost::asio::io_context& loop, LiveElectionOptions options,
    std::function<void(std::optional<NodeId>)> leader, live::Log log) {
  options.links.algorithm = "bully";
  auto running = std::make_unique<Running>(loop, std::move(options), std::move(leader), std::move(log));
  if (auto opened = running->run.open(); !opened) return std::unexpected(std::move(opened.error()));
  return running;
}

}  // namespace conclave::catalogue
