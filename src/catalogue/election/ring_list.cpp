#include "protocols/election/ring_list.hpp"

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

using election::RingList;

void usual(sim::Options& options) { options.entries = 1; }

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t) {
  const Entry& entry = *find("ring-list");
  const double n = nodes;
  const NodeSet members = entry.members(nodes);
  const std::vector<NodeId> all(members.begin(), members.end());
  std::vector<Measurement> figures = {
      {"messages, the greatest starts", messages_of(entry, {.members = members, .starters = {members.max()}}),
       exactly(2 * n)},
      {"messages, the least starts", messages_of(entry, {.members = members, .starters = {members.min()}}),
       exactly(2 * n)}};
  if (nodes > 1) {
    const Staged without_greatest = {
        .members = members, .dead = {members.max()}, .starters = {members.min()}};
    figures.push_back({"messages, the greatest is down", messages_of(entry, without_greatest),
                       exactly(nodes == 2 ? 0 : 2 * (n - 1))});
    figures.push_back({"attempts, the greatest is down",
                       static_cast<double>(run_staged(entry, without_greatest).bounced), exactly(2)});
    figures.push_back(
        {"messages, told directly",
         messages_of(entry,
                     {.members = members, .starters = {members.min()}, .variant = "direct-announcement"}),
         exactly(2 * n - 1)});
  }
  if (nodes <= 200)  // the lists of all together have N³ ids
    figures.push_back({"messages, all start", messages_of(entry, {.members = members, .starters = all}),
                       exactly(2 * n * n)});
  return figures;
}

}  // namespace

Entry ring_list() {
  Entry entry = {
      .name = "ring-list",
      .family = "election",
      .title = "Ring election with a list of members",
      .paper = "Tanenbaum and van Steen, Distributed Systems; after Le Lann, IFIP 1977",
      .year = 1977,
      .source = "src/protocols/election/ring_list.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "2n messages per starter, n live processes; one attempt per dead process and lap",
      .properties = {"E1", "E2", "agreement"},
      .remark = "stability: late news of an election that a dead process won can unseat the next leader",
      .variants = {{"canonical", "who finds its own id in the list closes the election"},
                   {"direct-announcement",
                    "who closes the election tells every member itself: 2n-1 messages"},
                   {"starter-closes",
                    "nobody but the starter closes the election: E2 is lost when it dies, the list goes "
                    "round for ever",
                    true}},
      .parameters = {{"hop", "ticks within which a process passes a message on, attempts included", "60", 1,
                      1'000'000}},
      .most_nodes = 10'000,
      .monitor = election_monitor,
      .usual = usual,
      .measure = measure};
  bind<RingList, ring_list_setup<RingList::Setup>>(entry);
  bind_election<RingList, ring_list_setup<RingList::Setup>>(entry);
  bind_check<RingList, election::Judge, ring_list_setup<RingList::Setup>>(entry);
  bind_live<RingList, ring_list_setup<RingList::Setup>>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.unit = {20};  // there, back from who is down, and on to the next: a hop
    o.entries = 0;
    o.entries_of = {{NodeId{1}, 1}};
    o.budget.crashes = 1;
    o.starvation = true;  // a list that nobody takes off the ring goes round for ever
  };
  return entry;
}

}  // namespace conclave::catalogue
