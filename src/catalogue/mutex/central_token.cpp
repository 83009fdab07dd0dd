#include "protocols/mutex/central_token.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::CentralToken::Setup setup(const Setting& setting) {
  return {.vector_on_requests_only = setting.variant == "vector-on-requests-only"};
}

Claims claims(std::uint32_t, bool) {
  return {.messages = exactly(3), .client_delay = exactly(2), .synchronisation_delay = exactly(2)};
}

}  // namespace

Entry central_token() {
  Entry entry = {
      .name = "central-token",
      .family = "mutex",
      .title = "Central token with vector clocks",
      .paper = "centralised token of the lecture literature; vectors after Fidge and Mattern, 1988",
      .year = 1988,
      .source = "src/protocols/mutex/central_token.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "3 messages",
      .properties = {"EM1", "EM2", "EM3", "ND", "fence"},
      .remark = "",
      .variants = {{"canonical", "as published"},
                   {"vector-on-requests-only", "leaves the vector off the token: EM3 is lost", true}},
      .most_nodes = 10'000,
      .claims = claims,
      .monitor = mutex_monitor};
  bind<mutex::CentralToken, setup>(entry);
  bind_token_lock<mutex::CentralToken, setup>(entry);
  bind_check<mutex::CentralToken, mutex::Judge, setup>(entry);
  bind_live<mutex::CentralToken, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.budget.tells = 1; };
  return entry;
}

}  // namespace conclave::catalogue
