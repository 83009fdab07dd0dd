#include "protocols/election/all_to_all.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/election/rows.hpp"
#include "catalogue/election/setups.hpp"
#include "catalogue/election/staged.hpp"
#include "protocols/election/judge.hpp"

namespace conclave::catalogue {
namespace {

using election::AllToAll;

void usual(sim::Options& options) { options.entries = 1; }

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t) {
  const Entry& entry = *find("all-to-all");
  const double n = nodes;
  const NodeSet members = entry.members(nodes);
  return {{"messages, the greatest starts",
           messages_of(entry, {.members = members, .starters = {members.max()}}), exactly(n * (n - 1))},
          {"messages, the least starts",
           messages_of(entry, {.members = members, .starters = {members.min()}}), exactly(n * (n - 1))},
          {"messages, all start",
           messages_of(entry, {.members = members, .starters = {members.begin(), members.end()}}),
           exactly(n * (n - 1))}};
}

}  // namespace

Entry all_to_all() {
  Entry entry = {.name = "all-to-all",
                 .family = "election",
                 .title = "All-to-all election",
                 .paper = "folklore",
                 .year = 1977,
                 .source = "src/protocols/election/all_to_all.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "N(N-1) messages",
                 .properties = {"E1", "E2", "agreement", "stability"},
                 .remark = "one crash and everybody waits for ever",
                 .variants = {{"canonical", "everybody tells everybody"}},
                 .most_nodes = 2000,
                 .monitor = election_monitor,
                 .usual = usual,
                 .measure = measure};
  bind<AllToAll, all_to_all_setup<AllToAll::Setup>>(entry);
  bind_election<AllToAll, all_to_all_setup<AllToAll::Setup>>(entry);
  bind_check<AllToAll, election::Judge, all_to_all_setup<AllToAll::Setup>>(entry);
  bind_live<AllToAll, all_to_all_setup<AllToAll::Setup>>(entry);
  return entry;
}

}  // namespace conclave::catalogue
