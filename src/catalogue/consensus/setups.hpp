// Parameters of the synchronous algorithms, made from what a run sets or drawn from its seed. Templates over
// the type of the parameters, so that broken twins of an algorithm are set up as it is.
#pragma once
#include "catalogue/entry.hpp"
#include "protocols/consensus/ballot_box.hpp"
#include "protocols/consensus/treason.hpp"

namespace conclave::catalogue {

// As set, or the usual one.
std::int64_t number_set(const Setting& setting, const char* parameter, std::int64_t usual);
std::string text_set(const Setting& setting, const char* parameter, const char* usual);

// What each member proposes: few different values, so that there are majorities and ties.
consensus::Votes proposals(const Setting& setting);

// The setting's graph, or the one that the parameter "graph" names; none if it is complete.
std::shared_ptr<const Graph> consensus_graph(const Setting& setting);
std::optional<std::string> refuse_graph(const sim::Options& options, const Setting& setting);

// Who is the source, who betrays it, and how.
consensus::Treason treason(const Setting& setting);
// The same by word of mouth, where fewer than a third are traitors unless the variant wants one more.
consensus::Treason oral_treason(const Setting& setting);
std::optional<std::string> refuse_treason(const sim::Options& options, const Setting& setting);

template <class Setup>
Setup sync_flooding_setup(const Setting& setting) {
  Setup setup = {.values = proposals(setting),
                 .graph = consensus_graph(setting),
                 .default_value = number_set(setting, "default", 0)};
  using Relay = decltype(setup.relay);
  if (setting.variant == "no-relay") setup.relay = Relay::never;
  if (setting.variant == "always-relay") setup.relay = Relay::always;
  return setup;
}

template <class Setup>
Setup sync_crash_tolerant_setup(const Setting& setting) {
  const std::int64_t f = number_set(setting, "f", 1);
  const std::int64_t rounds = number_set(setting, "rounds", setting.variant == "too-few-rounds" ? f : f + 1);
  return {.values = proposals(setting),
          .graph = setting.graph,
          .default_value = number_set(setting, "default", 0),
          .rounds = static_cast<std::uint32_t>(rounds)};
}

template <class Setup>
Setup byzantine_signed_setup(const Setting& setting) {
  const consensus::Treason betrayal = treason(setting);
  return {.source = betrayal.source,
          .value = proposals(setting)[betrayal.source],
          .default_value = number_set(setting, "default", 0),
          .rounds = betrayal.rounds,
          .in_writing = betrayal.in_writing,
          .keys = betrayal.keys,
          .treason = betrayal};
}

template <class Setup>
Setup byzantine_oral_setup(const Setting& setting) {
  const consensus::Treason betrayal = oral_treason(setting);
  return {.source = betrayal.source,
          .value = proposals(setting)[betrayal.source],
          .default_value = number_set(setting, "default", 0),
          .rounds = betrayal.rounds,
          .treason = betrayal};
}

}  // namespace conclave::catalogue
