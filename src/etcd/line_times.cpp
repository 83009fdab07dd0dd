#include "etcd/line_times.hpp"

namespace conclave::etcd {

void LineTimes::see(const kv::Store& store, const kv::Outcome& outcome, Clock::time_point now) {
  for (const kv::Event& event : outcome.events) {
    const auto line_in = [](const kv::RecordRef& record) {
      return record && !record->is_deletion() ? kv::line_of(record.key(), record->lease()) : std::nullopt;
    };
    const auto name = line_in(event.now);
    const auto before = line_in(event.before);
    if (name) {
      places_.try_emplace(std::string(event.now.key()), Place{.came = now});
    } else if (before) {  // deleted, or no place any more: its lease is another one
      if (const auto found = places_.find(event.now.key()); found != places_.end()) places_.erase(found);
    }
    if (name || before) look_at_first(store, name ? *name : *before, now);
  }
}

void LineTimes::look_at_first(const kv::Store& store, std::string_view name, Clock::time_point now) {
  const std::string line = std::string(name) + '/';
  const std::string end = std::string(name) + '0';  // the character after '/'
  const kv::RecordRef first = store.oldest({line, end});
  const auto found = first ? places_.find(first.key()) : places_.end();
  if (found != places_.end() && !found->second.held) found->second.held = now;
}

void LineTimes::restored(const kv::Store& store, Clock::time_point now) {
  auto before = std::exchange(places_, {});
  for (const kv::Key* key : store.places()) {
    const std::string text(key->text());
    auto known = before.extract(text);
    places_.emplace(text, known.empty() ? Place{.came = now} : std::move(known.mapped()));
  }
  for (const kv::Key* key : store.places())
    look_at_first(store, kv::line_of(key->text(), key->newest->lease()).value(), now);
}

void LineTimes::note_client(std::string_view key, const std::string& address) {
  if (const auto found = places_.find(key); found != places_.end()) found->second.client = address;
}

const LineTimes::Place* LineTimes::find(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &found->second;
}

}  // namespace conclave::etcd
