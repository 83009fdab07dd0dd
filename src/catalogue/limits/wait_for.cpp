#include "protocols/limits/wait_for.hpp"

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/consensus/rows.hpp"
#include "catalogue/consensus/setups.hpp"
#include "catalogue/limits/rows.hpp"
#include "protocols/consensus/judge.hpp"

namespace conclave::catalogue {
namespace {

limits::WaitFor::Setup setup(const Setting& setting) {
  return {.values = proposals(setting),
          .votes = static_cast<std::uint32_t>(number_set(setting, "votes", setting.members.size())),
          .default_value = number_set(setting, "default", 0)};
}

}  // namespace

Entry wait_for() {
  Entry entry = {
      .name = "wait-for",
      .family = "limits",
      .title = "Consensus by waiting for votes, without any bound on delays",
      .paper = "Fischer, Lynch and Paterson, JACM 32(2), 1985",
      .year = 1985,
      .source = "src/protocols/limits/wait_for.hpp",
      .worlds = {"sim", "check"},
      .cost = "N(N-1) messages",
      .properties = {},
      .remark = "termination: if all votes are waited for and one process crashes; agreement: if fewer are",
      .variants = {{"canonical", "decides on the most voted value, in a tie on a default"}},
      .parameters = {{"votes", "how many to wait for, one's own among them", "all"},
                     {"default", "what is decided in a tie", "0", INT32_MIN, INT32_MAX}},
      .most_nodes = 1'000,
      .monitor = consensus_monitor};
  bind<limits::WaitFor, setup>(entry);
  bind_check<limits::WaitFor, consensus::Judge, setup>(entry);
  return entry;
}

}  // namespace conclave::catalogue
