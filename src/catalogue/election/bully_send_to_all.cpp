#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/election/bully.hpp"
#include "catalogue/election/rows.hpp"
#include "protocols/election/judge.hpp"

namespace conclave::catalogue {
namespace {

election::Bully::Setup setup(const Setting& setting) {
  election::Bully::Setup setup = bully_setup(setting);
  setup.policy.sends_to_all = true;
  return setup;
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const double n = nodes;
  const double all_called = (n - 1) * (n - 1) + (n - 1) * (n - 2) / 2 + (n - 1);
  return measure_bully("bully-send-to-all", nodes, seed,
                       {.smallest_starts = all_called,
                        .greatest_live_starts = 2 * (n - 1),
                        .all_start = all_called,
                        .comes_back = n - 1});
}

}  // namespace

Entry bully_send_to_all() {
  Entry entry = {
      .name = "bully-send-to-all",
      .family = "election",
      .title = "bully election, calls and announcements to everybody",
      .paper = "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982, as some textbooks draw it",
      .year = 1982,
      .source = "src/protocols/election/bully.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "p(n-1) + p(p-1)/2 + n-1 messages, p live processes from the caller upwards",
      .properties = {"E1", "E2", "agreement"},
      .remark = "what smaller processes are told in a call is of no use to them; E1 and stability as bully",
      .variants = {{"canonical", "starts an election unless one is running"},
                   {"always-start", "calls each time it is called: more messages, several announcements",
                    true},
                   {"no-second-wait", "waits for ever once it was answered: E2 is lost", true}},
      .parameters = bully_parameters(),
      .most_nodes = 10'000,
      .monitor = election_monitor,
      .usual = bully_usual,
      .measure = measure};
  bind<election::Bully, setup>(entry);
  bind_check<election::Bully, election::Judge, setup>(entry);
  bind_live<election::Bully, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.unit = election::Bounds{}.transmission;
    o.budget.crashes = 1;
  };
  return entry;
}

}  // namespace conclave::catalogue
