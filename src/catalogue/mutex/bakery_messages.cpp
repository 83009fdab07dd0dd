#include "protocols/mutex/bakery_messages.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::BakeryMessages::Setup setup(const Setting&) { return {}; }

Claims claims(std::uint32_t nodes, bool) {
  return {.messages = exactly(6.0 * (nodes - 1)),
          .client_delay = exactly(6),
          .synchronisation_delay = unclaimed()};
}

}  // namespace

Entry bakery_messages() {
  Entry entry = {.name = "bakery-messages",
                 .family = "mutex",
                 .title = "Lamport's bakery by messages",
                 .paper = "Lamport, CACM 17(8), 1974",
                 .year = 1974,
                 .source = "src/protocols/mutex/bakery_messages.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "6(N-1) messages",
                 .properties = {"EM1", "EM2", "ND", "FCFS", "fence"},
                 .remark = "EM3: kept only from the end of the doorway on (FCFS)",
                 .variants = {{"canonical", "as published"}},
                 .most_nodes = 5'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::BakeryMessages, setup>(entry);
  bind_lock<mutex::BakeryMessages, setup>(entry);
  bind_check<mutex::BakeryMessages, mutex::Judge, setup>(entry);
  bind_live<mutex::BakeryMessages, setup>(entry);
  return entry;
}

}  // namespace conclave::catalogue
