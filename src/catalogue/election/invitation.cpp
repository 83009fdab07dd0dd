#include "protocols/election/invitation.hpp"

#include <fmt/format.h>

#include "catalogue/bind.hpp"
#include "catalogue/bind_check.hpp"
#include "catalogue/election/bounds.hpp"
#include "catalogue/election/rows.hpp"
#include "protocols/election/judge.hpp"
#include "trace/invitation_monitor.hpp"

namespace conclave::catalogue {
namespace {

using election::Invitation;

Invitation::Setup setup(const Setting& setting) {
  const Invitation::Setup usual;
  return {.bounds = {.transmission = {number_of(setting, "T_t", usual.bounds.transmission.count)},
                     .processing = {number_of(setting, "T_p", usual.bounds.processing.count)}}};
}

// Ten times what one attempt to merge takes at most: until the next question, its answers, the wait of the
// smallest of all leaders, the acceptances, and the patience of who waits in vain.
Ticks calm(std::uint64_t nodes, const election::Bounds& bounds) {
  return {10 * (8 + 1 + 2 * nodes + 2 + 4) * bounds.answer_within().count};
}

std::unique_ptr<trace::Monitor> monitor(const sim::Options& options, const Setting& setting) {
  return std::make_unique<trace::InvitationMonitor>(calm(options.nodes, setup(setting).bounds));
}

void usual(sim::Options& options) {
  options.entries = 1;
  options.think = {sim::Delay::Shape::uniform, 0, 2000};
  options.delay.usual = {sim::Delay::Shape::uniform, 1, 8};  // clocks may run a tenth too fast
  options.detector = false;
  options.until = calm(options.nodes, Invitation::Setup{}.bounds) + Ticks{1000};
}

// Messages that form groups, from some moment on.
class Counter : public trace::Observer {
 public:
  explicit Counter(Ticks since) : since_(since) {}
  void see(const trace::Step& step) override {
    if (step.at < since_) return;
    for (const trace::Sent& sent : step.sends) {
      const std::string& type = sent.what.type;
      if (type == "Invite" || type == "Accept" || type == "Ready") ++count;
    }
  }
  bool wants_vectors() const override { return false; }
  std::uint64_t count = 0;

 private:
  Ticks since_;
};

// Links between the halves are cut until each is a group, then mended.
std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  if (nodes < 2) return {};
  const Entry& entry = *find("invitation");
  const Setting setting = {
      .protocol = std::string(entry.name), .members = entry.members(nodes), .seed = seed};
  sim::Options options = {.nodes = nodes, .seed = seed};
  usual(options);
  const Ticks healed = options.until = {options.until.count / 4};
  options.script =
      sim::Script{{.what = sim::Action::What::partition, .group = NodeSet::range({1}, nodes / 2)},
                  {.what = sim::Action::What::heal, .at = healed}};
  Counter counter(healed);
  entry.simulate(options, setting, &counter);
  return {{.what = "messages, two halves merge",
           .measured = static_cast<double>(counter.count),
           .claimed = at_least(3.0 * (nodes - 1), fmt::format("{} or more", 3 * (nodes - 1)))}};
}

}  // namespace

Entry invitation() {
  std::vector<Parameter> parameters = bounds_parameters();
  parameters[1].usual = "6";
  Entry entry = {
      .name = "invitation",
      .family = "election",
      .title = "invitation election",
      .paper = "Garcia-Molina, IEEE Trans. Computers C-31(1), 1982",
      .year = 1982,
      .source = "src/protocols/election/invitation.hpp",
      .worlds = {"sim", "check"},
      .cost = "3(n-1) messages to merge two groups, more if both invite at once; 3(n-1) a period at rest",
      .properties = {"I1", "I2", "I3"},
      .remark = "E1: where links are cut or processes slow there is a leader in every group, by intention",
      .variants = {{"canonical", "with growing group numbers"}},
      .parameters = parameters,
      .most_nodes = 1000,
      .monitor = monitor,
      .usual = usual,
      .measure = measure};
  bind<Invitation, setup>(entry);
  bind_check<Invitation, election::GroupJudge, setup>(entry);
  entry.usual_check = [](check::Options& o, Setting&) {
    o.nodes = 2;
    o.budget = {.losses = 1, .timeouts = 6};  // fewer, and no two ever meet
  };
  return entry;
}

}  // namespace conclave::catalogue
