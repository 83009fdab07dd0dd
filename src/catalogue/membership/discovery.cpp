#include "catalogue/membership/discovery.hpp"

#include "live/discovery_run.hpp"
#include "protocols/membership/registry.hpp"

namespace conclave::catalogue {

using membership::Registry;

std::expected<std::unique_ptr<live::Discovery>, std::string> start_discovery(
    boost::asio::io_context& loop, const live::DiscoveryOptions& options, live::DiscoveryEvents events,
    live::Log log) {
  if (std::string wrong = live::wrong_with(options); !wrong.empty()) return std::unexpected(std::move(wrong));
  auto run = std::make_unique<live::DiscoveryRun<Registry>>(loop, options, std::move(events), std::move(log));
  if (auto opened = run->open(); !opened) return std::unexpected(std::move(opened.error()));
  return run;
}

namespace {

class Serving final : public LiveRegistry {
 public:
  Serving(boost::asio::io_context& loop, const std::string& key, live::Log log)
      : run(loop, key, live::DiscoveryOptions{}.forget, std::move(log)) {}
  live::Address address() const override { return {run.local().address().to_string(), run.local().port()}; }
  live::RegistryRun<Registry> run;
};

}  // namespace

std::expected<std::unique_ptr<LiveRegistry>, std::string> serve_registry(boost::asio::io_context& loop,
                                                                         const live::Address& listen,
                                                                         const std::string& key,
                                                                         live::Log log) {
  auto serving = std::make_unique<Serving>(loop, key, std::move(log));
  if (auto opened = serving->run.open(listen); !opened) return std::unexpected(std::move(opened.error()));
  return serving;
}

}  // namespace conclave::catalogue
