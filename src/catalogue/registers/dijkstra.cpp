#include "protocols/registers/dijkstra.hpp"

#include <algorithm>
#include <charconv>

#include "catalogue/registers/bind.hpp"
#include "catalogue/registers/bind_live.hpp"
#include "sim/lasso.hpp"

namespace conclave::catalogue {
namespace {

// Whom the sentinel names at first: anybody. None if the text names nobody.
std::optional<Word> sentinel(const Setting& setting) {
  const Word n = setting.members.size();
  const auto set = setting.parameters.find("k");
  if (set == setting.parameters.end() || set->second == "drawn")
    return 1 + sim::Draw(setting.seed, sim::Purpose::plan, 0, 0).below(std::max<Word>(1, n));
  Word k = 0;
  const std::string& text = set->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), k);
  if (error != std::errc{} || end != text.data() + text.size() || k < 1 || k > n) return std::nullopt;
  return k;
}

std::optional<std::string> refuse(const sim::Options& options, const Setting& setting) {
  if (!sentinel(setting))
    return "--set k: is 'drawn' or names a process between 1 and " + std::to_string(setting.members.size());
  return refuse_schedule(options, setting);
}

bool is_split(const Setting& setting) {
  const auto found = setting.parameters.find("split");
  return found != setting.parameters.end() && found->second == "1";
}

registers::Dijkstra::Setup setup(const Setting& setting) {
  const std::string& variant = setting.variant;
  return {.k = sentinel(setting).value_or(0),
          .split_read = (variant != "canonical" && variant != "b-then-c") || is_split(setting),
          .b_first = variant == "b-then-c",
          .tokens = with_tokens(setting),
          .unfenced = variant == "unfenced"};
}

// Whether a search over all schedules of two processes finds one that starves the first.
bool starves() {
  const NodeSet two = NodeSet::range({1}, 2);
  auto machine = sim::RegisterMachine<registers::Dijkstra>::start(two, {.k = 2, .tokens = false});
  const sim::StarvationSearch search(std::move(machine), {1}, 100'000);
  return search.find().has_value();
}

std::vector<Measurement> measure(std::uint32_t nodes, std::uint64_t seed) {
  const Entry entry = dijkstra();
  const double n = nodes;
  const Alone again = measure_alone(entry, nodes, seed, false);
  std::vector<Measurement> figures = {{"reads, alone, k names it", again.reads, exactly(n + 1)},
                                      {"writes, alone, k names it", again.writes, exactly(5)}};
  if (nodes > 1) {
    const Alone turns = measure_alone(entry, nodes, seed, true);
    figures.push_back({"reads, alone, k names another", turns.reads, exactly(n + 4)});
    figures.push_back({"writes, alone, k names another", turns.writes, exactly(7)});
    figures.push_back(
        {"schedules that starve one of two (1: there is one)", starves() ? 1.0 : 0.0, exactly(1)});
  }
  const Contended contended = measure_contended(entry, nodes, 50, seed);
  figures.push_back({"accesses per entry, all at once", contended.accesses, unclaimed()});
  figures.push_back(
      {"overtaken at most, all at once", static_cast<double>(contended.most_overtaken), unclaimed()});
  return figures;
}

}  // namespace

Entry dijkstra() {
  Entry entry = {
      .name = "dijkstra",
      .family = "registers",
      .title = "Dijkstra's mutual exclusion over shared registers",
      .paper = "Dijkstra, CACM 8(9), 1965",
      .year = 1965,
      .source = "src/protocols/registers/dijkstra.hpp",
      .worlds = {"sim", "check", "live"},
      .cost = "N+1 reads and 5 writes per entry alone, N+4 and 7 if k names another",
      .properties = {"EM1", "ND", "fence"},
      .remark =
          "NS: one process can be overtaken for ever, by a scheduler that neglects nobody; EM2 holds in "
          "runs that end",
      .variants = {{"canonical", "as published; L3 reads k and b[k] in one step"},
                   {"split-read", "L3 reads k, then b[k]: as on real memory"},
                   {"b-then-c", "on leaving writes b[i] first"},
                   {"safe",
                    "on safe registers: EM1 stays; an adversary who chooses what overlapping reads return "
                    "can keep everybody out, chance does not"},
                   {"buffered", "on registers behind store buffers, as processors have them"},
                   {"unfenced", "the same without the memory fence: EM1 is lost", true}},
      .parameters = {{.name = "k",
                      .what = "whom the sentinel names at first; drawn: by the seed",
                      .usual = "drawn"},
                     {"split", "1: L3 reads k and b[k] in two steps, also in b-then-c", "0", 0, 1},
                     schedule_parameter(),
                     tokens_parameter()},
      .most_nodes = 256,
      .monitor = registers_monitor,
      .usual = usual_registers,
      .refuse = refuse,
      .measure = measure};
  bind_registers<registers::Dijkstra, setup>(entry);
  bind_check_registers<registers::Dijkstra, setup>(entry);
  bind_live_registers<registers::Dijkstra>(entry);
  entry.usual_check = [](check::Options&, Setting& setting) { setting.parameters["k"] = "1"; };
  return entry;
}

}  // namespace conclave::catalogue
