// The verbs of the program. Each adds itself to the command line and sets what to run.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include "catalogue/entry.hpp"

namespace conclave::cli {

using Action = std::function<int()>;

void add_catalogue(CLI::App& app, Action& action);
void add_sim(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_accept(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_scenario(CLI::App& app, Action& action);
void add_live(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_bench_raft(CLI::App& bench, Action& action);      // one of its measurements
void add_bench_failover(CLI::App& bench, Action& action);  // another
void add_bench_etcd(CLI::App& bench, Action& action);      // and another
void add_serve(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);
void add_history(CLI::App& app, Action& action);
void add_evict(CLI::App& app, Action& action);
void add_member(CLI::App& app, Action& action);
void add_transfer(CLI::App& app, Action& action);
void add_snapshot(CLI::App& app, Action& action);
// `command` is what stands after "--" on the command line.
void add_lock(CLI::App& app, Action& action, const std::vector<std::string>& command);
void add_elect(CLI::App& app, Action& action, const std::vector<std::string>& command);
void add_leader(CLI::App& app, Action& action);
void add_discover(CLI::App& app, Action& action);
void add_registry(CLI::App& app, Action& action);
void add_time(CLI::App& app, Action& action);
void add_tour(CLI::App& app, Action& action);
// A verb of the verb `trace`.
void add_trace_merge(CLI::App& trace, Action& action);

// The entry of that name, or a complaint that names what looks like it.
const catalogue::Entry* entry_or_complain(const std::string& name);

}  // namespace conclave::cli
