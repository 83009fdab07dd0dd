// Election algorithms run as vectors ask for it: on a stage, message by message, or in virtual time.
#pragma once
#include "accept/election_story.hpp"
#include "accept/vectors.hpp"
#include "catalogue/entry.hpp"

namespace conclave::accept::election {

// One run: of which algorithm, among whom.
struct Company {
  const catalogue::Entry* entry = nullptr;
  catalogue::Setting setting = {};
  NodeSet dead = {};
};

// Members, ring, coordinator, time bounds and the dead, from a vector's configuration.
Company company_of(const catalogue::Entry& entry, const std::string& variant, const Json& config);

// All of `starters` start before any delivery; then everything is delivered in sending order.
Json play_starters(const Vector& vector, const Company& company, const std::vector<NodeId>& starters);
// The actions of `script` in order.
Json play_script(const Vector& vector, const Company& company, const Json& script);
// Virtual time, with the events of `inputs`.
Json play_timed(const Vector& vector, const Company& company, const Json& config, const Json& inputs);

}  // namespace conclave::accept::election
