#include "protocols/mutex/lamport.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::Lamport::Setup setup(const Setting&) { return {}; }

Claims claims(std::uint32_t nodes, bool) {
  return {.messages = exactly(3.0 * (nodes - 1)),
          .client_delay = exactly(2),
          .synchronisation_delay = exactly(1)};
}

}  // namespace

Entry lamport() {
  Entry entry = {.name = "lamport",
                 .family = "mutex",
                 .title = "Lamport's mutual exclusion",
                 .paper = "Lamport, CACM 21(7), 1978",
                 .year = 1978,
                 .source = "src/protocols/mutex/lamport.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "3(N-1) messages",
                 .properties = {"EM1", "EM2", "EM3", "ND", "fence"},
                 .remark = "",
                 .variants = {{"canonical", "as published"}},
                 .most_nodes = 5'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::Lamport, setup>(entry);
  bind_lock<mutex::Lamport, setup>(entry);
  bind_check<mutex::Lamport, mutex::Judge, setup>(entry);
  bind_live<mutex::Lamport, setup>(entry);
  return entry;
}

}  // namespace conclave::catalogue
