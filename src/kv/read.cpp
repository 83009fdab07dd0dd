// Reads of the store, and the transactions that contain them.
#include <algorithm>

#include "kv/store.hpp"

namespace conclave::kv {
namespace {

bool passes(const Range& request, const Record& record) {
  const auto within = [](Revision value, Revision least, Revision most) {
    return (least == 0 || value >= least) && (most == 0 || value <= most);
  };
  return within(record.mod, request.min_mod_revision, request.max_mod_revision) &&
         within(record.create, request.min_create_revision, request.max_create_revision);
}

bool filters(const Range& request) {
  return request.min_mod_revision != 0 || request.max_mod_revision != 0 || request.min_create_revision != 0 ||
         request.max_create_revision != 0;
}

bool is_in_key_order(const Range& request) {
  return request.sort_target == SortTarget::key && request.sort_order != SortOrder::descend;
}

bool comes_first(SortTarget target, const Record& a, const Record& b) {
  switch (target) {
    case SortTarget::key: return a.key->text() < b.key->text();
    case SortTarget::version: return a.version < b.version;
    case SortTarget::create: return a.create < b.create;
    case SortTarget::mod: return a.mod < b.mod;
    case SortTarget::value: return a.value() < b.value();
  }
  return false;
}

void sort(const Range& request, std::vector<Record*>& records) {
  if (is_in_key_order(request)) return;
  const bool descends = request.sort_order == SortOrder::descend;
  std::ranges::stable_sort(records, [&](const Record* a, const Record* b) {
    return descends ? comes_first(request.sort_target, *b, *a) : comes_first(request.sort_target, *a, *b);
  });
}

std::int64_t number_of(CompareTarget target, const Record* record) {
  if (!record) return 0;
  switch (target) {
    case CompareTarget::version: return record->version;
    case CompareTarget::create: return record->create;
    case CompareTarget::mod: return record->mod;
    case CompareTarget::lease: return record->lease;
    case CompareTarget::value: break;
  }
  return 0;
}

bool is(CompareResult result, std::strong_ordering order) {
  switch (result) {
    case CompareResult::equal: return order == 0;
    case CompareResult::greater: return order > 0;
    case CompareResult::less: return order < 0;
    case CompareResult::not_equal: return order != 0;
  }
  return false;
}

// No record: the key does not exist, and all its numbers are 0. It has no value that could be compared.
bool record_holds(const Compare& compare, const Record* record) {
  if (compare.target != CompareTarget::value)
    return is(compare.result, number_of(compare.target, record) <=> compare.number);
  return record && is(compare.result, record->value() <=> compare.value);
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
