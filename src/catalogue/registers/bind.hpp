// Fills the functions of an entry for one program over shared registers.
#pragma once
#include "catalogue/entry.hpp"
#include "catalogue/registers/rows.hpp"
#include "check/registers.hpp"
#include "protocols/mutex/judge.hpp"
#include "sim/register_stage_of.hpp"
#include "sim/registers.hpp"

namespace conclave::catalogue {

template <Program P, typename P::Setup (*setup)(const Setting&)>
void bind_registers(Entry& entry) {
  entry.assumes = P::assumes;
  entry.members = [](std::uint32_t clients) { return NodeSet::range({1}, clients); };
  entry.simulate = [](const sim::Options& options, const Setting& setting, trace::Observer* observer) {
    auto world = std::make_unique<sim::RegisterWorld<P>>(options, setup(setting), registers_of(setting),
                                                         schedule_of(setting, options.nodes), observer);
    world->set_header(
        {.protocol = setting.protocol, .variant = setting.variant, .world = "sim", .seed = options.seed});
    return world->run();
  };
  entry.stage = [](const Setting& setting, trace::Observer* observer) -> std::unique_ptr<sim::Stage> {
    return std::make_unique<sim::RegisterStageOf<P>>(setting.members, setup(setting), registers_of(setting),
                                                     setting.seed, observer);
  };
}

template <Program P, typename P::Setup (*setup)(const Setting&)>
void bind_check_registers(Entry& entry) {
  entry.checkable = mutex::Judge::properties();
  entry.check = [](const check::Options& options, const Setting& setting) {
    const auto judge = mutex::Judge::start(setting.members, options.properties);
    return check::explore_program<P, mutex::Judge>(options, setting.members, setup(setting),
                                                   registers_of(setting), judge);
  };
}

}  // namespace conclave::catalogue
