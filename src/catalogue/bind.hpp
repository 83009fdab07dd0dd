// Fills the functions of an entry for one protocol type.
#pragma once
#include "catalogue/entry.hpp"
#include "sim/stage_of.hpp"
#include "sim/world.hpp"

namespace conclave::catalogue {

// To be run by the simulator.
template <Protocol P, typename P::Setup (*setup)(const Setting&)>
void bind_world(Entry& entry) {
  entry.assumes = P::assumes;
  entry.members = &sim::members_for<P>;
  entry.simulate = [](const sim::Options& options, const Setting& setting, trace::Observer* observer) {
    auto world = std::make_unique<sim::World<P>>(options, setup(setting), observer);
    world->set_header(
        {.protocol = setting.protocol, .variant = setting.variant, .world = "sim", .seed = options.seed});
    return world->run();
  };
}

// And to be directed by hand.
template <Protocol P, typename P::Setup (*setup)(const Setting&)>
void bind(Entry& entry) {
  bind_world<P, setup>(entry);
  entry.stage = [](const Setting& setting, trace::Observer* observer) -> std::unique_ptr<sim::Stage> {
    return std::make_unique<sim::StageOf<P>>(setting.members, setup(setting), observer);
  };
}

}  // namespace conclave::catalogue
