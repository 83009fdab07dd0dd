#include "accept/election_run.hpp"

#include <fmt/format.h>

#include "accept/mutex_play.hpp"
#include "trace/tee.hpp"

namespace conclave::accept::election {
namespace {

constexpr std::size_t most_steps = 1'000'000;
constexpr std::uint64_t most_processes = 500;  // some elections send the square of it

// Who goes round for ever is stopped after so many messages: no election among so few takes more.
std::size_t patience(const NodeSet& members) {
  return std::min<std::size_t>(most_steps / 2, 1000 + 20 * std::size_t{members.size()} * members.size());
}

void need_member(const NodeSet& members, NodeId node) {
  if (!members.contains(node)) throw CannotPlay(fmt::format("{} is no member", node.value));
}

void need_all(const trace::Keeper& keeper) {
  if (keeper.dropped_some()) throw CannotPlay(fmt::format("more than {} steps", most_steps));
}

// An election on a stage.
class Play {
 public:
  explicit Play(const Company& company)
      : keeper_(most_steps),
        tee_({&monitor_, &keeper_}),
        stage_(company.entry->stage(company.setting, &tee_)) {
    for (NodeId node : company.dead) crash(node);
  }
  Play(const Play&) = delete;  // the stage reports to its members

  void start(NodeId node) {
    need_member(stage_->members(), node);
    follow(stage_->command(node, "Start"), fmt::format("detect {}", node.value));
  }
  void crash(NodeId node) {
    need_member(stage_->members(), node);
    follow(stage_->crash(node), fmt::format("crash {}", node.value));
  }
  void deliver(NodeId from, NodeId to, const std::string& type, bool in_order) {
    follow(stage_->deliver(from, to, type_of(type), in_order),
           fmt::format("deliver {} {} {}", from.value, to.value, type));
  }
  // Messages in the order of sending. When none is left but somebody still waits, its time-out comes.
  void drain() {
    for (std::size_t left = patience(stage_->members()); left > 0; --left) {
      if (!stage_->deliver_oldest() && !stage_->fire_oldest()) return;
    }
  }

  Json outcome(const Vector& vector) {
    stage_->end();
    need_all(keeper_);
    Json got = election_outcome(vector, keeper_.steps(), monitor_, stage_->members());
    got["in_flight"] = stage_->in_flight().size();
    got["terminates"] = stage_->in_flight().empty() && got["E2"] == "holds";
    Json membership;
    for (NodeId node : stage_->members()) {
      if (!monitor_.is_up(node)) continue;
      const Json state = Json::parse(stage_->state(node));
      if (!state.contains("members")) return got;
      if (!membership.is_null() && membership != state["members"]) return got;
      membership = state["members"];
    }
    got["members"] = membership;
    return got;
  }

  std::optional<NodeId> elected(NodeId node) const { return monitor_.elected(node); }

 private:
  static void follow(const std::string& problem, const std::string& direction) {
    if (!problem.empty()) throw CannotPlay(fmt::format("'{}' cannot be done: {}", direction, problem));
  }

  trace::ElectionMonitor monitor_;
  trace::Keeper keeper_;
  trace::Tee tee_;
  std::unique_ptr<sim::Stage> stage_;
};

void direct(Play& play, const Json& action, bool in_order) {
  const std::string act = need(action, "act").get<std::string>();
  if (act == "detect" || act == "start") {
    play.start(process(need(action, "p")));
  } else if (act == "deliver") {
    play.deliver(process(need(action, "from")), process(need(action, "to")),
                 need(action, "type").get<std::string>(), in_order);
  } else if (act == "crash") {
    play.crash(process(need(action, "p")));
  } else if (act == "drain") {
    play.drain();
  } else if (act == "check") {
    for (const auto& [who, leader] : need(action, "elected").items()) {
      const auto found = play.elected({static_cast<std::uint32_t>(std::stoul(who))});
      if (leader.is_null() ? found.has_value() : found != process(leader))
        throw CannotPlay(fmt::format("the leader of p{} should be {}", who, leader.dump()));
    }
  } else {
    throw CannotPlay(fmt::format("unknown action '{}'", act));
  }
}

// The time bounds of the vector, as parameters of the algorithm.
std::map<std::string, std::string> bounds_of(const Json& config) {
  const auto number = [&](const char* key, std::uint64_t otherwise) {
    return config.contains(key) && config[key].is_number_unsigned() ? config[key].get<std::uint64_t>()
                                                                    : otherwise;
  };
  std::uint64_t transmission = number("T_t", number("T_m", number("latency", 1)));
  std::uint64_t processing = number("T_p", 0);
  // T alone: the transmission takes what the latency says, the processing what is left.
  if (config.contains("T") && config["T"].is_number_unsigned() && !config.contains("T_p")) {
    const std::uint64_t whole = config["T"].get<std::uint64_t>();
    if (2 * transmission > whole) transmission = whole / 2;
    processing = whole - 2 * transmission;
  }
  return {{"T_t", std::to_string(transmission)}, {"T_p", std::to_string(processing)}};
}

using What = sim::Action::What;

What what_of(const std::string& name) {
  if (name == "crash") return What::crash;
  if (name == "detect" || name == "start") return What::wish;
  if (name == "replace" || name == "recover" || name == "restart") return What::recover;
  throw CannotPlay(fmt::format("unknown event '{}'", name));
}

// Events are [time, what, process], or lists of [time, process] under the name of what happens.
sim::Script script_of(const Company& company, const Json& inputs) {
  sim::Script script;
  const auto add = [&](const Json& time, const std::string& name, const Json& who) {
    sim::Action action = {.what = what_of(name), .at = {time.get<std::uint64_t>()}, .node = process(who)};
    need_member(company.setting.members, action.node);
    if (action.at.count > 1'000'000'000'000u) throw CannotPlay("that is too late");
    action.forever = action.what == What::crash;
    action.durable = action.what != What::recover;
    script.push_back(action);
  };
  for (NodeId node : company.dead) script.push_back({.what = What::crash, .node = node, .forever = true});
  if (inputs.contains("events")) {
    for (const Json& event : inputs["events"]) add(event.at(0), event.at(1).get<std::string>(), event.at(2));
  }
  for (const char* name : {"crash", "detect", "recover", "replace"}) {
    if (!inputs.contains(name)) continue;
    for (const Json& event : inputs[name]) add(event.at(0), name, event.at(1));
  }
  // Who comes back was down before.
  for (const sim::Action& action : sim::Script(script)) {
    const bool was_up =
        action.what == What::recover && std::ranges::none_of(script, [&](const sim::Action& other) {
          return other.what == What::crash && other.node == action.node && other.at <= action.at;
        });
    if (was_up) script.insert(script.begin(), {.what = What::crash, .node = action.node, .forever = true});
  }
  return script;
}

void set_delays(sim::DelayModel& delays, const Company& company, const Json& config, const Json& inputs) {
  const auto fixed = [](std::uint64_t ticks) { return sim::Delay{sim::Delay::Shape::fixed, ticks, ticks}; };
  delays.usual = fixed(config.contains("latency") ? config["latency"].get<std::uint64_t>()
                                                  : std::stoull(company.setting.parameters.at("T_t")));
  const Json& table = inputs.contains("latencies") ? inputs["latencies"] : config.value("latencies", Json());
  if (table.is_null()) return;
  Json columns = {"type", "from", "to", "delay"};
  for (const Json* place : {&config, &inputs}) {
    if (place->contains("latency_columns")) columns = (*place)["latency_columns"];
  }
  for (const Json& line : table) {
    Json named;
    for (std::size_t i = 0; i < columns.size(); ++i) named[columns[i].get<std::string>()] = line.at(i);
    const NodeId from = process(need(named, "from"));
    const NodeId to = process(need(named, "to"));
    const sim::Delay delay = fixed(need(named, "delay").get<std::uint64_t>());
    if (named.contains("type")) {
      delays.per_message[{type_of(named["type"].get<std::string>()), from, to}] = delay;
    } else {
      delays.per_link[{from, to}] = delay;
    }
  }
}

}  // namespace

Company company_of(const catalogue::Entry& entry, const std::string& variant, const Json& config) {
  Company company = {.entry = &entry,
                     .setting = {.protocol = std::string(entry.name), .parameters = bounds_of(config)}};
  catalogue::Setting& setting = company.setting;
  if (entry.variant(variant)) setting.variant = variant;
  // The second wait that some leave out.
  if (config.contains("T_prime") && (config["T_prime"].is_null() || config["T_prime"] == false) &&
      entry.variant("no-second-wait"))
    setting.variant = "no-second-wait";
  // The list that only its starter takes off the ring.
  if (entry.name == "ring-list" && config.value("hardening", true) == false)
    setting.variant = "starter-closes";
  for (const char* key : {"ring", "ids"}) {
    if (!config.contains(key) || !config[key].is_array()) continue;
    for (NodeId node : processes(config[key])) setting.members.insert(node);
    if (setting.members.size() != config[key].size()) throw CannotPlay("an id stands twice in the ring");
    if (key == std::string_view("ring")) setting.ring = processes(config[key]);
    break;
  }
  const std::uint64_t n =
      setting.members.empty() ? need(config, "n").get<std::uint64_t>() : setting.members.size();
  if (n < 1 || n > most_processes) throw CannotPlay(fmt::format("n = {} is out of range", n));
  if (setting.members.empty()) setting.members = NodeSet::range({1}, static_cast<std::uint32_t>(n));
  if (setting.ring.empty()) setting.ring = {setting.members.begin(), setting.members.end()};
  if (config.contains("dead") && config["dead"].is_array()) {
    for (NodeId node : processes(config["dead"])) company.dead.insert(node);
  }
  for (const char* key : {"current_coordinator", "coordinator"}) {
    if (config.contains(key) && config[key].is_number()) setting.coordinator = process(config[key]);
  }
  for (NodeId node : company.dead) need_member(setting.members, node);
  if (setting.coordinator) need_member(setting.members, *setting.coordinator);
  return company;
}

Json play_starters(const Vector& vector, const Company& company, const std::vector<NodeId>& starters) {
  Play play(company);
  for (NodeId node : starters) play.start(node);
  play.drain();
  return play.outcome(vector);
}

Json play_script(const Vector& vector, const Company& company, const Json& script) {
  Play play(company);
  const bool in_order = vector.config.value("channel", Json("fifo")) != "unordered";
  for (const Json& action : script) direct(play, action, in_order);
  return play.outcome(vector);
}

Json play_timed(const Vector& vector, const Company& company, const Json& config, const Json& inputs) {
  sim::Options options = {.nodes = company.setting.members.size(), .members = company.setting.members};
  set_delays(options.delay, company, config, inputs);
  options.script = script_of(company, inputs);
  options.detector = false;  // the vector says who notices what, and when
  options.ranked = true;
  options.step_limit = most_steps;
  trace::ElectionMonitor monitor;
  trace::Keeper keeper(most_steps);
  trace::Tee tee({&monitor, &keeper});
  const sim::Report report = company.entry->simulate(options, company.setting, &tee);
  if (!report.broken.empty())
    throw CannotPlay(fmt::format("the protocol broke its own rule: {}", report.broken));
  need_all(keeper);
  Json got = election_outcome(vector, keeper.steps(), monitor, company.setting.members);
  got["terminates"] = report.quiet && got["E2"] == "holds";
  got["end"] = report.end.count;
  return got;
}

}  // namespace conclave::accept::election
