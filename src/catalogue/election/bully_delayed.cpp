#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/election/bully.hpp"
#include "catalogue/election/rows.hpp"
#include "protocols/election/judge.hpp"

namespace conclave::catalogue {
namespace {

election::Bully::Setup setup(const Setting& setting) {
  election::Bully::Setup setup = bully_setup(setting);
  setup.policy.delays_start = true;
  return setup;
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const double n = nodes;
  return measure_bully("bully-delayed", nodes, seed,
                       {.smallest_starts = nodes > 2 ? 3 * n - 4 : n - 1,
                        .greatest_live_starts = n - 1,
                        .all_start = n - 1,
                        .comes_back = n - 1});
}

}  // namespace

Entry bully_delayed() {
  Entry entry = {
      .name = "bully-delayed",
      .family = "election",
      .title = "bully election, smaller processes wait before they call",
      .paper = "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982, with delays by rank",
      .year = 1982,
      .source = "src/protocols/election/bully.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "2p+n-2 messages, n-1 if p = 1; p live processes from the caller upwards",
      .properties = {"E1", "E2", "agreement"},
      .remark =
          "few messages for much time: a process waits 2T for every one above it; E1 and stability as "
          "bully",
      .variants = {{"canonical", "waits 2T for every greater process, until an announcement comes"},
                   {"no-second-wait", "waits for ever once it was answered: E2 is lost", true}},
      .parameters = bully_parameters(),
      .most_nodes = 10'000,
      .monitor = election_monitor,
      .usual = bully_usual,
      .measure = measure};
  bind<election::Bully, setup>(entry);
  bind_own_election<election::Bully, setup>(entry);
  bind_check<election::Bully, election::Judge, setup>(entry);
  bind_live<election::Bully, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.unit = election::Bounds{}.transmission;
    o.budget.crashes = 1;
  };
  return entry;
}

}  // namespace conclave::catalogue
