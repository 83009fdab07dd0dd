// For tests: a store with its place in a log, and answers in few words.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "kv/snapshot.hpp"
#include "kv/store.hpp"

namespace conclave::kv {

// "key=value c2 m3 v1 l0", or "none".
inline std::string text(const RecordRef& record) {
  if (!record) return "none";
  return std::string(record.key()) + "=" + std::string(record->value()) + " c" +
         std::to_string(record->create()) + " m" + std::to_string(record->mod) + " v" +
         std::to_string(record->version()) + " l" + std::to_string(record->lease());
}
inline std::string text(const std::vector<RecordRef>& records) {
  std::string out = "[";
  for (const RecordRef& record : records) out += (out.size() > 1 ? ", " : "") + text(record);
  return out + "]";
}
inline std::string text(const RangeResult& result) {
  return text(result.kvs) + " of " + std::to_string(result.count) + (result.more ? " and more" : "");
}
inline std::string text(const PutResult& result) { return "put over " + text(result.previous); }
inline std::string text(const DeleteResult& result) {
  return "deleted " + std::to_string(result.deleted) + " " + text(result.previous);
}
inline std::string text(const TxnResult& result) {
  std::string out = result.succeeded ? "then(" : "else(";
  for (const OpResult& op : result.results)
    out += std::visit([](const auto& one) { return text(one); }, op.result) + ";";
  return out + ")";
}
inline std::string text(const LeaseResult& result) {
  return "lease " + std::to_string(result.id) + " for " + std::to_string(result.ttl);
}
inline std::string text(const RenewResult& result) {
  std::string out = "renewed";
  for (const std::int64_t ttl : result.ttls) out += " " + std::to_string(ttl);
  return out;
}
inline std::string text(const PlaceInLine& place) {
  return place.key + " fence " + std::to_string(place.fence) + (place.is_first ? " first" : " waits");
}
inline std::string text(const Done&) { return "done"; }
inline std::string text(Error error) { return std::string(describe(error)); }
inline std::string text(const Answer& answer) {
  return std::to_string(answer.revision) + ": " +
         std::visit([](const auto& one) { return text(one); }, answer.result);
}
inline std::string text(const std::expected<RangeResult, Error>& result) {
  return result ? text(*result) : text(result.error());
}
// "3 put a=1 c3 m3 v1 l0 over none" or "4 delete a over …".
inline std::string text(const Event& event) {
  const std::string what =
      event.now->is_deletion() ? "delete " + std::string(event.now.key()) : "put " + text(event.now);
  return std::to_string(event.now->mod) + " " + what + " over " + text(event.before);
}
inline std::vector<std::string> texts(const std::vector<Event>& events) {
  std::vector<std::string> out;
  for (const Event& event : events) out.push_back(text(event));
  return out;
}

inline Bytes snapshot_of(Store& store) {
  SnapshotWriter writer(store);
  Bytes out;
  while (writer.write(out, out.size() + 1000)) continue;
  return out;
}

// In two pieces: mostly something is cut in between.
inline std::expected<std::unique_ptr<Store>, SnapshotError> restored(std::span<const std::uint8_t> bytes,
                                                                     std::uint64_t table_seed = 0) {
  SnapshotReader reader(table_seed);
  const std::size_t cut = bytes.size() / 3;
  for (const auto piece : {bytes.first(cut), bytes.subspan(cut)})
    if (const auto fed = reader.feed(piece); !fed) return std::unexpected(fed.error());
  return reader.finish();
}

struct Replica {
  Store store;
  Outcome outcome = {};
  Context context = {.index = 0, .term = 1};

  explicit Replica(std::uint64_t table_seed = 0) : store(table_seed) {}

  Answer apply(const Command& command) {
    ++context.index;
    return store.apply(command, context, outcome);
  }
  std::string ask(const Command& command) { return text(apply(command)); }
  std::string put(std::string_view key, std::string_view value, LeaseId lease = 0) {
    return ask(Put{.key = key, .value = value, .lease = lease});
  }
  std::string remove(std::string_view key) { return ask(DeleteRange{.key = key}); }
  std::string range(const Range& request) const { return text(store.range(request)); }
  std::string get(std::string_view key, Revision revision = 0) const {
    return range({.key = key, .revision = revision});
  }
  std::string tick(std::uint64_t elapsed_ms) {
    return ask(Tick{.term = context.term, .elapsed_ms = elapsed_ms});
  }
};

}  // namespace conclave::kv
