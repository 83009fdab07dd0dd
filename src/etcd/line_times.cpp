#include "etcd/line_times.hpp"

namespace conclave::etcd {

void LineTimes::see(const kv::Store& store, const kv::Outcome& outcome, Clock::time_point now) {
  for (const kv::Event& event : outcome.events) {
    const bool is_gone = event.now->is_deletion();
    const kv::RecordRef& place = is_gone ? event.before : event.now;
    const auto name = place ? kv::line_of(place.key(), place->lease) : std::nullopt;
    if (!name) continue;
    if (is_gone) {
      if (const auto found = places_.find(place.key()); found != places_.end()) places_.erase(found);
    } else {
      places_.try_emplace(std::string(place.key()), Place{.came = now});
    }
    look_at_first(store, *name, now);
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
    look_at_first(store, kv::line_of(key->text(), key->newest->lease).value(), now);
}

void LineTimes::note_client(std::string_view key, const std::string& address) {
  if (const auto found = places_.find(key); found != places_.end()) found->second.client = address;
}

const LineTimes::Place* LineTimes::find(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &found->second;
}

}  // namespace conclave::etcd
