#include "kv/watches.hpp"

#include <algorithm>

namespace conclave::kv {
namespace {

bool ends_earlier(const KeyRange& a, const KeyRange& b) {
  if (a.is_open() || b.is_open()) return !a.is_open();
  const std::string_view end_a = a.is_single() ? a.key : a.end;
  const std::string_view end_b = b.is_single() ? b.key : b.end;
  // A single key is in its range, an end is not.
  return end_a != end_b ? end_a < end_b : b.is_single() && !a.is_single();
}

// What it takes to hand something over, in steps: some microseconds.
constexpr std::size_t delivery_steps = 8;

std::size_t size_of(const Event& event) {
  const auto size = [](const RecordRef& record) { return record ? record->size + record_bytes : 0; };
  return sizeof(Event) + event.now.key().size() + size(event.now) + size(event.before);
}

}  // namespace

std::size_t WatchRequest::cost() const {
  constexpr std::size_t each = 320;     // with all that knows it
  constexpr std::size_t for_free = 15;  // characters of a string
  const auto apart = [](const std::string& text) { return text.size() > for_free ? text.size() + 17 : 0; };
  return each + apart(key) + apart(range_end);
}

// ---- the tree of ranges

bool Watches::Watcher::refresh() {
  bool changed = false;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    const Watcher* last = wants(kind) ? this : nullptr;
    for (const Watcher* below : {links.left, links.right}) {
      const Watcher* theirs = below ? below->farthest[kind] : nullptr;
      if (theirs && (!last || ends_earlier(last->range(), theirs->range()))) last = theirs;
    }
    changed |= std::exchange(farthest[kind], last) != last;
  }
  return changed;
}

bool Watches::stands_before(const Watcher& watcher, std::string_view key, std::uint64_t id) {
  const int order = std::string_view(watcher.request.key).compare(key);
  return order != 0 ? order < 0 : watcher.id < id;
}

bool Watches::is_hit(const Watcher& watcher, std::string_view key, std::size_t kind) {
  return watcher.wants(kind) && watcher.range().contains(key);
}

Watches::Watcher* Watches::first_hit(Watcher* at, std::string_view key, std::size_t kind) {
  while (at && at->farthest[kind] && !at->farthest[kind]->range().ends_before(key)) {
    ++work_.watchers;
    if (Watcher* earlier = first_hit(at->links.left, key, kind)) return earlier;
    if (at->range().starts_after(key)) return nullptr;
    if (is_hit(*at, key, kind)) return at;
    at = at->links.right;
  }
  return nullptr;
}

Watches::Watcher* Watches::next_hit(Watcher& from, std::string_view key, std::size_t kind) {
  if (Watcher* hit = first_hit(from.links.right, key, kind)) return hit;
  const Watcher* below = &from;
  for (Watcher* at = from.links.parent; at; below = at, at = at->links.parent) {
    if (at->links.left != below) continue;
    ++work_.watchers;
    if (at->range().starts_after(key)) return nullptr;
    if (is_hit(*at, key, kind)) return at;
    if (Watcher* hit = first_hit(at->links.right, key, kind)) return hit;
  }
  return nullptr;
}

// The one that the mark was made at, or the one after it.
Watches::Watcher* Watches::seek(Watcher* at, const Mark& mark) {
  Watcher* found = nullptr;
  while (at) {
    const bool before = stands_before(*at, mark.key, mark.id);
    if (!before) found = at;
    at = before ? at->links.right : at->links.left;
  }
  return found;
}

// ---- who watches

Watches::Watches(const Store& store, WatchLimits limits) : store_(store), limits_(limits) {
  news_.at = noted_from_ = store.revision() + 1;
}

const Watches::Watcher* Watches::find(StreamId stream, WatchName watch) const {
  const auto where = streams_.find(stream);
  if (where == streams_.end()) return nullptr;
  const auto found = where->second.watchers.find(watch);
  return found == where->second.watchers.end() ? nullptr : &found->second;
}

Watches::Watcher* Watches::find(StreamId stream, WatchName watch) {
  return const_cast<Watcher*>(std::as_const(*this).find(stream, watch));
}

bool Watches::create(StreamId stream, WatchName watch, WatchRequest request) {
  if (request.key.empty()) {  // etcd's clients mean the first key there can be
    if (request.range_end.empty()) return false;
    request.key = std::string(1, '\0');
  }
  if (KeyRange{request.key, request.range_end}.is_empty()) return false;
  cancel(stream, watch);
  Stream& its = streams_[stream];
  its.id = stream;
  Watcher& watcher = its.watchers[watch];
  watcher.stream = &its;
  watcher.name = watch;
  watcher.id = next_id_++;
  watcher.request = std::move(request);
  const Revision start = watcher.request.start_revision;
  watcher.next = start > 0 ? start : store_.revision() + 1;
  ++size_;
  const std::size_t cost = watcher.request.cost();
  bytes_ += cost;
  its.bytes += cost;
  settle(watcher);
  return true;
}

void Watches::cancel(StreamId stream, WatchName watch) {
  if (Watcher* watcher = find(stream, watch)) forget(*watcher);
}

void Watches::forget(Watcher& watcher) {
  leave(watcher);
  not_admitted_any_more(watcher);
  const std::size_t cost = watcher.request.cost();
  bytes_ -= cost;
  watcher.stream->bytes -= cost;
  --size_;
  watcher.stream->watchers.erase(watcher.name);
}

bool Watches::close(StreamId stream, std::size_t watchers) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return false;
  Stream& its = found->second;
  its.is_full = true;  // nothing is told to those who are left
  for (; watchers > 0 && !its.watchers.empty(); --watchers) forget(its.watchers.begin()->second);
  if (!its.watchers.empty()) return true;
  streams_.erase(found);
  return false;
}

std::size_t Watches::bytes_of(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.bytes;
}

// The least revision of those that come next for somebody whose stream has room.
Revision Watches::told_next() const {
  Revision least = never;
  if (news_.tree().root() && !is_told_everything()) least = news_.at;
  if (!future_.empty() && future_.begin()->first.first <= store_.revision())
    least = std::min(least, future_.begin()->first.first);
  for (const Cursor& cursor : history_) {
    if (cursor.tree().root()) least = std::min(least, cursor.at);
    if (cursor.waiting().root()) least = std::min(least, cursor.next_round);
  }
  return least;
}

Revision Watches::needed(std::uint64_t now, std::uint64_t since, std::size_t streams) {
  now_ = now;
  auto at = stalling_.lower_bound(next_looked_at_);
  for (; at != stalling_.end() && streams > 0; ++at, --streams)
    if (at->second->had_room >= since) needed_so_far_ = std::min(needed_so_far_, at->second->next());
  if (at == stalling_.end()) {
    needed_ = std::exchange(needed_so_far_, never);
    next_looked_at_ = 0;
  } else {
    next_looked_at_ = at->first;
  }
  return std::min({needed_, needed_so_far_, told_next()});
}

bool Watches::is_idle(StreamId stream, WatchName watch) const {
  const Watcher* watcher = find(stream, watch);
  if (!watcher || (watcher->state != State::news && watcher->state != State::future)) return false;
  return is_told_everything() || watcher->next > store_.revision();
}

bool Watches::is_idle(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() || (found->second.behind == 0 && is_told_everything());
}

std::optional<WatchName> Watches::look_for_quiet(StreamId stream, WatchName from, std::size_t watchers,
                                                 const std::function<void(WatchName)>& show) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return std::nullopt;
  auto& all = found->second.watchers;
  for (auto at = all.lower_bound(from); at != all.end(); ++at, --watchers) {
    if (watchers == 0) return at->first;
    const bool was_told = std::exchange(at->second.was_told, false);
    if (at->second.request.manner.wants_progress && !was_told && is_idle(stream, at->first)) show(at->first);
  }
  return std::nullopt;
}

// ---- where a watcher belongs

void Watches::enter(Watcher& watcher, Tree<Watcher>& tree, State state) {
  watcher.state = state;
  watcher.tree = &tree;
  const std::string_view key = watcher.request.key;
  tree.insert(watcher,
              [key, id = watcher.id](const Watcher& other) { return !stands_before(other, key, id); });
}

void Watches::leave(Watcher& watcher) {
  if (watcher.tree) std::exchange(watcher.tree, nullptr)->erase(watcher);
  if (watcher.state == State::future) future_.erase({watcher.next, watcher.id});
  if (watcher.state == State::stalled) {
    auto& [parent, earlier, later] = watcher.links;
    (earlier ? earlier->links.right : watcher.stream->first_stalled) = later;
    (later ? later->links.left : watcher.stream->last_stalled) = earlier;
    watcher.links = {};
    leave_party(watcher);
  }
  if (watcher.state == State::stalled || watcher.state == State::history) {
    --watcher.stream->behind;
    --behind_;
  }
  watcher.state = State::nowhere;
}

// Who goes on from there knows what came before the news. Not in the midst of a revision, which it would be
// told from the middle; nor while those are looked for whom a compaction overtook, if it is one of them.
bool Watches::is_up_to_news(Revision next) const {
  if (news_.overtaken && next < *news_.overtaken) return false;
  return next > news_.at || (next == news_.at && !news_.is_amid());
}

void Watches::settle(Watcher& watcher) {
  if (is_up_to_news(watcher.next)) {
    if (watcher.next > store_.revision() + 1) {
      watcher.state = State::future;
      future_.emplace(std::pair(watcher.next, watcher.id), &watcher);
    } else {
      enter(watcher, news_.tree(), State::news);
    }
    return not_admitted_any_more(watcher);
  }
  if (watcher.stream->is_full) return stall(watcher);
  ++watcher.stream->behind;
  ++behind_;
  Cursor& cursor = history_[watcher.next + limits_.near >= news_.at ? 0 : 1];
  const bool in_time =
      cursor.is_amid() ? !cursor.overtaken && watcher.next > cursor.at : watcher.next >= cursor.at;
  if (in_time && cursor.tree().root()) return enter(watcher, cursor.tree(), State::history);
  cursor.next_round = std::min(cursor.next_round, watcher.next);
  enter(watcher, cursor.waiting(), State::history);
}

void Watches::stall(Watcher& watcher) {
  Stream& stream = *watcher.stream;
  watcher.state = State::stalled;
  watcher.links = {.left = stream.last_stalled};
  (stream.last_stalled ? stream.last_stalled->links.right : stream.first_stalled) = &watcher;
  stream.last_stalled = &watcher;
  if (stream.first_stalled == &watcher) {
    stalling_.emplace(stream.id, &stream);
    stream.had_room = now_;
  }
  watcher.party = stream.parties[stream.first_party].watchers > 0 ? !stream.first_party : stream.first_party;
  Stream::Party& party = stream.parties[watcher.party];
  ++party.watchers;
  party.next = std::min(party.next, watcher.next);
  needed_so_far_ = std::min(needed_so_far_, watcher.next);
  ++stream.behind;
  ++behind_;
  not_admitted_any_more(watcher);
}

// When the first party is gone, the other one is the first.
void Watches::leave_party(Watcher& watcher) {
  Stream& stream = *watcher.stream;
  if (!stream.first_stalled) stalling_.erase(stream.id);
  if (--stream.parties[watcher.party].watchers > 0) return;
  stream.parties[watcher.party] = {};
  if (watcher.party == stream.first_party) stream.first_party = !stream.first_party;
}

// When all who were let in found room, twice as many are.
void Watches::not_admitted_any_more(Watcher& watcher) {
  Stream& stream = *watcher.stream;
  if (!std::exchange(watcher.is_admitted, false) || --stream.admitted > 0 || stream.is_full) return;
  stream.batch = std::min<std::size_t>(2 * stream.batch, std::size_t{1} << 30);
  if (!std::exchange(stream.is_admitting, true)) admitting_.push_back(stream.id);
}

void Watches::room(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  Stream& its = found->second;
  its.is_full = false;
  its.told = 0;
  its.had_room = now_;
  if (its.first_stalled && !std::exchange(its.is_admitting, true)) admitting_.push_back(stream);
}

void Watches::admit_stalled(Run& run) {
  while (!admitting_.empty() && !run.is_over()) {
    const auto found = streams_.find(admitting_.front());
    Stream* stream = found == streams_.end() ? nullptr : &found->second;
    if (!stream || stream->is_full || !stream->first_stalled || stream->admitted >= stream->batch) {
      if (stream) stream->is_admitting = false;
      admitting_.pop_front();
      continue;
    }
    Watcher& watcher = *stream->first_stalled;
    run.step();
    ++work_.watchers;
    leave(watcher);
    watcher.is_admitted = true;
    ++stream->admitted;
    settle(watcher);
  }
}

// False if there are more than may be done now.
bool Watches::admit_future(Revision up_to, Run& run) {
  while (!future_.empty() && future_.begin()->first.first <= up_to) {
    if (run.is_over()) return false;
    run.step();
    ++work_.watchers;
    Watcher& watcher = *future_.begin()->second;
    leave(watcher);
    enter(watcher, news_.tree(), State::news);
  }
  return true;
}

// ---- what happened

void Watches::see(const Outcome& outcome) {
  if (outcome.events.empty() || !has_news()) return;
  for (const Event& event : outcome.events) {
    noted_bytes_ += size_of(event);
    noted_.push_back(event);
  }
  if (noted_.size() <= limits_.noted_events && noted_bytes_ <= limits_.noted_bytes) return;
  noted_.clear();
  noted_bytes_ = 0;
  noted_from_ = store_.revision() + 1;
}

void Watches::Cursor::stop_at(Revision revision) {
  at = revision;
  if (events.capacity() > 1024)
    events = {};  // a revision may be a hundred thousand changes, and most are one
  else
    events.clear();
  event = 0;
  mark.reset();
  overtaken.reset();
}

// If there are changes, and somebody who could be told.
bool Watches::has_news() {
  const Revision now = store_.revision();
  if (is_told_everything()) return false;
  if (news_.tree().root() || (!future_.empty() && future_.begin()->first.first <= now)) return true;
  news_.stop_at(now + 1);
  noted_.clear();
  noted_bytes_ = 0;
  noted_from_ = now + 1;
  return false;
}

bool Watches::has_history() const {
  return !admitting_.empty() || std::ranges::any_of(history_, [](const Cursor& cursor) {
    return cursor.trees[0].root() || cursor.trees[1].root();
  });
}

void Watches::read_noted() {
  const auto take = [this] {
    noted_bytes_ -= size_of(noted_.front());
    Event event = std::move(noted_.front());
    noted_.pop_front();
    return event;
  };
  while (!noted_.empty() && noted_.front().now->mod < news_.at) take();
  if (noted_.empty()) return;
  news_.at = noted_.front().now->mod;
  while (!noted_.empty() && noted_.front().now->mod == news_.at) news_.events.push_back(take());
}

void Watches::read_history(Cursor& cursor) {
  store_.history().changes(cursor.at, 1, [&](const Event& event) { cursor.events.push_back(event); });
  if (!cursor.events.empty()) cursor.at = cursor.events.front().now->mod;
}

void Watches::begin_revision(Cursor& cursor, Run& run) {
  if (&cursor == &news_ && news_.at >= noted_from_)
    read_noted();
  else
    read_history(cursor);
  if (cursor.events.empty()) return cursor.stop_at(store_.revision() + 1);
  std::ranges::sort(cursor.events, {}, [](const Event& event) { return event.now.key(); });
  work_.changes += cursor.events.size();
  run.step(cursor.events.size());
}

// ---- telling

bool Watches::tell_news(std::size_t steps, const Hear& hear) {
  Run run = {steps, limits_.gathered_bytes};
  while (!run.is_over() && has_news()) {
    if (!news_.events.empty()) {
      if (!admit_future(news_.at, run) || !tell_revision(news_, run)) break;
    } else if (is_overtaken(news_)) {
      if (!admit_future(store_.history().first_watchable(), run) || !tell_overtaken(news_, run)) break;
    } else {
      begin_revision(news_, run);
    }
  }
  hand_over(hear);
  return has_news();
}

bool Watches::tell_history(std::size_t steps, const Hear& hear) {
  const auto share = [&] { return Run{std::max<std::size_t>(1, steps / 3), limits_.gathered_bytes}; };
  Run run = share();
  admit_stalled(run);
  for (Cursor& cursor : history_) {
    run = share();
    go_through(cursor, run);
    hand_over(hear);
  }
  return has_history();
}

bool Watches::is_overtaken(const Cursor& cursor) const {
  if (cursor.overtaken) return true;
  return cursor.at < store_.history().first_watchable() && (&cursor != &news_ || cursor.at < noted_from_);
}

void Watches::go_through(Cursor& cursor, Run& run) {
  while (!run.is_over()) {
    if (!cursor.tree().root()) {
      if (!cursor.waiting().root()) return;
      cursor.other = !cursor.other;
      cursor.stop_at(std::exchange(cursor.next_round, never));
    }
    if (!cursor.events.empty()) {
      if (!tell_revision(cursor, run)) return;
    } else if (is_overtaken(cursor)) {
      if (!tell_overtaken(cursor, run)) return;
    } else if (is_up_to_news(cursor.at)) {
      Watcher& watcher = *cursor.tree().first();
      run.step();
      ++work_.watchers;
      leave(watcher);
      watcher.next = std::max(watcher.next, cursor.at);
      settle(watcher);
    } else {
      begin_revision(cursor, run);
    }
  }
}

// False if not everybody was told yet.
bool Watches::tell_revision(Cursor& cursor, Run& run) {
  for (; cursor.event < cursor.events.size(); ++cursor.event, cursor.mark.reset()) {
    const Event& event = cursor.events[cursor.event];
    const std::string_view key = event.now.key();
    const std::size_t kind = kind_of(event);
    Watcher* at =
        cursor.mark ? seek(cursor.tree().root(), *cursor.mark) : first_hit(cursor.tree().root(), key, kind);
    if (at && !is_hit(*at, key, kind)) at = next_hit(*at, key, kind);
    while (at) {
      if (run.is_over()) {
        cursor.mark = Mark{at->request.key, at->id};
        return false;
      }
      run.step();
      Watcher* following = next_hit(*at, key, kind);  // this one may leave the tree
      gather(cursor, *at, run);
      at = following;
    }
  }
  cursor.stop_at(cursor.at + 1);
  return true;
}

// Of the revision at hand, all at once.
void Watches::gather(const Cursor& cursor, Watcher& watcher, Run& run) {
  if (cursor.at < watcher.next) return;
  if (watcher.stream->is_full) {
    leave(watcher);
    watcher.next = cursor.at;
    return stall(watcher);
  }
  if (watcher.gathered < 0) run.step(delivery_steps);
  std::vector<Event>& events = gather_for(watcher, cursor.at).events;
  watcher.next = cursor.at + 1;
  const std::size_t before = events.size();
  const KeyRange range = watcher.range();
  // Had it been told of an earlier key, it would know this revision.
  for (std::size_t i = cursor.event; i < cursor.events.size(); ++i) {
    const Event& event = cursor.events[i];
    if (range.ends_before(event.now.key())) break;
    if (!watcher.wants(kind_of(event))) continue;
    run.gather(size_of(event));
    events.push_back(event);
  }
  run.step(events.size() - before - 1);
  std::ranges::sort(events.begin() + static_cast<std::ptrdiff_t>(before), events.end(), {},
                    [](const Event& event) { return event.now->sub; });
}

// They are told before anything else is. False if not all of them were found yet.
bool Watches::tell_overtaken(Cursor& cursor, Run& run) {
  const Run left = std::exchange(run, {});
  if (!gathered_.empty()) return false;
  if (!cursor.overtaken) cursor.overtaken = store_.history().first_watchable();
  Watcher* at = cursor.mark ? seek(cursor.tree().root(), *cursor.mark) : cursor.tree().first();
  for (std::size_t steps = left.steps; at; steps -= std::min(steps, delivery_steps)) {
    if (steps == 0) {
      cursor.mark = Mark{at->request.key, at->id};
      return false;
    }
    ++work_.watchers;
    Watcher* following = Tree<Watcher>::next(*at);
    const Revision next = std::max(at->next, cursor.at);
    if (next < *cursor.overtaken && !at->stream->is_full) {
      gather_for(*at, next).compacted = store_.history().first_watchable();
    } else if (next < *cursor.overtaken) {
      leave(*at);
      at->next = next;
      stall(*at);
    }
    at = following;
  }
  cursor.stop_at(*cursor.overtaken);
  return true;
}

Delivery& Watches::gather_for(Watcher& watcher, Revision from) {
  if (watcher.gathered < 0) {
    watcher.gathered = static_cast<std::int32_t>(gathered_.size());
    gathered_.push_back(
        {&watcher,
         {.stream = watcher.stream->id, .watch = watcher.name, .manner = watcher.request.manner},
         from});
  }
  return gathered_[static_cast<std::size_t>(watcher.gathered)].delivery;
}

// Whoever hears may end watchers meanwhile.
void Watches::hand_over(const Hear& hear) {
  for (const Gathered& one : gathered_) {
    one.watcher->gathered = -1;
    one.watcher->was_told = true;
    ++one.watcher->stream->told;
  }
  work_.told += gathered_.size();
  for (const Gathered& one : std::exchange(gathered_, {})) {
    if (!hear(one.delivery))
      refused(one);
    else if (one.delivery.compacted)
      cancel(one.delivery.stream, one.delivery.watch);
  }
}

void Watches::refused(const Gathered& what) {
  --work_.told;
  Watcher* watcher = find(what.delivery.stream, what.delivery.watch);
  if (!watcher) return;
  Stream& stream = *watcher->stream;
  --stream.told;
  if (!std::exchange(stream.is_full, true)) stream.batch = std::max<std::size_t>(64, 2 * stream.told);
  leave(*watcher);
  watcher->next = what.from;
  stall(*watcher);
}

}  // namespace conclave::kv
