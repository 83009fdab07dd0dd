#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "accept/families.hpp"
#include "protocols/registers/bakery.hpp"
#include "protocols/registers/dijkstra.hpp"
#include "sim/lasso.hpp"
#include "sim/register_stage.hpp"
#include "trace/registers_monitor.hpp"

namespace conclave::accept {
namespace {

using registers::Bakery;
using registers::Dijkstra;

constexpr std::uint32_t most_processes = 10'000;

NodeSet processes(const Json& config) {
  const Json& n = need(config, "n");
  if (!n.is_number_unsigned() || n.get<std::uint64_t>() < 1 || n.get<std::uint64_t>() > most_processes)
    throw CannotPlay(fmt::format("n = {} is out of range", n.dump()));
  return NodeSet::range({1}, n.get<std::uint32_t>());
}

NodeId process(const Json& value, const NodeSet& all) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 ||
      value.get<std::uint64_t>() > all.size())
    throw CannotPlay(fmt::format("{} is no process of 1 … {}", value.dump(), all.size()));
  return {value.get<std::uint32_t>()};
}

Json to_json(const std::vector<NodeId>& nodes) {
  Json list = Json::array();
  for (NodeId node : nodes) list.push_back(node.value);
  return list;
}

const char* verdict(bool holds) { return holds ? "holds" : "violated"; }

// Programs directed by hand, with the monitor of every other run. Clients ask and leave when they have to.
template <Program P>
class Hand {
 public:
  Hand(const NodeSet& all, const typename P::Setup& setup, Registers kind)
      : stage_(all, setup, kind, 1, &monitor_) {
    stage_.start({});
  }

  sim::RegisterMachine<P>& machine() { return stage_.machine(); }
  const P& of(NodeId who) { return stage_.machine().of(who); }
  const trace::RegistersMonitor& monitor() const { return monitor_; }

  void ask(NodeId who) {
    if (of(who).next()) return;
    if (of(who).inside()) throw CannotPlay(fmt::format("p{} is inside already", who.value));
    command(who, typename P::Spec::Acquire{});
  }
  void leave(NodeId who) {
    if (!of(who).inside()) throw CannotPlay(fmt::format("p{} is not inside", who.value));
    command(who, typename P::Spec::Release{});
  }
  // One instruction; on safe registers with the whole of a write.
  void instruction(NodeId who) {
    do {
      stage_.step(who.value - 1, tick());
    } while (machine().writing[who.value - 1]);
  }
  void step(NodeId who) {
    if (of(who).inside()) {
      leave(who);
    } else {
      ask(who);
    }
    instruction(who);
  }

  void finish(bool quiet) { monitor_.end({.at = now_, .quiet = quiet}); }

  // What every vector may expect.
  Json found() const {
    Json found = {{"entries", to_json(monitor_.summary().entries)},
                  {"max_in_cs", monitor_.summary().most_inside}};
    for (const trace::Verdict& judged : monitor_.verdicts()) found[judged.property] = verdict(judged.holds);
    found["ME"] = found["EM1"];
    return found;
  }

 private:
  Ticks tick() { return now_ = now_ + Ticks{1}; }
  void command(NodeId who, const typename P::Spec::Command& what) {
    stage_.command(who.value - 1, tick(), what);
  }

  trace::RegistersMonitor monitor_;
  sim::RegisterStage<P> stage_;
  Ticks now_ = {};
};

// Dijkstra.

Dijkstra::Setup dijkstra_setup(const Vector& vector, const NodeSet& all) {
  const Json& config = vector.config;
  const Json k = config.value("k", Json(1));
  const std::string order =
      config.value("exit_order", vector.variant == "b-then-c" ? "b-then-c" : "c-then-b");
  if (order != "b-then-c" && order != "c-then-b")
    throw CannotPlay(fmt::format("exit_order '{}' is neither c-then-b nor b-then-c", order));
  return {.k = process(k, all).value,
          .split_read = !config.value("b_of_k_read_atomic", vector.variant != "split-read"),
          .b_first = order == "b-then-c",
          .tokens = false};
}

// Initial values other than true, as "TTFT".
void set_flags(sim::RegisterMachine<Dijkstra>& machine, const Json& config, const char* key, bool b) {
  if (!config.contains(key)) return;
  const std::string text = config[key].get<std::string>();
  if (text.size() != machine.programs.size() || text.find_first_not_of("TF") != std::string::npos)
    throw CannotPlay(fmt::format("{} is one T or F per process", key));
  for (const Dijkstra& program : machine.programs) {
    const std::uint32_t i = program.self.value;
    machine.words[b ? program.b(i) : program.c(i)] = text[i - 1] == 'T';
  }
}

std::string flags(const sim::RegisterMachine<Dijkstra>& machine, bool b) {
  std::string text;
  for (const Dijkstra& program : machine.programs) {
    const std::uint32_t i = program.self.value;
    text += machine.words[b ? program.b(i) : program.c(i)] != 0 ? 'T' : 'F';
  }
  return text;
}

std::string label(const Dijkstra& program) { return std::string(enumerator_name(program.label)); }

// The instruction at a label as vectors write it.
std::string instruction(const Dijkstra& program) {
  using enum Dijkstra::Label;
  const char* const exits[] = {"c[i]=true", "b[i]=true"};
  switch (program.label) {
    case NC: return "b[i]=false";
    case L1: return "test k!=i";
    case L2: return "c[i]=true";
    case L3: return program.setup.split_read ? "read k" : "test b[k]";
    case L3b: return "test b[k]";
    case L3c: return "k=i";
    case L4: return "c[i]=false";
    case L5: return "test c[j]";
    case CS: return fmt::format("leave CS: {}", exits[program.setup.b_first ? 1 : 0]);
    case E2: return exits[program.setup.b_first ? 0 : 1];
    default: return "";
  }
}

// Whether the text names another of the instructions above; what is not known here may be any remark.
bool contradicts(const std::string& text, const Dijkstra& program) {
  static constexpr const char* known[] = {"b[i]=false",         "test k!=i",
                                          "c[i]=true",          "read k",
                                          "test b[k]",          "k=i",
                                          "c[i]=false",         "test c[j]",
                                          "b[i]=true",          "leave CS: b[i]=true",
                                          "leave CS: c[i]=true"};
  if (std::ranges::find(known, text) == std::end(known)) return false;
  const std::string due = instruction(program);
  return text != due && "leave CS: " + text != due;
}

struct Played {
  std::vector<NodeId> movers = {};
  NodeSet back_to_l1 = {};  // whose last step found a conflict
};

Json snapshot(Hand<Dijkstra>& hand, const Played& played, const Json& wanted) {
  const auto& machine = hand.machine();
  Json labels = Json::array();
  // Of all processes, or of those that take steps in the vector.
  const bool everybody =
      wanted.contains("next_labels") && wanted["next_labels"].size() == machine.programs.size();
  for (const Dijkstra& program : machine.programs) {
    if (everybody || std::ranges::find(played.movers, program.self) != played.movers.end())
      labels.push_back(label(program));
  }
  Json inside = Json::array();
  for (const Dijkstra& program : machine.programs) {
    if (program.inside()) inside.push_back(program.self.value);
  }
  Json back = Json::array();
  for (NodeId who : played.back_to_l1) back.push_back(who.value);
  return {{"k", machine.words[Dijkstra::k()]},
          {"b", flags(machine, true)},
          {"c", flags(machine, false)},
          {"next_labels", labels},
          {"in_cs", inside},
          {"back_to_L1", back}};
}

// 15 of after_step_15 and conflict_step_15.
std::optional<std::size_t> step_named(std::string_view key) {
  const std::size_t at = key.rfind("step_");
  if (at == std::string_view::npos || key == "after_each_step") return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(key.data() + at + 5, key.data() + key.size(), number);
  if (error != std::errc{} || end != key.data() + key.size()) return std::nullopt;
  return number;
}

Json row_after(Hand<Dijkstra>& hand, NodeId who, const Json& columns) {
  const auto& machine = hand.machine();
  Json row = Json::array();
  for (const Json& column : columns) {
    if (column == "next_label_of_that_process") {
      row.push_back(label(machine.of(who)));
    } else if (column == "k") {
      row.push_back(machine.words[Dijkstra::k()]);
    } else if (column == "b" || column == "c") {
      row.push_back(flags(machine, column == "b"));
    } else {
      throw CannotPlay(fmt::format("unknown column {}", column.dump()));
    }
  }
  return row;
}

Json play_steps(const Vector& vector, const NodeSet& all, const Dijkstra::Setup& setup) {
  Hand<Dijkstra> hand(all, setup, Registers::atomic);
  set_flags(hand.machine(), vector.config, "initial_b", true);
  set_flags(hand.machine(), vector.config, "initial_c", false);
  const Json& steps = need(vector.inputs, "steps");
  Played played;
  for (const Json& step : steps) {
    const NodeId who = process(step.is_array() && !step.empty() ? step[0] : step, all);
    if (std::ranges::find(played.movers, who) == played.movers.end()) played.movers.push_back(who);
  }
  const Json columns = vector.expected.value("columns", Json{"next_label_of_that_process", "k", "b", "c"});
  Json rows = Json::array();
  Json snapshots = Json::object();
  std::size_t number = 0;
  for (const Json& step : steps) {
    const NodeId who = process(step.is_array() ? step[0] : step, all);
    const Dijkstra before = hand.of(who);
    if (step.is_array() && step.size() > 1 && contradicts(step[1].get<std::string>(), before))
      throw CannotPlay(fmt::format("step {}: p{} is at {}, whose instruction is '{}', not {}", number + 1,
                                   who.value, label(before), instruction(before), step[1].dump()));
    hand.step(who);
    played.back_to_l1.erase(who);
    if (before.label == Dijkstra::Label::L5 && hand.of(who).label == Dijkstra::Label::L1)
      played.back_to_l1.insert(who);
    ++number;
    rows.push_back(row_after(hand, who, columns));
    for (const auto& [key, wanted] : vector.expected.items()) {
      if (step_named(key) == number) snapshots[key] = snapshot(hand, played, wanted);
    }
  }
  hand.finish(false);
  Json found = hand.found();
  found["after_each_step"] = rows;
  found["columns"] = columns;
  found["final"] = snapshot(hand, played, vector.expected.value("final", Json::object()));
  found.update(snapshots);
  return found;
}

std::vector<NodeId> schedule(const Json& list, const NodeSet& all) {
  std::vector<NodeId> steps;
  for (const Json& who : list) steps.push_back(process(who.is_array() && !who.empty() ? who[0] : who, all));
  return steps;
}

// Before each step of the cycle the process must be at the label that the vector says.
void check_labels(sim::RegisterMachine<Dijkstra> machine, const sim::Lasso& lasso, const Json& labels) {
  for (NodeId who : lasso.prefix) machine.step_eagerly(who.value - 1);
  for (std::size_t i = 0; i < lasso.cycle.size() && i < labels.size(); ++i) {
    const Dijkstra& program = machine.of(lasso.cycle[i]);
    if (labels[i] != Json{program.self.value, label(program)})
      throw CannotPlay(fmt::format("step {} of the cycle: expected {}, p{} is at {}", i + 1, labels[i].dump(),
                                   program.self.value, label(program)));
    machine.step_eagerly(lasso.cycle[i].value - 1);
  }
}

Json play_cycle(const Vector& vector, const NodeSet& all, const Dijkstra::Setup& setup) {
  auto machine = sim::RegisterMachine<Dijkstra>::start(all, setup);
  set_flags(machine, vector.config, "initial_b", true);
  set_flags(machine, vector.config, "initial_c", false);
  const sim::Lasso lasso = {schedule(vector.inputs.value("prefix", Json::array()), all),
                            schedule(need(vector.inputs, "cycle"), all)};
  check_labels(machine, lasso, vector.inputs.value("cycle_labels", Json::array()));
  const sim::Turn turn = sim::walk_turn(machine, lasso);
  Json found = {{"cycle_returns_to_same_state", turn.returns},
                {"cycle_length", lasso.cycle.size()},
                {"max_in_cs", turn.most_inside},
                {"ME", verdict(turn.most_inside <= 1)}};
  found["EM1"] = found["ME"];
  bool starves = false;
  bool fair = true;
  bool somebody_enters = false;
  Json entries = Json::object();
  for (const auto& [who, count] : turn.entries) {
    const std::uint64_t steps = turn.steps.at(who);
    entries[std::to_string(who.value)] = count;
    found[fmt::format("steps_of_p{}_per_cycle", who.value)] = steps;
    // A process that never asks neither starves nor is neglected.
    starves = starves || (steps > 0 && count == 0);
    somebody_enters = somebody_enters || count > 0;
    for (NodeId asked : lasso.prefix) fair = fair && (asked != who || steps > 0);
  }
  found["entries_per_cycle"] = entries;
  found["weakly_fair"] = fair;
  found["NS"] = verdict(!(turn.returns && starves && fair));
  found["EM2"] = found["NS"];
  found["ND"] = verdict(!(turn.returns && fair && !somebody_enters));
  return found;
}

Json play_dijkstra(const Vector& vector) {
  const NodeSet all = processes(vector.config);
  const Dijkstra::Setup setup = dijkstra_setup(vector, all);
  if (vector.inputs.contains("cycle")) return play_cycle(vector, all, setup);
  return play_steps(vector, all, setup);
}

// Bakery.

class BakeryPlay {
 public:
  BakeryPlay(const NodeSet& all, const Bakery::Setup& setup, Registers kind)
      : all_(all), hand_(all, setup, kind) {}

  void direct(const Json& action) {
    const std::string act = need(action, "act").get<std::string>();
    if (act == "run" || act == "drain") return run_all();
    if (act == "check") return check(need(action, "state"));
    const NodeId who = process(need(action, "p"), all_);
    if (act == "max") return read_all(who);
    if (act == "set") return draw(who);
    if (act == "want") return hand_.ask(who);
    if (act == "doorway") {
      read_all(who);
      return draw(who);
    }
    if (act == "enter") return enter(who);
    if (act == "leave") return leave(who);
    if (act == "step") return hand_.step(who);
    throw CannotPlay(fmt::format("unknown action '{}'", act));
  }

  Json found() {
    hand_.finish(false);
    Json found = hand_.found();
    found["num"] = tickets_;
    found["largest_ticket_seen"] = hand_.monitor().highest("num");
    found["NS"] = found["EM2"];
    Json inside = Json::array();
    Json states = Json::object();
    for (NodeId who : all_) {
      if (hand_.of(who).inside()) inside.push_back(who.value);
      states[std::to_string(who.value)] = state(who);
    }
    found["in_cs"] = inside;
    found["state"] = states;
    return found;
  }

 private:
  using Label = Bakery::Label;

  // Sets choosing and reads every number, up to the point of writing its own.
  void read_all(NodeId who) {
    hand_.ask(who);
    while (hand_.of(who).label == Label::NC || hand_.of(who).label == Label::D1) hand_.instruction(who);
  }

  void draw(NodeId who) {
    if (hand_.of(who).label != Label::D2)
      throw CannotPlay(fmt::format("p{} has not read the numbers, it cannot set its own", who.value));
    while (in_doorway(who)) hand_.instruction(who);
    tickets_[std::to_string(who.value)] = hand_.of(who).ticket;
  }

  void enter(NodeId who) {
    if (hand_.of(who).label == Label::NC) read_all(who);
    if (hand_.of(who).label == Label::D2) draw(who);
    while (!hand_.of(who).inside()) {
      if (!advances(who)) throw CannotPlay(fmt::format("p{} cannot enter, it waits", who.value));
    }
  }

  void leave(NodeId who) {
    hand_.leave(who);
    hand_.instruction(who);
  }

  // Everybody who has asked proceeds, turn about; whoever is inside leaves at once.
  void run_all() {
    for (bool moved = true; moved;) {
      moved = false;
      for (NodeId who : all_) {
        if (hand_.of(who).inside()) {
          leave(who);
          moved = true;
          continue;
        }
        if (!hand_.of(who).next()) continue;
        const bool drawing = in_doorway(who);
        moved = advances(who) || moved;
        if (drawing && !in_doorway(who)) tickets_[std::to_string(who.value)] = hand_.of(who).ticket;
      }
    }
  }

  // One instruction; false if it only found out that it has to wait.
  bool advances(NodeId who) {
    const Bakery before = hand_.of(who);
    hand_.instruction(who);
    return !(hand_.of(who) == before);
  }

  bool in_doorway(NodeId who) {
    const Label at = hand_.of(who).label;
    return at == Label::D1 || at == Label::D2 || at == Label::D3;
  }

  const char* state(NodeId who) {
    if (hand_.of(who).inside()) return "HELD";
    return hand_.of(who).next() ? "WANTED" : "RELEASED";
  }

  void check(const Json& states) {
    for (const auto& [key, wanted] : states.items()) {
      std::uint32_t id = 0;
      std::from_chars(key.data(), key.data() + key.size(), id);
      const NodeId who = process(Json(id), all_);
      if (wanted != state(who))
        throw CannotPlay(fmt::format("p{} should be {}, is {}", id, wanted.dump(), state(who)));
    }
  }

  NodeSet all_;
  Hand<Bakery> hand_;
  Json tickets_ = Json::object();  // the last that each has drawn
};

Json play_bakery(const Vector& vector) {
  const NodeSet all = processes(vector.config);
  const Bakery::Setup setup = {.no_choosing =
                                   !vector.config.value("choosing", vector.variant != "no-choosing")};
  const std::string kind = vector.config.value("registers", vector.variant == "safe" ? "safe" : "atomic");
  if (kind != "safe" && kind != "atomic")
    throw CannotPlay(fmt::format("registers '{}' are neither atomic nor safe", kind));
  BakeryPlay play(all, setup, kind == "safe" ? Registers::safe : Registers::atomic);
  for (const Json& action : need(vector.inputs, "script")) play.direct(action);
  return play.found();
}

}  // namespace

std::optional<Result> run_registers(const Vector& vector) {
  if (vector.algorithm == "dijkstra") return answered(vector, [&] { return play_dijkstra(vector); });
  if (vector.algorithm == "bakery") return answered(vector, [&] { return play_bakery(vector); });
  return std::nullopt;
}

}  // namespace conclave::accept
