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
};

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

  void clear() {
    events.clear();
    ended.clear();
    vouch.reset();
  }
};

}  // namespace conclave::kv
