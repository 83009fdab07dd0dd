#include "protocols/mutex/maekawa.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::Maekawa::Setup setup(const Setting& setting) {
  return {.sets = setting.voting_sets.empty() ? mutex::voting_sets(setting.members) : setting.voting_sets,
          .no_self_vote = setting.variant == "no-self-vote"};
}

Claims claims(std::uint32_t nodes, bool) {
  const auto [least, most] = voting_set_sizes(nodes);
  return {.messages = within(3.0 * (least - 1), 3.0 * (most - 1)),
          .client_delay = exactly(2),
          .synchronisation_delay = exactly(2)};
}

}  // namespace

Entry maekawa() {
  Entry entry = {.name = "maekawa",
                 .family = "mutex",
                 .title = "Maekawa's quorum voting, basic form",
                 .paper = "Maekawa, TOCS 3(2), 1985",
                 .year = 1985,
                 .source = "src/protocols/mutex/maekawa.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "3(K-1) messages, K the size of a voting set",
                 .properties = {"EM1", "fence"},
                 .remark = "ND, EM2: three who ask at once can deadlock; EM3: quorums do not order",
                 .variants = {{"canonical", "as published"},
                              {"no-self-vote", "neither needs nor reserves the own vote: EM1 is lost", true}},
                 .most_nodes = 10'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::Maekawa, setup>(entry);
  bind_lock<mutex::Maekawa, setup>(entry);
  bind_check<mutex::Maekawa, mutex::Judge, setup>(entry);
  bind_live<mutex::Maekawa, setup>(entry);
  return entry;
}

}  // namespace conclave::catalogue
