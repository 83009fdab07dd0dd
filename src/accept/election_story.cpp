#include "accept/election_story.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "accept/mutex_play.hpp"
#include "trace/mutex_monitor.hpp"

namespace conclave::accept::election {
namespace {

bool announces(std::string_view type) {
  return type == "Elected" || type == "Coordinator" || type == "ELECTED" || type == "COORDINATOR";
}

Json parsed(const std::string& content) { return content.empty() ? Json::object() : Json::parse(content); }

// A message of one field is that field; of several, the one that has the ids.
Json plain(const Json& content) {
  for (const char* key : {"id", "list"}) {
    if (content.contains(key)) return content[key];
  }
  return content.size() == 1 ? *content.begin() : content;
}

std::uint64_t greatest_in(const Json& content) {
  if (content.is_number_unsigned()) return content.get<std::uint64_t>();
  std::uint64_t greatest = 0;
  if (content.is_structured()) {
    for (const Json& part : content) greatest = std::max(greatest, greatest_in(part));
  }
  return greatest;
}

}  // namespace

NodeId process(const Json& value) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
      value.get<std::int64_t>() > 4'000'000'000)
    throw CannotPlay(fmt::format("{} is no process number", value.dump()));
  return {value.get<std::uint32_t>()};
}

std::vector<NodeId> processes(const Json& list) {
  std::vector<NodeId> nodes;
  if (!list.is_array()) throw CannotPlay(fmt::format("{} is no list of processes", list.dump()));
  for (const Json& value : list) nodes.push_back(process(value));
  return nodes;
}

Json to_json(const std::vector<NodeId>& nodes) {
  Json list = Json::array();
  for (NodeId node : nodes) list.push_back(node.value);
  return list;
}

ElectionStory::ElectionStory(const std::vector<trace::Step>& steps) {
  for (const trace::Step& step : steps) look_at(step);
  for (Message& message : messages_) {
    if (message.bounced) attempts_.push_back(message);
  }
  std::erase_if(messages_, [](const Message& message) { return message.bounced; });
}

const ElectionStory::Message* ElectionStory::find(std::uint64_t id) const {
  const auto found = place_.find(id);
  return found == place_.end() ? nullptr : &messages_[found->second];
}

// The message that came back to its sender in this step.
ElectionStory::Message* ElectionStory::returned(const trace::Step& step) {
  const std::string type = vector_name(step.input.type);
  const Json content = parsed(step.input.content);
  for (Message& message : messages_) {
    if (!message.bounced && message.from == *step.node && message.to == *step.from && message.type == type &&
        message.content == content)
      return &message;
  }
  return nullptr;
}

void ElectionStory::look_at(const trace::Step& step) {
  if (step.kind == trace::Kind::lose && step.input.type == "receiver is down") ++lost_;
  if (!step.node || step.kind == trace::Kind::tell || step.kind == trace::Kind::hear) return;
  std::optional<NodeId> initiator = step.node;
  const bool arrives = step.kind == trace::Kind::deliver;
  if (arrives) {
    ++delivered_;
    if (const Message* message = step.message ? find(*step.message) : nullptr) initiator = message->initiator;
    if (announces(step.input.type)) {
      Json& list = receipts_.try_emplace(*step.node, Json::array()).first->second;
      list.push_back({step.at.count, step.from->value});
    }
  }
  if (step.kind == trace::Kind::bounce) {
    if (Message* message = returned(step)) {
      message->bounced = true;
      initiator = message->initiator;
    }
  }
  const bool relays = (arrives || step.kind == trace::Kind::bounce) && announces(step.input.type);
  bool began = false;
  for (const trace::Sent& sent : step.sends) {
    if (announces(sent.what.type) && !relays && !began) {
      announcers_.push_back(*step.node);
      began = true;
    }
    place_[sent.id] = messages_.size();
    messages_.push_back({.id = sent.id,
                         .step = step.number,
                         .at = step.at,
                         .type = vector_name(sent.what.type),
                         .from = *step.node,
                         .to = sent.to,
                         .content = parsed(sent.what.content),
                         .initiator = initiator});
  }
  for (const trace::Item& event : step.events) {
    changes_.push_back({step.number, *step.node, event.type == "Participating"});
    if (trace::number_field(event.content, "leader") == step.node->value) decided_[*step.node] = step.at;
  }
}

Json ElectionStory::sent() const {
  Json counts = Json::object();
  for (const Message& message : messages_)
    counts[message.type] = counts.value(message.type, std::uint64_t{0}) + 1;
  return counts;
}

Json ElectionStory::attempts() const {
  Json counts = Json::object();
  for (const Message& message : attempts_)
    counts[message.type] = counts.value(message.type, std::uint64_t{0}) + 1;
  return counts;
}

std::optional<Ticks> ElectionStory::decided(NodeId winner) const {
  const auto found = decided_.find(winner);
  return found == decided_.end() ? std::nullopt : std::optional(found->second);
}

Json ElectionStory::receipts() const {
  Json all = Json::object();
  for (const auto& [node, list] : receipts_) all[std::to_string(node.value)] = list;
  return all;
}

Json ElectionStory::lists() const {
  Json lists = Json::array();
  for (const Message& message : messages_) {
    if (message.type == "ELECTION" && message.content.contains("list"))
      lists.push_back(message.content["list"]);
  }
  return lists;
}

Json ElectionStory::sequence(const Json& wanted, const Json& columns, std::optional<NodeId> initiator) const {
  Json sequence = Json::array();
  for (const Message& message : messages_) {
    if (initiator && message.initiator != initiator) continue;
    const std::size_t place = sequence.size();
    const Json* sample = place < wanted.size() ? &wanted[place] : nullptr;
    Json line = Json::array();
    for (const Json& column : columns) {
      if (column == "time") line.push_back(message.at.count);
      if (column == "type") line.push_back(message.type);
      if (column == "from") line.push_back(message.from.value);
      if (column == "to") line.push_back(message.to.value);
      if (column == "content") {
        if (sample && line.size() >= sample->size()) continue;  // the vector does not look at it
        const bool whole = sample && (*sample)[line.size()].is_object();
        line.push_back(whole ? message.content : plain(message.content));
      }
    }
    sequence.push_back(line);
  }
  return sequence;
}

Json ElectionStory::snapshot(std::size_t sends) const {
  if (sends == 0 || sends > messages_.size())
    throw CannotPlay(fmt::format("no snapshot after {} sends: there were {}", sends, messages_.size()));
  const Message& last = messages_[sends - 1];
  std::vector<NodeId> participants;
  for (const Change& change : changes_) {
    if (change.step > last.step) break;
    std::erase(participants, change.node);
    if (change.takes_part) participants.push_back(change.node);
  }
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < sends; ++i)
    highest = std::max(highest, greatest_in(plain(messages_[i].content)));
  return {{"message", {last.type, last.from.value, last.to.value, plain(last.content)}},
          {"highest_so_far", highest},
          {"participants", to_json(participants)}};
}

namespace {

// Types that were never sent count as zero; types that the vector does not know are a difference.
Json counted(const Json& counts, const Json& wanted) {
  Json got = counts;
  for (const auto& [type, count] : wanted.items()) {
    if (!got.contains(type)) got[type] = 0;
  }
  for (const auto& [type, count] : counts.items()) {
    if (!wanted.contains(type)) return fmt::format("also {} {}", count.dump(), type);
  }
  return got;
}

// The same lines in another order at equal times are the same sequence.
bool same_per_time(Json one, Json other) {
  if (!one.is_array() || !other.is_array()) return false;
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  return one == other;
}

void add_sequences(Json& got, const Vector& vector, const ElectionStory& story) {
  const Json& expected = vector.expected;
  const bool timed = vector.kind == "timed";
  const Json usual = timed ? Json{"time", "type", "from", "to"} : Json{"type", "from", "to", "content"};
  const Json columns = expected.value("sequence_columns", usual);
  got["sequence_columns"] = columns;
  if (expected.contains("sequence")) {
    Json sequence = story.sequence(expected["sequence"], columns);
    const bool as_multisets = timed || expected.value("compare", Json()) == "as multisets per time";
    if (as_multisets && same_per_time(expected["sequence"], sequence)) sequence = expected["sequence"];
    got["sequence"] = sequence;
  }
  if (expected.contains("compare")) got["compare"] = expected["compare"];
  if (expected.contains("sequence_of_initiator")) {
    for (const auto& [initiator, wanted] : expected["sequence_of_initiator"].items())
      got["sequence_of_initiator"][initiator] =
          story.sequence(wanted, columns, NodeId{static_cast<std::uint32_t>(std::stoul(initiator))});
  }
}

constexpr std::string_view snapshot_prefix = "snapshot_after_";

}  // namespace

Json election_outcome(const Vector& vector, const std::vector<trace::Step>& steps,
                      const trace::ElectionMonitor& monitor, const NodeSet& members) {
  const Json& expected = vector.expected;
  const ElectionStory story(steps);
  const auto& summary = monitor.summary();
  Json got = {{"total", story.messages().size()},
              {"sent", expected.contains("sent") ? counted(story.sent(), expected["sent"]) : story.sent()},
              {"delivered", story.delivered()},
              {"lost_to_dead", story.lost_to_dead()},
              {"announcements", story.announcers().size()},
              {"receipts", story.receipts()},
              {"election_lists", story.lists()},
              {"leader_changes", summary.leader_changes},
              {"leader_changes_after_first", summary.leader_changes}};
  got["attempts_to_dead"] = expected.contains("attempts_to_dead")
                                ? counted(story.attempts(), expected["attempts_to_dead"])
                                : story.attempts();
  std::size_t longest = 0;
  for (const Json& list : got["election_lists"]) longest = std::max(longest, list.size());
  got["largest_list"] = longest;
  if (!story.announcers().empty()) {
    const bool all = expected.contains("closer") && expected["closer"].is_array();
    got["closer"] = all ? to_json(story.announcers()) : Json(story.announcers().front().value);
  }
  for (const trace::Verdict& verdict : monitor.verdicts())
    got[verdict.property] = verdict.holds ? "holds" : "violated";

  Json by_process = Json::object();
  Json participants = Json::array();
  std::optional<NodeId> greatest;
  for (NodeId node : members) {
    if (!monitor.is_up(node)) continue;
    greatest = node;
    const auto leader = monitor.elected(node);
    by_process[std::to_string(node.value)] = leader ? Json(leader->value) : Json();
    if (!leader && summary.participants.contains(node)) participants.push_back(node.value);
  }
  got["final_participants"] = participants;
  const Json leader = summary.leader ? Json(summary.leader->value) : Json();
  got["coordinator"] = got["leader"] = leader;
  got["final_elected"] = summary.leader && summary.leader == greatest ? Json("max id") : leader;
  const Json& wanted = expected.value("elected", Json());
  got["elected"] = wanted.is_object() ? by_process : wanted.is_string() ? got["final_elected"] : leader;
  if (summary.leader) {
    if (const auto at = story.decided(*summary.leader)) got["decided_at"] = at->count;
  }
  add_sequences(got, vector, story);
  for (const auto& [key, value] : expected.items()) {
    if (key.starts_with(snapshot_prefix) && key.ends_with("_sends"))
      got[key] = story.snapshot(std::stoul(key.substr(snapshot_prefix.size())));
  }
  return got;
}

}  // namespace conclave::accept::election
