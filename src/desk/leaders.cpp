#include "desk/leaders.hpp"

#include <algorithm>

namespace conclave::desk {

namespace {

// Names without a leader are remembered for their fence, but not for ever.
constexpr std::size_t most_old_names = 100'000;

std::size_t bytes_of(const Leads& leads) { return leads.name.size() + leads.key.size() + leads.value.size(); }

}  // namespace

bool Leaders::take(NodeId from, const Note& note) {
  if (const Leads* led = std::get_if<Leads>(&note)) return leads(from, *led);
  if (const Ended* over = std::get_if<Ended>(&note))
    ended(from, *over);
  else
    forget(from);
  return true;
}

bool Leaders::leads(NodeId from, const Leads& note) {
  Account& account = accounts_[from];
  const Leads* before = told_by(note.name, from);
  const std::size_t bytes = account.bytes - (before ? bytes_of(*before) : 0) + bytes_of(note);
  if (bytes > limits_.bytes_per_member || (!before && account.names >= limits_.names_per_member))
    return false;
  if (before && before->fence > note.fence) return true;
  if (!before) ++account.names;
  account.bytes = bytes;
  forget_old_names();
  Election& election = elections_[note.name];
  election.greatest = std::max(election.greatest, note.fence);
  election.told[from] = note;
  changed_.push_back(note.name);
  return true;
}

void Leaders::ended(NodeId from, const Ended& note) {
  const auto place = elections_.find(note.name);
  if (place == elections_.end()) return;
  Election& election = place->second;
  election.greatest = std::max(election.greatest, note.fence);
  const auto told = election.told.find(from);
  if (told == election.told.end() || told->second.fence > note.fence) return;
  drop(election, from);
  changed_.push_back(note.name);
}

void Leaders::forget(NodeId member) {
  for (auto& [name, election] : elections_) {
    if (!election.told.contains(member)) continue;
    drop(election, member);
    changed_.push_back(name);
  }
}

void Leaders::drop(Election& election, NodeId member) {
  const auto told = election.told.find(member);
  Account& account = accounts_[member];
  --account.names;
  account.bytes -= bytes_of(told->second);
  election.told.erase(told);
}

void Leaders::forget_old_names() {
  if (elections_.size() < most_old_names) return;
  std::erase_if(elections_, [](const auto& named) { return named.second.told.empty(); });
}

std::optional<Leaders::Told> Leaders::greatest(const std::string& name) const {
  const auto place = elections_.find(name);
  if (place == elections_.end()) return std::nullopt;
  for (const auto& [member, leads] : place->second.told)
    if (leads.fence == place->second.greatest) return Told{member, &leads};
  return std::nullopt;
}

const Leads* Leaders::told_by(const std::string& name, NodeId member) const {
  const auto place = elections_.find(name);
  if (place == elections_.end()) return nullptr;
  const auto told = place->second.told.find(member);
  return told == place->second.told.end() ? nullptr : &told->second;
}

std::vector<const Leads*> Leaders::all_of(NodeId member) const {
  std::vector<const Leads*> all;
  for (const auto& [name, election] : elections_)
    if (const auto told = election.told.find(member); told != election.told.end())
      all.push_back(&told->second);
  return all;
}

std::vector<std::string> Leaders::names() const {
  std::vector<std::string> names;
  for (const auto& [name, election] : elections_)
    if (!election.told.empty()) names.push_back(name);
  return names;
}

}  // namespace conclave::desk
