#include "protocols/mutex/carvalho_roucairol.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::CarvalhoRoucairol::Setup setup(const Setting&) { return {}; }

Claims claims(std::uint32_t nodes, bool) {
  return {.messages = within(0, 2.0 * (nodes - 1)),
          .client_delay = within(0, 2),
          .synchronisation_delay = exactly(1)};
}

}  // namespace

Entry carvalho_roucairol() {
  Entry entry = {.name = "carvalho-roucairol",
                 .family = "mutex",
                 .title = "Carvalho-Roucairol",
                 .paper = "Carvalho and Roucairol, CACM 26(2), 1983",
                 .year = 1983,
                 .source = "src/protocols/mutex/carvalho_roucairol.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "0 to 2(N-1) messages",
                 .properties = {"EM1", "EM2", "ND", "fence"},
                 .remark = "EM3: a kept permission overtakes a request under way",
                 .variants = {{"canonical", "as published"}},
                 .most_nodes = 5'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::CarvalhoRoucairol, setup>(entry);
  bind_lock<mutex::CarvalhoRoucairol, setup>(entry);
  bind_check<mutex::CarvalhoRoucairol, mutex::Judge, setup>(entry);
  bind_live<mutex::CarvalhoRoucairol, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.entries = 2; };
  entry.long_check = true;
  return entry;
}

}  // namespace conclave::catalogue
