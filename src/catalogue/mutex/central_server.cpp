#include "protocols/mutex/central_server.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/bind_engine.hpp"
#include "catalogue/bind_live.hpp"
#include "catalogue/mutex/rows.hpp"
#include "protocols/mutex/judge.hpp"

namespace conclave::catalogue {
namespace {

mutex::CentralServer::Setup setup(const Setting& setting) {
  return {.says_denied = setting.variant == "denied"};
}

Claims claims(std::uint32_t, bool) {
  return {.messages = exactly(3), .client_delay = exactly(2), .synchronisation_delay = exactly(2)};
}

}  // namespace

Entry central_server() {
  Entry entry = {.name = "central-server",
                 .family = "mutex",
                 .title = "Central server",
                 .paper = "lock managers of the 1970s; Coulouris et al., Distributed Systems, 15.2",
                 .year = 1978,
                 .source = "src/protocols/mutex/central_server.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "3 messages (4 if denied)",
                 .properties = {"EM1", "EM2", "ND", "fence"},
                 .remark = "EM3: the server orders by arrival",
                 .variants = {{"canonical", "as published"},
                              {"denied", "a busy server answers DENIED; the request is queued all the same"}},
                 .most_nodes = 100'000,
                 .claims = claims,
                 .monitor = mutex_monitor};
  bind<mutex::CentralServer, setup>(entry);
  bind_coordinated_lock<mutex::CentralServer, setup>(entry);
  bind_check<mutex::CentralServer, mutex::Judge, setup>(entry);
  bind_live<mutex::CentralServer, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.entries = 2; };
  return entry;
}

}  // namespace conclave::catalogue
