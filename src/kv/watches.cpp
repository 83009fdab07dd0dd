#include "kv/watches.hpp"

#include <algorithm>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

bool ends_earlier(const KeyRange& a, const KeyRange& b) {
  if (a.is_open() || b.is_open()) return !a.is_open();
  const std::string_view end_a = a.is_single() ? a.key : a.end;
  const std::string_view end_b = b.is_single() ? b.key : b.end;
  // A single key is in its range, an end is not.
  return end_a != end_b ? end_a < end_b : b.is_single() && !a.is_single();
}

std::size_t bytes_of(const Event& event) {
  const auto size = [](const RecordRef& record) { return record ? record->size + sizeof(Record) : 0; };
  return event.now.key().size() + size(event.now) + size(event.before);
}

}  // namespace

bool Watches::Watcher::refresh() {
  const Watcher* before = std::exchange(farthest, this);
  for (const Watcher* below : {links.left, links.right})
    if (below && ends_earlier(farthest->range(), below->farthest->range())) farthest = below->farthest;
  return farthest != before;
}

std::optional<WatchId> Watches::create(WatchRequest request) {
  if (request.key.empty()) {  // etcd's clients mean the first key there can be
    if (request.range_end.empty()) return std::nullopt;
    request.key = std::string(1, '\0');
  }
  if (KeyRange{request.key, request.range_end}.is_empty()) return std::nullopt;
  auto watcher = std::make_unique<Watcher>();
  watcher->id = next_id_++;
  watcher->request = std::move(request);
  const Revision now = store_.revision();
  const Revision start = watcher->request.start_revision;
  watcher->next = start > 0 ? start : now + 1;
  watcher->is_synced = watcher->next > now;
  if (!watcher->is_synced) ready_.insert(watcher->id);
  const std::string_view key = watcher->request.key;
  tree_.insert(*watcher, [key](const Watcher& other) { return key < other.request.key; });
  const WatchId id = watcher->id;
  watchers_.emplace(id, std::move(watcher));
  return id;
}

void Watches::cancel(WatchId id) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return;
  tree_.erase(*found->second);
  ready_.erase(id);
  watchers_.erase(found);
}

bool Watches::wants(const Watcher& watcher, const Event& event) {
  return event.now->is_deletion() ? !watcher.request.no_delete : !watcher.request.no_put;
}

void Watches::see(const Outcome& outcome) {
  for (const Event& event : outcome.events) see_below(tree_.root(), event);
}

void Watches::see_below(Watcher* at, const Event& event) {
  const std::string_view key = event.now.key();
  if (!at || at->farthest->range().ends_before(key)) return;
  see_below(at->links.left, event);
  if (at->range().starts_after(key)) return;
  if (at->is_synced && !at->range().ends_before(key) && event.now->mod >= at->next && wants(*at, event))
    queue(*at, event);
  see_below(at->links.right, event);
}

void Watches::queue(Watcher& watcher, const Event& event) {
  ready_.insert(watcher.id);
  watcher.queue.push_back(event);
  watcher.queued_bytes += bytes_of(event);
  if (watcher.queue.size() > limits_.queued_events || watcher.queued_bytes > limits_.queued_bytes)
    fall_behind(watcher);
}

void Watches::fall_behind(Watcher& watcher) {
  watcher.next = watcher.queue.front().now->mod;
  watcher.is_synced = false;
  watcher.queue = {};
  watcher.queued_bytes = 0;
}

Delivery Watches::take(WatchId id) {
  const auto found = watchers_.find(id);
  if (found == watchers_.end()) return {};
  Watcher& watcher = *found->second;
  return watcher.is_synced ? take_queue(watcher) : catch_up(watcher);
}

Delivery Watches::take_queue(Watcher& watcher) {
  Delivery delivery = {.revision = store_.revision()};
  delivery.events.assign(std::make_move_iterator(watcher.queue.begin()),
                         std::make_move_iterator(watcher.queue.end()));
  watcher.queue.clear();
  watcher.queued_bytes = 0;
  watcher.next = std::max(watcher.next, store_.revision() + 1);
  ready_.erase(watcher.id);
  return delivery;
}

Delivery Watches::catch_up(Watcher& watcher) {
  Delivery delivery;
  if (watcher.next < store_.history().compacted()) {
    delivery.compacted = store_.history().compacted();
    cancel(watcher.id);
    return delivery;
  }
  const KeyRange range = watcher.range();
  watcher.next = store_.history().changes(watcher.next, limits_.read_at_once, [&](const Event& event) {
    if (range.contains(event.now.key()) && wants(watcher, event)) delivery.events.push_back(event);
  });
  delivery.revision = watcher.next - 1;
  watcher.is_synced = watcher.next > store_.revision();
  if (watcher.is_synced) ready_.erase(watcher.id);
  return delivery;
}

}  // namespace conclave::kv
