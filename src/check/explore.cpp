#include "check/explore.hpp"

#include "check/network.hpp"
#include "check/search.hpp"
#include "check/starvation.hpp"

namespace conclave::check {
namespace {

std::vector<std::uint32_t> openers(const Locals& locals, const Options& options) {
  std::vector<std::uint32_t> indices;
  for (NodeId node : options.opening) {
    std::uint32_t i = 0;
    while (i < locals.size() && locals.name(i) != node) ++i;
    ensure(i < locals.size(), "only members open");
    indices.push_back(i);
  }
  return indices;
}

Network::Rules rules_for(const Locals& locals, const Traits& traits, const Options& options) {
  const Assumptions& assumes = traits.assumes;
  return {.fifo = options.fifo.value_or(assumes.links == Links::reliable_fifo),
          .timed = assumes.timing == Timing::synchronous && !traits.in_rounds,
          .in_rounds = traits.in_rounds,
          .lossy = assumes.links == Links::lossy,
          .comes_back = options.budget.recoveries > 0,
          .budget = options.budget,
          .symmetry = !locals.permutations().empty(),
          .most_rounds = 2 * locals.size() + 2,
          .opening = openers(locals, options)};
}

}  // namespace

Report explore_with(const std::function<std::unique_ptr<Locals>(bool symmetry)>& make, const Traits& traits,
                    const Options& options) {
  const auto look = [&](Options how) {
    // What is cut off is a set of names too.
    const auto locals = make(how.symmetry && how.budget.partitions == 0);
    Network network(*locals, rules_for(*locals, traits, how));
    const bool symmetry = !locals->permutations().empty();
    if (symmetry) how.partial_order = false;  // labels are names too
    Report report = search(network, how);
    report.symmetry = symmetry;
    report.partial_order = how.partial_order;
    return report;
  };
  Report report = look(options);
  if (report.symmetry && !report.findings.empty()) {
    // The way that was found jumps between states that are alike but for names; one without jumps is as
    // short.
    Options plain = options;
    plain.symmetry = false;
    report.findings = look(plain).findings;
  }
  if (options.starvation && report.findings.empty() && report.complete) {
    const auto locals = make(false);
    Network network(*locals, rules_for(*locals, traits, options));
    add_starvation(network, options, report);
  }
  report.properties = options.properties;
  return report;
}

}  // namespace conclave::check
