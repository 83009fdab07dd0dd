#include <fmt/format.h>

#include <algorithm>

#include "accept/families.hpp"
#include "accept/mutex_figures.hpp"
#include "accept/mutex_play.hpp"
#include "core/ensure.hpp"

namespace conclave::accept {
namespace {

struct Named {
  std::string_view vector_algorithm;
  std::string_view vector_variant;  // empty: any
  std::string_view entry;
};

constexpr Named names[] = {
    {"central_server", "", "central-server"},
    {"token_central", "", "central-token"},
    {"token_ring", "", "token-ring"},
    {"lamport_mutex", "", "lamport"},
    {"ricart_agrawala", "carvalho-roucairol", "carvalho-roucairol"},
    {"ricart_agrawala", "just-released", "ricart-agrawala-just-released"},
    {"ricart_agrawala", "", "ricart-agrawala"},
    {"maekawa", "", "maekawa"},
    {"maekawa_deadlock_free", "", "maekawa-deadlock-free"},
    {"bakery_messages", "", "bakery-messages"},
};

NodeId node(const Json& value) {
  if (!value.is_number_unsigned()) throw CannotPlay(fmt::format("{} is no process number", value.dump()));
  return {value.get<std::uint32_t>()};
}

NodeId node(const std::string& key) { return {static_cast<std::uint32_t>(std::stoul(key))}; }

std::map<NodeId, NodeSet> voting_sets(const Json& config) {
  std::map<NodeId, NodeSet> sets;
  if (!config.contains("sets")) return sets;
  for (const auto& [member, voters] : config["sets"].items()) {
    NodeSet& set = sets[node(member)];
    for (const Json& voter : voters) set.insert(node(voter));
  }
  return sets;
}

// Processes are 1 … n, with a server 0; on a ring as listed, else 0 … n-1.
NodeSet members_of(const catalogue::Entry& entry, const Json& config) {
  NodeSet members;
  if (config.contains("ring")) {
    for (const Json& member : config["ring"]) members.insert(node(member));
    return members;
  }
  const auto n = need(config, "n").get<std::uint32_t>();
  if (n < 1 || n > 10'000) throw CannotPlay(fmt::format("n = {} is out of range", n));
  if (entry.name == "token-ring") return NodeSet::range({0}, n);
  return entry.members(n);
}

catalogue::Setting setting_of(const catalogue::Entry& entry, const Vector& vector, const Json& config) {
  catalogue::Setting setting = {.protocol = std::string(entry.name), .members = members_of(entry, config)};
  // A variant that is an entry of its own is canonical there.
  if (entry.variant(vector.variant)) setting.variant = vector.variant;
  if (config.value("denied", false)) setting.variant = "denied";
  setting.voting_sets = voting_sets(config);
  if (config.contains("ring")) {
    for (const Json& member : config["ring"]) setting.ring.push_back(node(member));
  }
  setting.token_under_way = config.contains("initially_in_flight");
  if (config.contains("clock_before_request")) {
    for (const auto& [member, clock] : config["clock_before_request"].items())
      setting.clocks[node(member)] = clock.get<std::uint64_t>();
  }
  return setting;
}

Play make_play(const catalogue::Entry& entry, const Vector& vector, const Json& config) {
  return Play(entry, setting_of(entry, vector, config), config.value("channel", Json("fifo")) != "unordered");
}

// The vector that a request carried, over the processes 1 … n.
Json counts_of(const Json& clock, const NodeSet& members) {
  Json list = Json::array();
  for (NodeId member : members) {
    if (member.value == 0) continue;  // the coordinator never asks
    list.push_back(clock.value(std::to_string(member.value), 0));
  }
  return list;
}

// What only some algorithms know of: read from their state after each request.
struct Requests {
  Json timestamps = Json::object();
  Json vectors = Json::object();

  void look(const Play& play, NodeId who) {
    const Json state = play.state(who);
    const std::string key = std::to_string(who.value);
    if (state.contains("request") && state["request"].is_object())
      timestamps[key] = state["request"]["counter"];
    if (state.contains("known")) vectors[key] = counts_of(state["known"], play.members());
  }
};

void direct(Play& play, const Json& action, Requests& requests) {
  const std::string act = need(action, "act").get<std::string>();
  if (act == "want") {
    const NodeId who = node(need(action, "p"));
    play.want(who);
    requests.look(play, who);
  } else if (act == "leave" || act == "exit_part_1") {
    play.leave(node(need(action, "p")));
  } else if (act == "exit_part_2") {
    play.fire(node(need(action, "p")));
  } else if (act == "deliver") {
    play.deliver(node(need(action, "from")), node(need(action, "to")),
                 need(action, "type").get<std::string>());
  } else if (act == "app") {
    play.tell(node(need(action, "from")), node(need(action, "to")));
  } else if (act == "crash") {
    play.crash(node(need(action, "p")));
  } else if (act == "drain") {
    play.drain();
  } else if (act == "check") {
    for (const auto& [who, state] : need(action, "state").items()) {
      if (play.phase(node(who)) != state)
        throw CannotPlay(fmt::format("p{} should be {}, is {}", who, state.dump(), play.phase(node(who))));
    }
  } else {
    throw CannotPlay(fmt::format("unknown action '{}'", act));
  }
}

Json to_json(const std::vector<NodeId>& nodes) {
  Json list = Json::array();
  for (NodeId who : nodes) list.push_back(who.value);
  return list;
}

// Whether the first request of each process in the list happened before that of the next.
bool happened_in_order(const Play& play, const Json& list) {
  std::vector<const trace::Step*> requests;
  for (const Json& who : list) {
    const auto found = std::ranges::find_if(play.steps(), [&](const trace::Step& step) {
      return step.kind == trace::Kind::command && step.input.type == "Acquire" && step.node == node(who);
    });
    if (found == play.steps().end()) return false;
    requests.push_back(&*found);
  }
  for (std::size_t i = 1; i < requests.size(); ++i) {
    const NodeId earlier = *requests[i - 1]->node;
    if (requests[i]->vector[earlier] < requests[i - 1]->vector[earlier]) return false;
  }
  return true;
}

Json sequence_of(const Play& play, const Json& wanted) {
  Json sequence = Json::array();
  for (const trace::Step& step : play.steps()) {
    if (step.kind == trace::Kind::tell) continue;
    for (const trace::Sent& sent : step.sends) {
      Json message = {vector_name(sent.what.type), step.node->value, sent.to.value};
      // The content is the first field, where the vector looks at one.
      const std::size_t place = sequence.size();
      if (place < wanted.size() && wanted[place].size() > 3) {
        const Json content = Json::parse(sent.what.content);
        message.push_back(content.empty() ? Json() : *content.begin());
      }
      sequence.push_back(message);
    }
  }
  return sequence;
}

// Whom each process has ever deferred.
std::map<NodeId, NodeSet> deferred(const Play& play) {
  std::map<NodeId, NodeSet> all;
  for (const trace::Step& step : play.steps()) {
    if (step.changed.empty()) continue;
    const Json changed = Json::parse(step.changed);
    if (!changed.contains("deferred")) continue;
    for (const Json& who : changed["deferred"]) all[*step.node].insert(node(who));
  }
  return all;
}

Json voted_for(const Json& state) {
  const Json& vote = state["voted_for"];
  return vote.is_object() ? vote["node"] : vote;
}

Json queue_of(const Json& state) {
  Json queue = Json::array();
  for (const Json& request : state["queue"]) queue.push_back(request.is_object() ? request["node"] : request);
  return queue;
}

void add_states(Json& got, const Play& play) {
  for (NodeId member : play.members()) {
    const std::string key = std::to_string(member.value);
    const Json state = play.state(member);
    got["state"][key] = play.phase(member);
    if (state.contains("voted_for")) got["voted_for"][key] = voted_for(state);
    if (state.contains("queue")) got["queues"][key] = queue_of(state);
    if (state.contains("served") && member == play.members().min())
      got["served_after"] = counts_of(state["served"], play.members());
  }
}

// Everything that a script vector may ask about.
Json outcome_of(const Play& play, const Requests& requests, const Json& expected) {
  const auto& summary = play.monitor().summary();
  Json got = {{"entries", to_json(summary.entries)},
              {"max_in_cs", summary.most_inside},
              {"total", summary.messages},
              {"in_flight", play.in_flight()},
              {"request_timestamps", requests.timestamps},
              {"request_vectors", requests.vectors}};
  if (!summary.entries.empty()) got["first_entry"] = summary.entries.front().value;
  const Json sent = play.sent();
  got["sent"] = sent;
  if (expected.contains("sent")) {
    // Types that were never sent count as zero, on both sides.
    for (const auto& [type, count] : expected["sent"].items()) {
      if (!sent.contains(type)) got["sent"][type] = 0;
    }
    for (const auto& [type, count] : sent.items()) {
      if (!expected["sent"].contains(type)) got["sent"] = fmt::format("also {} {}", count.dump(), type);
    }
  }
  for (const trace::Verdict& verdict : play.monitor().verdicts())
    got[verdict.property] = verdict.holds ? "holds" : "violated";
  got["NS"] = got["EM2"];
  got["deadlock"] = got["ND"] == "holds" ? "none" : "reachable";
  if (expected.contains("request_order_happened_before") &&
      happened_in_order(play, expected["request_order_happened_before"]))
    got["request_order_happened_before"] = expected["request_order_happened_before"];
  if (expected.contains("sequence")) got["sequence"] = sequence_of(play, expected["sequence"]);
  if (expected.contains("deferred_by") || expected.contains("never_deferred_by")) {
    const auto all = deferred(play);
    got["deferred_by"] = Json::object();
    for (const auto& [who, set] : all)
      got["deferred_by"][std::to_string(who.value)] = to_json({set.begin(), set.end()});
    got["never_deferred_by"] = Json::array();
    for (NodeId member : play.members()) {
      if (!all.contains(member) || all.at(member).empty()) got["never_deferred_by"].push_back(member.value);
    }
  }
  add_states(got, play);
  return got;
}

Json run_script(const catalogue::Entry& entry, const Vector& vector) {
  Play play = make_play(entry, vector, vector.config);
  if (vector.config.contains("initially_in_flight")) {
    for (const Json& message : vector.config["initially_in_flight"])
      play.inject(node(message.at(1)), node(message.at(2)), message.at(0).get<std::string>());
  }
  Requests requests;
  for (const Json& action : need(vector.inputs, "script")) direct(play, action, requests);
  if (vector.config.contains("after_script")) play.let_everybody_leave();
  play.end();
  return outcome_of(play, requests, vector.expected);
}

// One process enters and leaves, k times, and nobody else asks.
Json run_alone(const catalogue::Entry& entry, const Vector& vector, Json config, NodeId who,
               std::uint64_t times) {
  Play play = make_play(entry, vector, config);
  std::uint64_t before_entry = 0;
  for (std::uint64_t i = 0; i < times; ++i) {
    play.want(who);
    if (!play.monitor().inside(who)) play.run_until_entry();
    if (i == 0) before_entry = play.monitor().summary().messages_before_first_entry;
    play.leave(who);
    if (entry.name != "token-ring") play.drain();  // an idle token never comes to rest
  }
  const Json sent = play.sent();
  Json got = sent;
  for (const auto& [type, count] : sent.items()) got[type + "_including_exit"] = count;
  got["TOKEN_before_entry"] = before_entry;
  if (!got.contains("TOKEN_including_exit")) got["TOKEN_including_exit"] = 0;
  got["total"] = play.monitor().summary().messages;
  got["before_entry"] = before_entry;
  got["entries"] = play.entries();
  return got;
}

// The token goes round with nobody wanting it.
Json run_idle(const catalogue::Entry& entry, const Vector& vector, const Json& config, std::uint64_t laps) {
  Play play = make_play(entry, vector, config);
  const std::uint64_t hops = laps * play.members().size();
  while (play.delivered() < hops && play.advance()) {
  }
  // The last delivery has passed the token on: that message belongs to the next lap.
  return {{"TOKEN", play.monitor().summary().messages - 1}, {"entries", play.entries()}};
}

Json count_row(const catalogue::Entry& entry, const Vector& vector, const Json& row) {
  Json config = vector.config;
  if (row.contains("n")) config["n"] = row["n"];
  const bool on_ring = entry.name == "token-ring";
  NodeId who = {on_ring ? 0u : 1u};
  if (vector.inputs.contains("requester")) who = node(vector.inputs["requester"]);
  if (row.contains("wanting")) who = node(row["wanting"]);
  Json got;
  if (vector.inputs.contains("laps")) {
    got = run_idle(entry, vector, config, vector.inputs["laps"].get<std::uint64_t>());
  } else if (vector.variant == "kept-permission") {
    const auto times = need(row, "consecutive_entries_by_p1").get<std::uint64_t>();
    for (const auto& [key, name] : {std::pair("ricart_agrawala", "ricart-agrawala"),
                                    std::pair("just_released", "ricart-agrawala-just-released"),
                                    std::pair("carvalho_roucairol", "carvalho-roucairol")})
      got[key] = run_alone(*catalogue::find(name), vector, config, who, times)["total"];
    got["consecutive_entries_by_p1"] = times;
  } else {
    got = run_alone(entry, vector, config, who, row.value("k", std::uint64_t{1}));
  }
  for (const char* input : {"n", "wanting", "k"}) {
    if (row.contains(input)) got[input] = row[input];
  }
  if (on_ring) got["token_starts_at"] = 0;
  if (entry.name.starts_with("maekawa")) {
    const auto sets = voting_sets(config);
    const std::uint64_t k = sets.empty() ? voting_set_size(config["n"]) : sets.at(who).size();
    got["K"] = k;
    got["counting_self_messages"] = got["total"].get<std::uint64_t>() + 3;  // to oneself: ask, vote, release
  }
  // A type that was never sent counts as zero.
  for (const auto& [key, value] : row.items()) {
    if (!got.contains(key) && value == 0) got[key] = 0;
  }
  return got;
}

Json run_count(const catalogue::Entry& entry, const Vector& vector) {
  if (!vector.expected.contains("table")) return count_row(entry, vector, vector.expected);
  Json table = Json::array();
  for (const Json& row : vector.expected["table"]) table.push_back(count_row(entry, vector, row));
  return {{"table", table}};
}

bool knows_variant(const catalogue::Entry& entry, const Vector& vector) {
  if (entry.variant(vector.variant) || vector.variant == "kept-permission") return true;
  return std::ranges::any_of(names, [&](const Named& named) {
    return named.vector_algorithm == vector.algorithm && named.vector_variant == vector.variant;
  });
}

}  // namespace

const catalogue::Entry* mutex_entry(const Vector& vector) {
  for (const Named& named : names) {
    if (named.vector_algorithm != vector.algorithm) continue;
    if (named.vector_variant.empty() || named.vector_variant == vector.variant)
      return catalogue::find(named.entry);
  }
  return nullptr;
}

std::optional<Result> run_mutex(const Vector& vector) {
  if (vector.algorithm != "comparison" &&
      std::ranges::find(names, vector.algorithm, &Named::vector_algorithm) == std::end(names))
    return std::nullopt;
  return answered(vector, [&]() -> Json {
    if (vector.kind == "formula" || vector.kind == "check") return figures(vector);
    const catalogue::Entry* entry = mutex_entry(vector);
    if (!entry || !knows_variant(*entry, vector))
      throw CannotPlay(fmt::format("no variant '{}' of {}", vector.variant, vector.algorithm));
    if (vector.kind == "script") return run_script(*entry, vector);
    if (vector.kind == "count") return run_count(*entry, vector);
    throw CannotPlay(fmt::format("no kind '{}' for {}", vector.kind, vector.algorithm));
  });
}

}  // namespace conclave::accept
