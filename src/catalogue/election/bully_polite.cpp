#include "protocols/election/bully_polite.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/election/bully.hpp"
#include "catalogue/election/rows.hpp"
#include "protocols/election/judge.hpp"

namespace conclave::catalogue {
namespace {

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const double n = nodes;
  return measure_bully("bully-polite", nodes, seed,
                       {.smallest_starts = n * n - n - 1,
                        .greatest_live_starts = n - 1,
                        .all_start = n * n - n - 1,
                        .comes_back = 2});
}

}  // namespace

Entry bully_polite() {
  Entry entry = {
      .name = "bully-polite",
      .family = "election",
      .title = "bully election that leaves a working coordinator in office",
      .paper = "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982, with a question before the takeover",
      .year = 1982,
      .source = "src/protocols/election/bully_polite.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "as bully; 2 messages to come back, where bully needs n-1",
      .properties = {"E2"},
      .remark =
          "E1: the coordinator need not be the greatest, and a process replaced during an election can "
          "still leave two; stability: kept unless somebody calls without need",
      .variants = {{"canonical", "asks smaller processes, from the greatest downwards, who coordinates"},
                   {"no-second-wait", "waits for ever once it was answered: E2 is lost", true}},
      .parameters = bully_parameters(),
      .most_nodes = 10'000,
      .monitor = polite_election_monitor,
      .usual = bully_usual,
      .measure = measure};
  bind<election::BullyPolite, bully_setup>(entry);
  bind_own_election<election::BullyPolite, bully_setup>(entry);
  bind_check<election::BullyPolite, election::PoliteJudge, bully_setup>(entry);
  bind_live<election::BullyPolite, bully_setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.unit = election::Bounds{}.transmission;
    o.budget.crashes = 1;
  };
  return entry;
}

}  // namespace conclave::catalogue
