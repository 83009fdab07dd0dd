#include "protocols/mutex/token_ring.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::TokenRing::Setup setup(const Setting& setting) {
  return {.ring = setting.ring, .token_under_way = setting.token_under_way};
}

// Between real processes a token that nobody wants slows down.
mutex::TokenRing::Setup live_setup(const Setting& setting) {
  return {.patience = 200 * setting.members.size(), .rest = {5}};
}

Claims claims(std::uint32_t nodes, bool high_load) {
  const double n = nodes;
  return {.messages = high_load ? exactly(1) : at_least(1, "1 … inf"),
          .client_delay = within(0, n),
          .synchronisation_delay = within(1, n)};
}

}  // namespace

Entry token_ring() {
  Entry entry = {.name = "token-ring",
                 .family = "mutex",
                 .title = "Token ring",
                 .paper = "Le Lann, Distributed systems: towards a formal approach, IFIP 1977",
                 .year = 1977,
                 .source = "src/protocols/mutex/token_ring.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "1 to infinity messages",
                 .properties = {"EM1", "EM2", "ND", "fence"},
                 .remark = "EM3: the order is that of the ring",
                 .why_it_differs =
                     "processes that want nothing at the moment, or no more, pass the token on: messages "
                     "without an entry",
                 .variants = {{"canonical", "as published"}},
                 .most_nodes = 10'000'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::TokenRing, setup>(entry);
  bind_token_lock<mutex::TokenRing, live_setup>(entry);
  bind_check<mutex::TokenRing, mutex::Judge, setup>(entry);
  bind_live<mutex::TokenRing, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.entries = 2;
    o.starvation = true;  // the token never rests, so no run ends
  };
  return entry;
}

}  // namespace conclave::catalogue
