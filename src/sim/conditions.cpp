#include "sim/conditions.hpp"

#include <algorithm>

#include "sim/slowness.hpp"

namespace conclave::sim {

Conditions::Conditions(const Options& options, const Nature& nature) : options_(options), nature_(nature) {
  set_disks();
  fifo_ = options_.fifo.value_or(nature_.assumes.links == Links::reliable_fifo);
  lossy_ = nature_.assumes.links == Links::lossy;
  if (options_.script) {
    for (const Action& action : *options_.script) {
      if (action.concerns_message()) scripted_[{action.node.value, action.nth}].push_back(action);
    }
  }
  const bool fixed = options_.delay.is_fixed();
  if (fixed) fixed_delay_ = options_.delay.usual.least;
  swift_ = plain_links_ = options_.delay.per_link.empty() && options_.delay.per_message.empty() &&
                          (fixed || !fifo_) && !options_.faults.touches_messages() && scripted_.empty();
}

Conditions::~Conditions() = default;

// A disk that may stand still or lose something takes time, and is sometimes slow.
void Conditions::set_disks() {
  slow_disks_ = options_.faults.unsynced;
  bool take_time = options_.faults.touches_disks();
  for (const Action& action : options_.script.value_or(Script{})) {
    take_time |= action.what == Action::What::stall;
    if (action.what != Action::What::disk) continue;
    slow_disks_ = true;
    options_.sync_ticks = static_cast<std::uint64_t>(action.amount);
  }
  if (take_time && options_.sync_ticks == 0) options_.sync_ticks = usual_sync_ticks;
  if (slow_disks_ && !options_.script)
    record({.what = Action::What::disk, .amount = static_cast<std::int64_t>(options_.sync_ticks)});
}

void Conditions::set_window() { report_.window = end_of_faults(options_); }

// For protocols that never come to rest: long after everybody should have been served.
void Conditions::set_deadline() {
  Ticks patience = {1000 * (1 + fault_window(options_).count) +
                    1000ull * options_.nodes * std::max<std::uint64_t>(1, options_.delay.usual.mean())};
  if (options_.patience.count > 0) patience = options_.patience;
  deadline_ = report_.window + (options_.until.count > 0 ? options_.until : patience);
}

Script Conditions::planned_actions(const NodeSet& all) const {
  Script actions;
  if (options_.script) {
    for (const Action& action : *options_.script) {
      if (!action.concerns_message()) actions.push_back(action);
    }
    return actions;
  }
  const CrashPlan crashes = {nature_.assumes.crashes == Crashes::stop, options_.most_crashes};
  actions = plan_faults(options_.faults, all, report_.window, options_.seed, crashes);
  // In rounds the moment that matters is the broadcast with which one begins.
  for (Action& action : actions) {
    if (nature_.in_rounds && action.what == Action::What::crash)
      action.at.count -= action.at.count % round_length;
  }
  return actions;
}

std::vector<std::uint32_t> Conditions::starters(std::uint32_t nodes) const {
  std::vector<std::uint32_t> some;
  for (std::uint32_t i = nature_.has_server ? 1 : 0; i < nodes && options_.entries > 0; ++i)
    some.push_back(i);
  if (options_.starters == 0 || options_.starters >= some.size()) return some;
  const auto lot = [&](std::uint32_t i) { return Draw(options_.seed, Purpose::plan, 7, i).bits(); };
  std::ranges::sort(some, {}, lot);
  some.resize(options_.starters);
  std::ranges::sort(some);
  return some;
}

std::uint64_t Conditions::sample_delay(std::uint32_t from, NodeId from_id, NodeId to_id,
                                       std::uint64_t nth) const {
  const Delay& delay = options_.delay.on(from_id, to_id);
  if (delay.shape == Delay::Shape::fixed) return delay.least;
  return delay.sample(Draw(options_.seed, Purpose::delay, from, nth));
}

std::uint64_t Conditions::delay_of(std::uint32_t from, NodeId from_id, NodeId to_id, std::string_view type,
                                   std::uint64_t nth) const {
  const auto& by_type = options_.delay.per_message;
  if (!by_type.empty()) {
    const auto found = by_type.find(std::tuple(std::string(type), from_id, to_id));
    if (found != by_type.end()) return found->second.sample(Draw(options_.seed, Purpose::delay, from, nth));
  }
  return sample_delay(from, from_id, to_id, nth);
}

std::uint64_t Conditions::usual_delay(std::uint32_t from) {
  return options_.delay.usual.sample(Draw(options_.seed, Purpose::delay, from, ++sent_[from]));
}

std::vector<Action> Conditions::message_faults(NodeId from, std::uint64_t nth) const {
  if (options_.script) {
    const auto found = scripted_.find({from.value, nth});
    return found == scripted_.end() ? std::vector<Action>{} : found->second;
  }
  std::vector<Action> faults;
  if (!options_.faults.touches_messages() || now_ > report_.window) return faults;
  const auto happens = [&](double rate, Purpose purpose) {
    return rate > 0 && Draw(options_.seed, purpose, from.value, nth).chance(rate);
  };
  const auto longer = [&](Purpose purpose) {
    const Draw draw(~options_.seed, purpose, from.value, nth);
    return static_cast<std::int64_t>(draw.between(1, longest_delay_by_fault(options_.delay)));
  };
  const Faults& rates = options_.faults;
  if (happens(rates.loss, Purpose::loss))
    faults.push_back({.what = Action::What::lose, .node = from, .nth = nth});
  if (happens(rates.duplicate, Purpose::duplication))
    faults.push_back(
        {.what = Action::What::duplicate, .node = from, .amount = longer(Purpose::duplication), .nth = nth});
  if (happens(rates.slow, Purpose::slowness))
    faults.push_back(
        {.what = Action::What::slow, .node = from, .amount = longer(Purpose::slowness), .nth = nth});
  if (happens(rates.reorder, Purpose::reorder))
    faults.push_back(
        {.what = Action::What::reorder, .node = from, .amount = longer(Purpose::reorder), .nth = nth});
  return faults;
}

bool Conditions::is_cut(NodeId from, NodeId to) const {
  for (const Cut& cut : cuts_) {
    const bool from_inside = cut.group.contains(from);
    if (from_inside == cut.group.contains(to)) continue;
    if (cut.kind == Action::Cut::one_way && !from_inside) continue;
    if (cut.kind == Action::Cut::bridge && (cut.bridge == from || cut.bridge == to)) continue;
    return true;
  }
  return false;
}

std::uint64_t Conditions::after_earlier(std::uint32_t from, std::uint32_t to, std::uint64_t at) {
  std::uint64_t& last = last_arrival_[std::uint64_t{from} << 32 | to];
  return last = std::max(last, at);
}

std::int64_t Conditions::drawn_ppb(std::uint32_t i, std::uint64_t nth, std::int64_t most) const {
  const auto width = static_cast<std::uint64_t>(2 * most + 1);
  return static_cast<std::int64_t>(Draw(options_.seed, Purpose::clock, i, nth).below(width)) - most;
}

std::uint64_t Conditions::hold_of(std::uint32_t i, std::uint64_t request) const {
  return options_.hold.sample(Draw(options_.seed, Purpose::hold, i, request));
}

std::optional<std::uint32_t> Conditions::listener(std::uint32_t i, std::uint64_t nth,
                                                  std::uint32_t nodes) const {
  if (!Draw(options_.seed, Purpose::chatter, i, 2 * nth).chance(options_.chatter)) return std::nullopt;
  const std::uint32_t first = nature_.has_server ? 1 : 0;
  const std::uint32_t others = nodes - first;
  if (others < 2) return std::nullopt;
  const Draw draw(options_.seed, Purpose::chatter, i, 2 * nth + 1);
  const std::uint32_t to = first + static_cast<std::uint32_t>(draw.below(others - 1));
  return to >= i ? to + 1 : to;
}

void Conditions::record(const Action& action) {
  if (options_.record) report_.done.push_back(action);
}

void Conditions::count_messages(std::span<const std::string_view> types,
                                std::span<const std::uint64_t> counts) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    report_.sent[std::string(types[i])] = counts[i];
    report_.messages += counts[i];
  }
}

void Conditions::lose(Members& members, std::uint64_t id, const char* why) {
  ++report_.lost;
  if (members.ghost()) members.ghost()->drop(id);
  members.befall_links(trace::Kind::lose, now_, {why, {}}, id);
}

void Conditions::duplicate(Members& members, std::uint64_t id) {
  ++report_.duplicated;
  if (members.ghost()) members.ghost()->copy(id);
  members.befall_links(trace::Kind::duplicate, now_, {"duplicate", {}}, id);
}

}  // namespace conclave::sim
