// What comes of a command: the answer for whoever asked, and what everybody else should know.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kv/command.hpp"

namespace conclave::kv {

struct RangeResult {
  std::vector<RecordRef> kvs = {};
  std::uint64_t count = 0;  // of the keys in the range, whatever filters and limit left out
  bool more = false;        // the limit left some out
  bool keys_only = false;   // nobody asked for the values
};

// Gives up records, a little at a time: whoever is the last to have one frees it. Takes from `work` what it
// does. True: there is more.
inline bool let_go(std::vector<RecordRef>& records, std::size_t& work) {
  while (!records.empty()) {
    if (work == 0) return true;
    --work;
    records.pop_back();
  }
  return false;
}

struct PutResult {
  RecordRef previous = {};  // if it was asked for and existed
};

struct DeleteResult {
  std::uint64_t deleted = 0;
  std::vector<RecordRef> previous = {};  // if they were asked for
};

struct OpResult;

struct TxnResult {
  bool succeeded;
  std::vector<OpResult> results;
};

struct OpResult {
  std::variant<RangeResult, PutResult, DeleteResult, TxnResult> result;
};

bool let_go(TxnResult& result, std::size_t& work);
inline bool let_go(OpResult& op, std::size_t& work) {
  if (auto* range = std::get_if<RangeResult>(&op.result)) return let_go(range->kvs, work);
  if (auto* range = std::get_if<DeleteResult>(&op.result)) return let_go(range->previous, work);
  if (auto* nested = std::get_if<TxnResult>(&op.result)) return let_go(*nested, work);
  return false;
}
inline bool let_go(TxnResult& result, std::size_t& work) {
  while (!result.results.empty()) {
    if (let_go(result.results.back(), work)) return true;
    result.results.pop_back();
  }
  return false;
}

struct LeaseResult {
  LeaseId id = 0;
  std::int64_t ttl = 0;
};

struct RenewResult {
  std::vector<std::int64_t> ttls = {};  // in the order of asking; 0: no such lease
};

// A place in the line of a lock or an election. Whoever was created first holds it. The place's create
// revision is the fence: it grows from holder to holder.
struct PlaceInLine {
  std::string key = {};
  Revision fence = 0;
  bool is_first = false;
};

struct Done {};

struct Answer {
  Revision revision = 0;  // after the command
  std::variant<Error, Done, PutResult, DeleteResult, TxnResult, LeaseResult, RenewResult, PlaceInLine>
      result = Done{};
};

// What a command changed, for watchers and lines. Revisions ascend; a Tick may make several.
struct Outcome {
  std::vector<Event> events = {};
  std::vector<LeaseId> ended = {};  // by themselves or by order
  std::optional<Vouch> vouch = {};
  std::optional<Need> need = {};

  void clear() {
    events.clear();
    ended.clear();
    vouch.reset();
    need.reset();
  }
};

}  // namespace conclave::kv
