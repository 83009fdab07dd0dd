// Acceptance vectors family by family: each runs those whose algorithm it knows, and says nothing of others.
#pragma once
#include <optional>

#include "accept/vectors.hpp"

namespace conclave::catalogue {
struct Entry;
}

namespace conclave::accept {

// Those of kind `explore`, whatever their algorithm.
std::optional<Result> run_explore(const Vector& vector);
// The row that a vector of mutual exclusion means; none if it is about something else.
const catalogue::Entry* mutex_entry(const Vector& vector);
std::optional<Result> run_mutex(const Vector& vector);
std::optional<Result> run_election(const Vector& vector);
std::optional<Result> run_consensus(const Vector& vector);
std::optional<Result> run_raft(const Vector& vector);
std::optional<Result> run_timesync(const Vector& vector);
std::optional<Result> run_registers(const Vector& vector);
std::optional<Result> run_overlay(const Vector& vector);
std::optional<Result> run_causality(const Vector& vector);
std::optional<Result> run_limits(const Vector& vector);

}  // namespace conclave::accept
