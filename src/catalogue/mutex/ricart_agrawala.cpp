#include "protocols/mutex/ricart_agrawala.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::RicartAgrawala::Setup setup(const Setting& setting) {
  using Deviation = mutex::RicartAgrawala::Deviation;
  return {.deviation = setting.variant == "request-only-clock" ? Deviation::request_only_clock
                       : setting.variant == "nonatomic-exit"   ? Deviation::nonatomic_exit
                                                               : Deviation::none,
          .clocks = setting.clocks};
}

Claims claims(std::uint32_t nodes, bool) {
  return {.messages = exactly(2.0 * (nodes - 1)),
          .client_delay = exactly(2),
          .synchronisation_delay = exactly(1)};
}

}  // namespace

Entry ricart_agrawala() {
  Entry entry = {
      .name = "ricart-agrawala",
      .family = "mutex",
      .title = "Ricart-Agrawala",
      .paper = "Ricart and Agrawala, CACM 24(1), 1981",
      .year = 1981,
      .source = "src/protocols/mutex/ricart_agrawala.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "2(N-1) messages",
      .properties = {"EM1", "EM2", "EM3", "ND", "fence"},
      .remark = "",
      .variants = {{"canonical", "as published"},
                   {"request-only-clock", "the clock is raised by requests alone: EM3 is lost", true},
                   {"nonatomic-exit", "replies first and forgets the deferred later: EM2 is lost", true}},
      .most_nodes = 5'000,
      .claims = claims,
      .monitor = mutex_monitor};
  bind<mutex::RicartAgrawala, setup>(entry);
  bind_lock<mutex::RicartAgrawala, setup>(entry);
  bind_check<mutex::RicartAgrawala, mutex::Judge, setup>(entry);
  bind_live<mutex::RicartAgrawala, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.budget.tells = 1; };
  return entry;
}

}  // namespace conclave::catalogue
