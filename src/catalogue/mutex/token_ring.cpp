#include "protocols/mutex/token_ring.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

std::uint32_t number(const Setting& setting, const std::string& parameter) {
  const auto set = setting.parameters.find(parameter);
  return set == setting.parameters.end() ? 0 : static_cast<std::uint32_t>(std::stoul(set->second));
}

mutex::TokenRing::Setup setup(const Setting& setting) {
  return {.ring = setting.ring,
          .token_under_way = setting.token_under_way,
          .patience = number(setting, "patience"),
          .rest = {number(setting, "rest")}};
}

Claims claims(std::uint32_t nodes, bool high_load) {
  const double n = nodes;
  return {.messages = high_load ? exactly(1) : at_least(1, "1 … inf"),
          .client_delay = within(0, n),
          .synchronisation_delay = within(1, n)};
}

}  // namespace

Entry token_ring() {
  Entry entry = {
      .name = "token-ring",
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
      .parameters = {{"patience",
                      "hops without an entry after which the token rests at each process; 0: never", "0", 0,
                      1'000'000},
                     {"rest", "ticks for which it rests then", "0", 0, 1'000'000}},
      .most_nodes = 10'000'000,
      .claims = claims,
      .monitor = mutex_monitor};
  bind<mutex::TokenRing, setup>(entry);
  bind_token_lock<mutex::TokenRing, setup>(entry);
  bind_check<mutex::TokenRing, mutex::Judge, setup>(entry);
  bind_live<mutex::TokenRing, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.entries = 2;
    o.starvation = true;  // the token never rests, so no run ends
  };
  return entry;
}

}  // namespace conclave::catalogue
