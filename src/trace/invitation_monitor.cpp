#include "trace/invitation_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "trace/mutex_monitor.hpp"

namespace conclave::trace {
namespace {

std::string named(const InvitationMonitor::Group& group) {
  return fmt::format("group {} of p{}", group.first, group.second.value);
}

}  // namespace

void InvitationMonitor::begin(const Header& header) {
  for (NodeId node : header.nodes) processes_[node];
}

void InvitationMonitor::violate(Verdict& verdict, std::uint64_t step, std::string why) {
  if (!verdict.holds) return;  // the first violation is the one to look at
  verdict.holds = false;
  verdict.why = std::move(why);
  verdict.step = step;
}

void InvitationMonitor::see(const Step& step) {
  notice_trouble(step);
  for (const Item& event : step.events) {
    if (event.type == "Participating") processes_[*step.node].group.reset();
    if (event.type == "Joined") join(step, event);
  }
}

void InvitationMonitor::notice_trouble(const Step& step) {
  switch (step.kind) {
    case Kind::crash: {
      Process& dead = processes_[*step.node];
      dead = {.up = false, .newest = dead.newest};
      break;
    }
    case Kind::recover: processes_[*step.node].up = true; break;
    case Kind::pause: processes_[*step.node].paused = true; break;
    case Kind::resume: processes_[*step.node].paused = false; break;
    case Kind::partition: cut_ = true; break;
    case Kind::heal: cut_ = false; break;
    case Kind::clock:
    case Kind::disk:
    case Kind::duplicate: break;
    case Kind::lose:  // what is sent to a process that is down is lost for ever, and no news
      if (step.input.type == "receiver is down") return;
      break;
    default: return;
  }
  last_trouble_ = step.at;
}

void InvitationMonitor::join(const Step& step, const Item& joined) {
  const NodeId node = *step.node;
  const auto number = number_field(joined.content, "number");
  const auto founder = number_field(joined.content, "founder");
  const auto named_leader = number_field(joined.content, "leader");
  if (!number || !founder || !named_leader) return;
  const Group group = {*number, {static_cast<std::uint32_t>(*founder)}};
  const NodeId leader = {static_cast<std::uint32_t>(*named_leader)};

  const auto [known, is_new] = leaders_.try_emplace(group, leader);
  if (known->second != leader)
    violate(i1_, step.number,
            fmt::format("p{} has p{} for the leader of {}, whose leader was p{}", node.value, leader.value,
                        named(group), known->second.value));
  if (is_new && leader != node)
    violate(i1_, step.number,
            fmt::format("p{} joined {}, which p{} has not founded", node.value, named(group), leader.value));
  if (!is_new && leader == node)
    violate(i1_, step.number, fmt::format("p{} founded {} twice", node.value, named(group)));

  Process& here = processes_[node];
  if (here.newest && group <= *here.newest)
    violate(i3_, step.number,
            fmt::format("p{} joined {} after {}", node.value, named(group), named(*here.newest)));
  here.newest = here.group = group;
  most_groups_ = std::max(most_groups_, groups().size());
}

std::map<InvitationMonitor::Group, NodeSet> InvitationMonitor::groups() const {
  std::map<Group, NodeSet> groups;
  for (const auto& [node, here] : processes_) {
    if (here.up && here.group) groups[*here.group].insert(node);
  }
  return groups;
}

std::optional<NodeId> InvitationMonitor::leader_of(NodeId node) const {
  const auto found = processes_.find(node);
  if (found == processes_.end() || !found->second.group) return std::nullopt;
  return leaders_.at(*found->second.group);
}

void InvitationMonitor::end(const End& end) {
  const bool standing =
      std::ranges::any_of(processes_, [](const auto& entry) { return entry.second.paused; });
  judged_ = !cut_ && !standing && end.at.count >= last_trouble_.count + calm_.count;
  if (!judged_) return;
  std::optional<std::pair<NodeId, Group>> first;
  for (const auto& [node, here] : processes_) {
    if (!here.up) continue;
    if (!here.group) {
      violate(i2_, 0, fmt::format("p{} ends without a group", node.value));
    } else if (!first) {
      first.emplace(node, *here.group);
    } else if (*here.group != first->second) {
      violate(i2_, 0,
              fmt::format("p{} ends in {}, p{} in {}", first->first.value, named(first->second), node.value,
                          named(*here.group)));
    }
  }
}

std::vector<Fact> InvitationMonitor::facts() const {
  const auto number = [](const char* name, std::size_t value) {
    return Fact{name, std::to_string(value), std::to_string(value)};
  };
  const auto last = groups();
  const bool one = last.size() == 1;
  const NodeId leader = one ? leaders_.at(last.begin()->first) : NodeId{};
  return {{"leader", one ? fmt::format("p{}", leader.value) : "one for every group",
           one ? std::to_string(leader.value) : "null"},
          number("groups_founded", leaders_.size()),
          number("groups_at_a_time", most_groups_),
          number("groups_at_the_end", last.size()),
          {"merge_judged", judged_ ? "yes" : "no: the run ended too soon after the last fault",
           judged_ ? "true" : "false"}};
}

}  // namespace conclave::trace
