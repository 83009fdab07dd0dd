#include "protocols/limits/two_generals.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"
#include "catalogue/limits/rows.hpp"
#include "protocols/consensus/judge.hpp"

namespace conclave::catalogue {
namespace {

// The general of the smaller number begins.
limits::TwoGenerals::Setup setup(const Setting& setting) {
  return {.first = setting.members.min(),
          .messages = static_cast<std::uint32_t>(number_set(setting, "messages", 1)),
          .dawn = {static_cast<std::uint64_t>(number_set(setting, "dawn", 1'000'000))}};
}

}  // namespace

Entry two_generals() {
  Entry entry = {
      .name = "two-generals",
      .family = "limits",
      .title = "Two generals: a handshake over a link that loses messages",
      .paper = "Akkoyunlu, Ekanadham and Huber, SOSP 1975",
      .year = 1975,
      .source = "src/protocols/limits/two_generals.hpp",
      .worlds = {"sim", "check"},
      .cost = "as many messages as one likes",
      .properties = {"termination"},
      .remark = "agreement: if the last message is lost, exactly its sender attacks",
      .variants = {{"canonical", "attacks if every message addressed to it has come"}},
      .parameters = {{"messages", "of the handshake", "1", 1, 1'000'000},
                     {"dawn", "when they attack or do not, in ticks", "1000000", 1, 1'000'000'000}},
      .least_nodes = 2,
      .most_nodes = 2,
      .monitor = consensus_monitor};
  bind<limits::TwoGenerals, setup>(entry);
  bind_check<limits::TwoGenerals, consensus::Judge, setup>(entry);
  return entry;
}

}  // namespace conclave::catalogue
