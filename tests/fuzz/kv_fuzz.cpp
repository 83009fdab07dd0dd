// Whatever the bytes, commands and snapshots are refused or understood. The first byte chooses:
//   even: entries of a log, each with its length in front, are applied to two stores, of which one is brought
//         through a snapshot on the way; they stay equal;
//   odd:  the rest is a snapshot without its end; what is accepted is written again as the same bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>

#include "kv/lines.hpp"
#include "kv/snapshot.hpp"
#include "kv/watches.hpp"

namespace {

using namespace conclave;
using namespace conclave::kv;
using Input = std::span<const std::uint8_t>;

[[noreturn]] void complain(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

Bytes snapshot_of(Store& store) {
  SnapshotWriter writer(store);
  Bytes out;
  while (writer.write(out, out.size() + 100)) continue;
  return out;
}

std::unique_ptr<Store> through_a_snapshot(Store& store) {
  SnapshotReader reader;
  if (!reader.feed(snapshot_of(store))) complain("a store cannot read its own snapshot");
  auto copy = reader.finish();
  if (!copy) complain("a store cannot finish its own snapshot");
  return std::move(*copy);
}

// One watcher of everything, which now and then takes nothing.
void tell(Watches& watches, Revision& told, bool has_room) {
  const auto hear = [&](const Delivery& delivery) {
    if (!has_room) return false;
    for (const Event& event : delivery.events) {
      if (event.now->mod < told) complain("a watcher is told of an earlier revision");
      told = event.now->mod;
    }
    return true;
  };
  if (has_room) watches.room(1);
  watches.tell_history(5, hear);
  watches.tell_news(5, hear);
}

// After every command somebody more waits for the place of one of two leases.
void stand_in_line(Lines& lines, const Outcome& outcome, WaiterId newcomer) {
  std::vector<Turn> turns;
  lines.see(outcome, turns);
  lines.wait("a", key_in_line("a", static_cast<LeaseId>(newcomer % 2 + 1)), newcomer, turns);
  for (std::size_t i = 0; i < turns.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (turns[i].waiter == turns[j].waiter) complain("somebody is called up twice");
  if (newcomer > 8) lines.leave(newcomer - 8);
  if (lines.size() > 8) complain("whoever left is still in line");
}

void apply_entries(Input rest) {
  Store store;
  auto copy = std::make_unique<Store>(7);
  Watches watches(store, {.noted_events = 4, .noted_bytes = 500, .gathered_bytes = 300, .near = 3});
  watches.create(1, 0, {.key = "", .range_end = std::string(1, '\0')});
  Lines lines(store);
  WaiterId waiters = 0;
  Revision told = 0;
  Outcome outcome;
  Outcome again;
  Context context = {.index = 0, .term = 1};
  while (!rest.empty()) {
    const std::size_t size = std::min<std::size_t>(rest[0], rest.size() - 1);
    const Input entry = rest.subspan(1, size);
    rest = rest.subspan(1 + size);
    ++context.index;
    const auto answer = store.apply(entry, context, outcome);
    const auto same = copy->apply(entry, context, again);
    if (answer.has_value() != same.has_value()) complain("one of two stores understands an entry");
    if (!answer) continue;
    if (answer->revision != same->revision || answer->result.index() != same->result.index())
      complain("two stores answer differently");
    if (store.digest() != copy->digest()) complain("two stores differ");
    if (store.digest() != store.recomputed_digest()) complain("the digest is not that of the records");
    watches.see(outcome);
    stand_in_line(lines, outcome, ++waiters);
    if (context.index % 3 == 0) tell(watches, told, context.index % 5 != 0);
    if (context.index % 4 == 0) copy = through_a_snapshot(store);
  }
  if (snapshot_of(store) != snapshot_of(*copy)) complain("two stores write different snapshots");
}

Bytes with_end(Input bytes, Digest digest) {
  Bytes whole(bytes.begin(), bytes.end());
  encode(SnapshotPart(SnapshotEnd{digest}), whole);
  return whole;
}

// A wrong digest at the end would refuse nearly everything, so it gets the right one.
void read_snapshot(Input bytes) {
  SnapshotReader first;
  if (!first.feed(with_end(bytes, 0)) || !first.is_complete()) return;
  const Digest digest = first.digest();
  const auto verdict = first.finish();
  if (!verdict && verdict.error() != SnapshotError::digest) return;
  const Bytes whole = with_end(bytes, digest);
  SnapshotReader reader;
  if (!reader.feed(whole)) complain("one of two readers understands a snapshot");
  const auto store = reader.finish();
  if (!store) complain("a snapshot has the right digest, and is refused for it");
  if ((*store)->recomputed_digest() != digest) complain("the digest is not that of the records");
  if (snapshot_of(**store) != whole) complain("a snapshot was accepted, and is written as other bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Input rest(data + 1, size - 1);
  if (data[0] % 2 == 0) {
    apply_entries(rest);
  } else {
    read_snapshot(rest);
  }
  return 0;
}
