#include "protocols/registers/bakery.hpp"

#include "catalogue/registers/bind.hpp"
#include "catalogue/registers/bind_live.hpp"

namespace conclave::catalogue {
namespace {

registers::Bakery::Setup setup(const Setting& setting) {
  return {.no_choosing = setting.variant == "no-choosing",
          .tokens = with_tokens(setting),
          .unfenced = setting.variant == "unfenced"};
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry entry = bakery();
  const double n = nodes;
  const Alone alone = measure_alone(entry, nodes, seed, true);
  std::vector<Measurement> figures = {{"reads, alone", alone.reads, exactly(3 * n + 1)},
                                      {"writes, alone", alone.writes, exactly(5)}};
  const Contended few = measure_contended(entry, nodes, 10, seed);
  const Contended many = measure_contended(entry, nodes, 100, seed);
  figures.push_back({"accesses per entry, all at once", many.accesses, unclaimed()});
  // Whoever is through the doorway is passed by nobody, and all others can be in there with it.
  figures.push_back(
      {"overtaken at most, all at once", static_cast<double>(many.most_overtaken), unclaimed()});
  figures.push_back({"highest ticket after 10 entries each", static_cast<double>(few.highest_ticket),
                     at_least(1, "unbounded")});
  figures.push_back({"highest ticket after 100 entries each", static_cast<double>(many.highest_ticket),
                     at_least(nodes > 1 ? static_cast<double>(few.highest_ticket) + 1 : 1, "unbounded")});
  return figures;
}

}  // namespace

Entry bakery() {
  Entry entry = {.name = "bakery",
                 .family = "registers",
                 .title = "Lamport's bakery over shared registers",
                 .paper = "Lamport, CACM 17(8), 1974",
                 .year = 1974,
                 .source = "src/protocols/registers/bakery.hpp",
                 .worlds = {"sim", "check", "live"},
                 .cost = "3N+1 reads and 5 writes per entry alone",
                 .properties = {"EM1", "EM2", "ND", "FCFS", "fence"},
                 .remark = "EM3: who asked first may still be in the doorway when another comes and goes",
                 .variants = {{"canonical", "as published, on atomic registers"},
                              {"safe", "on safe registers: a read that overlaps a write returns anything"},
                              {"buffered", "on registers behind store buffers, as processors have them"},
                              {"unfenced", "the same without the memory fences: EM1 is lost", true},
                              {"no-choosing", "does not wait for those who are choosing: EM1 is lost", true}},
                 .parameters = {schedule_parameter(), tokens_parameter()},
                 .most_nodes = 256,
                 .monitor = registers_monitor,
                 .usual = usual_registers,
                 .refuse = refuse_schedule,
                 .measure = measure};
  bind_registers<registers::Bakery, setup>(entry);
  bind_check_registers<registers::Bakery, setup>(entry);
  bind_live_registers<registers::Bakery>(entry);
  entry.usual_check = [](check::Options& o, Setting&) { o.starvation = true; };
  return entry;
}

}  // namespace conclave::catalogue
