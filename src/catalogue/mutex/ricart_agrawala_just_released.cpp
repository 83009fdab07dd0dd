#include "protocols/mutex/ricart_agrawala_just_released.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::RicartAgrawalaJustReleased::Setup setup(const Setting&) { return {}; }

Claims claims(std::uint32_t nodes, bool) {
  return {.messages = within(0, 2.0 * (nodes - 1)),
          .client_delay = within(0, 2),
          .synchronisation_delay = exactly(1)};
}

}  // namespace

Entry ricart_agrawala_just_released() {
  Entry entry = {.name = "ricart-agrawala-just-released",
                 .family = "mutex",
                 .title = "Ricart-Agrawala, permission kept after leaving",
                 .paper = "answer to the textbook exercise on Ricart and Agrawala, CACM 24(1), 1981",
                 .year = 1981,
                 .source = "src/protocols/mutex/ricart_agrawala_just_released.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "0 to 2(N-1) messages",
                 .properties = {"EM1", "EM2", "ND", "fence"},
                 .remark = "EM3: a free re-entry overtakes a request under way",
                 .variants = {{"canonical", "as published"}},
                 .most_nodes = 5'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::RicartAgrawalaJustReleased, setup>(entry);
  bind_lock<mutex::RicartAgrawalaJustReleased, setup>(entry);
  bind_check<mutex::RicartAgrawalaJustReleased, mutex::Judge, setup>(entry);
  bind_live<mutex::RicartAgrawalaJustReleased, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.entries = 2; };
  entry.long_check = true;
  return entry;
}

}  // namespace conclave::catalogue
