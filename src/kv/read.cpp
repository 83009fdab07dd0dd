// Reads of the store, and the transactions that contain them.
#include <algorithm>

#include "kv/read_rules.hpp"
#include "kv/store.hpp"

namespace conclave::kv {

using namespace rules;

namespace {

void sort(const Range& request, std::vector<Record*>& records) {
  if (is_in_key_order(request)) return;
  const bool descends = request.sort_order == SortOrder::descend;
  std::ranges::stable_sort(records, [&](const Record* a, const Record* b) {
    return descends ? comes_first(request.sort_target, *b, *a) : comes_first(request.sort_target, *a, *b);
  });
}

}  // namespace

std::expected<RangeResult, Error> Store::range(const Range& request) const {
  if (const auto fine = check(request); !fine) return std::unexpected(fine.error());
  if (const auto problem = problem_of(request)) return std::unexpected(*problem);
  return read(request);
}

std::optional<Error> Store::problem_of(const Range& range) const {
  if (range.revision > revision()) return Error::future_revision;
  if (range.revision > 0 && range.revision < history_.compacted()) return Error::compacted;
  return std::nullopt;
}

RangeResult Store::read(const Range& request) const {
  const Keys& keys = history_.keys();
  const KeyRange range = {request.key, request.range_end};
  const bool is_now = request.revision <= 0;
  const std::size_t limit = request.limit > 0 ? static_cast<std::size_t>(request.limit) : SIZE_MAX;
  RangeResult result;
  if (is_now) result.count = keys.count(range);
  if (is_now && request.count_only) return result;

  // Who stands first in a line: asked so often that it is not worth looking at everybody.
  const bool asks_for_the_oldest = is_now && limit == 1 && request.sort_target == SortTarget::create &&
                                   request.sort_order != SortOrder::descend && !filters(request);
  std::vector<Record*> found;
  if (asks_for_the_oldest) {
    if (Key* oldest = keys.oldest(range)) found.push_back(oldest->newest);
    result.more = result.count > 1;
  } else {
    const bool may_stop = is_now && is_in_key_order(request);
    keys.visit(range, is_now, [&](Key& key) {
      Record* record = is_now ? key.newest : History::at(key, request.revision);
      if (!record) return true;
      if (!is_now) ++result.count;
      if (!request.count_only && passes(request, *record)) found.push_back(record);
      return !may_stop || found.size() <= limit;
    });
    sort(request, found);
    result.more = found.size() > limit;
    if (result.more) found.resize(limit);
  }
  result.kvs.reserve(found.size());
  for (Record* record : found) result.kvs.emplace_back(record);
  return result;
}

bool Store::holds(const Compare& compare) const {
  bool all = true;
  bool any = false;
  history_.keys().visit({compare.key, compare.range_end}, true, [&](Key& key) {
    any = true;
    return all = record_holds(compare, key.newest);
  });
  return any ? all : record_holds(compare, nullptr);
}

// What is counted does not depend on how far the comparisons get, so it is known before anything is done. A
// range of the past goes over keys that are no more; all records together are not less than those.
std::uint64_t Store::reach_of(const Range& range) const {
  if (range.range_end.empty()) return 1;
  if (range.revision > 0) return history_.records();
  if (range.count_only) return 1;
  const std::uint64_t count = history_.keys().count({range.key, range.range_end});
  const bool may_stop = range.limit > 0 && is_in_key_order(range) && !filters(range);
  return may_stop ? std::min(count, static_cast<std::uint64_t>(range.limit)) : count;
}

std::uint64_t Store::reach_of(const std::vector<Op>& ops) const {
  std::uint64_t reach = 0;
  for (const Op& op : ops) {
    if (const auto* nested = std::get_if<Txn>(&op.request)) reach += reach_of(*nested);
    if (const auto* range = std::get_if<Range>(&op.request)) reach += reach_of(*range);
  }
  return reach;
}

std::uint64_t Store::reach_of(const Txn& txn) const {
  std::uint64_t reach = std::max(reach_of(txn.success), reach_of(txn.failure));
  for (const Compare& compare : txn.compare)
    reach += cost_of(compare) *
             (compare.range_end.empty() ? 1 : history_.keys().count({compare.key, compare.range_end}));
  return reach;
}

// All comparisons, those of nested transactions too, are made before anything is written.
void Store::decide(const Txn& txn) {
  const bool succeeds = std::ranges::all_of(txn.compare, [this](const Compare& one) { return holds(one); });
  decisions_.push_back(succeeds);
  for (const Op& op : succeeds ? txn.success : txn.failure)
    if (const auto* nested = std::get_if<Txn>(&op.request)) decide(*nested);
}

// What would go wrong in the branch that runs: an error must leave no trace.
std::optional<Error> Store::problem_of_branch(const Txn& txn, std::size_t& decision) const {
  for (const Op& op : decisions_[decision++] ? txn.success : txn.failure) {
    std::optional<Error> problem;
    if (const auto* nested = std::get_if<Txn>(&op.request)) problem = problem_of_branch(*nested, decision);
    if (const auto* put = std::get_if<Put>(&op.request)) problem = problem_of(*put);
    if (const auto* range = std::get_if<Range>(&op.request)) problem = problem_of(*range);
    if (problem) return problem;
  }
  return std::nullopt;
}

TxnResult Store::run_branch(const Txn& txn, std::size_t& decision) {
  TxnResult result = {.succeeded = decisions_[decision++]};
  const std::vector<Op>& ops = result.succeeded ? txn.success : txn.failure;
  result.results.reserve(ops.size());
  for (const Op& op : ops) {
    if (const auto* nested = std::get_if<Txn>(&op.request)) {
      result.results.push_back({run_branch(*nested, decision)});
    } else if (const auto* one = std::get_if<Put>(&op.request)) {
      result.results.push_back({put(*one)});
    } else if (const auto* range = std::get_if<DeleteRange>(&op.request)) {
      result.results.push_back({delete_range(*range)});
    } else {
      result.results.push_back({read(std::get<Range>(op.request))});
    }
  }
  return result;
}

Store::Result Store::run(const Txn& txn) {
  if (reach_of(txn) > most_reach_) return Error::too_many_operations;
  decisions_.clear();
  decide(txn);
  std::size_t decision = 0;
  if (const auto problem = problem_of_branch(txn, decision)) return *problem;
  decision = 0;
  TxnResult result = run_branch(txn, decision);
  history_.commit();
  return result;
}

}  // namespace conclave::kv
