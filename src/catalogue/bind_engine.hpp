// Fills the function of an entry that makes an engine of one protocol type.
#pragma once
#include "catalogue/entry.hpp"
#include "live/process_of.hpp"

namespace conclave::catalogue {

// What becomes of the others when a member dies.
namespace on_death {
inline constexpr std::string_view blocks =
    "whoever needs its answer waits, until it comes back or an operator evicts it";
inline constexpr std::string_view token_made_anew =
    "the others leave it out once its leases have ended, and make a new token of a greater epoch";
inline constexpr std::string_view coordinator_replaced =
    "the others leave it out once its leases have ended; the greatest of them is the new coordinator";
inline constexpr std::string_view elects_again = "the others leave it out of the ring and elect again";
inline constexpr std::string_view sees_to_it = "whoever misses it calls an election, as the algorithm has it";
}  // namespace on_death

template <Protocol P, typename P::Setup (*setup)(const Setting&)>
std::unique_ptr<live::Process> process_of(const Setting& setting, NodeId self, const NodeSet& members,
                                          live::Surroundings& around) {
  Setting among = setting;
  among.members = members;
  return std::make_unique<live::ProcessOf<P>>(self, members, setup(among), around);
}

// A lock, or an election by an algorithm that assumes that nobody fails: a failure begins a new epoch.
template <Protocol P, typename P::Setup (*setup)(const Setting&)>
live::Engine engine_in_epochs(const Setting& setting, bool elects, bool regenerates,
                              std::string_view on_death) {
  return {.name = setting.protocol,
          .variant = setting.variant,
          .elects = elects,
          .regenerates = regenerates,
          .restless = NeverRests<P>,
          .on_death = std::string(on_death),
          .process = [setting](NodeId self, const NodeSet& members, live::Surroundings& around) {
            return process_of<P, setup>(setting, self, members, around);
          }};
}

template <Protocol P, typename P::Setup (*setup)(const Setting&)>
void bind_lock(Entry& entry) {
  entry.engine = [](const Setting& setting) {
    return engine_in_epochs<P, setup>(setting, false, false, on_death::blocks);
  };
}
template <Protocol P, typename P::Setup (*setup)(const Setting&)>
void bind_token_lock(Entry& entry) {
  entry.engine = [](const Setting& setting) {
    return engine_in_epochs<P, setup>(setting, false, true, on_death::token_made_anew);
  };
}
template <Protocol P, typename P::Setup (*setup)(const Setting&)>
void bind_coordinated_lock(Entry& entry) {
  entry.engine = [](const Setting& setting) {
    return engine_in_epochs<P, setup>(setting, false, true, on_death::coordinator_replaced);
  };
}
template <Protocol P, typename P::Setup (*setup)(const Setting&)>
void bind_election(Entry& entry) {
  entry.engine = [](const Setting& setting) {
    return engine_in_epochs<P, setup>(setting, true, false, on_death::elects_again);
  };
}
// An election whose algorithm expects crashes.
template <Protocol P, typename P::Setup (*setup)(const Setting&)>
void bind_own_election(Entry& entry) {
  entry.engine = [](const Setting& setting) {
    live::Engine engine = engine_in_epochs<P, setup>(setting, true, false, on_death::sees_to_it);
    engine.in_epochs = false;
    return engine;
  };
}

}  // namespace conclave::catalogue
