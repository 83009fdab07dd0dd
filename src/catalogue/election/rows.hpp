// The rows of the election family, and what they share.
#pragma once
#include "catalogue/entry.hpp"

namespace conclave::catalogue {

Entry all_to_all();
Entry chang_roberts();
Entry ring_list();
Entry bully();
Entry bully_send_to_all();
Entry bully_delayed();
Entry bully_polite();
Entry invitation();
Entry proof_of_work();

// For algorithms that elect the greatest live process.
std::unique_ptr<trace::Monitor> election_monitor(const sim::Options& options, const Setting& setting);
// For algorithms that keep a working leader although a greater process is up.
std::unique_ptr<trace::Monitor> polite_election_monitor(const sim::Options& options, const Setting& setting);

}  // namespace conclave::catalogue
