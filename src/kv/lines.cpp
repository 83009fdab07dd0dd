#include "kv/lines.hpp"

#include <set>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

RecordRef first_of(const Store& store, std::string_view name) {
  const std::string line = std::string(name) + '/';
  const std::string end = std::string(name) + '0';  // the character after '/'
  return store.oldest({line, end});
}

}  // namespace

void Lines::wait(std::string_view name, std::string_view key, WaiterId waiter, std::vector<Turn>& turns) {
  ensure(key.size() > name.size() && key.starts_with(name) && key[name.size()] == '/',
         "a place stands in its line");
  const Key* place = store_.history().keys().find(key);
  if (!place || !place->exists()) return turns.push_back({waiter, {}});
  const bool is_new = waiters_.try_emplace(waiter, Spot{std::string(name), std::string(key)}).second;
  ensure(is_new, "a waiter waits once");
  lines_.try_emplace(std::string(name)).first->second.emplace(key, waiter);
  call_first(name, turns);
}

void Lines::leave(WaiterId waiter) {
  const auto found = waiters_.find(waiter);
  if (found == waiters_.end()) return;
  const auto line = lines_.find(found->second.name);
  auto [at, end] = line->second.equal_range(found->second.key);
  while (at != end && at->second != waiter) ++at;
  line->second.erase(at);
  if (line->second.empty()) lines_.erase(line);
  waiters_.erase(found);
}

// The lines a deleted key may have stood in: one for each '/' in it.
void Lines::see(const Outcome& outcome, std::vector<Turn>& turns) {
  if (lines_.empty()) return;
  std::set<std::string, std::less<>> moved;
  for (const Event& event : outcome.events) {
    if (!event.now->is_deletion()) continue;
    const std::string_view key = event.now.key();
    for (std::size_t slash = key.find('/'); slash <= max_name; slash = key.find('/', slash + 1)) {
      const auto line = lines_.find(key.substr(0, slash));
      if (line == lines_.end()) continue;
      moved.insert(line->first);
      dismiss(line, key, {}, turns);
    }
  }
  for (const std::string& name : moved) call_first(name, turns);
}

void Lines::call_first(std::string_view name, std::vector<Turn>& turns) {
  const auto line = lines_.find(name);
  if (line == lines_.end()) return;
  if (const RecordRef first = first_of(store_, name)) dismiss(line, first.key(), first, turns);
}

void Lines::dismiss(std::map<std::string, Line, std::less<>>::iterator line, std::string_view key,
                    const RecordRef& place, std::vector<Turn>& turns) {
  const auto [begin, end] = line->second.equal_range(key);
  for (auto at = begin; at != end; ++at) {
    turns.push_back({at->second, place});
    waiters_.erase(at->second);
  }
  line->second.erase(begin, end);
  if (line->second.empty()) lines_.erase(line);
}

}  // namespace conclave::kv
