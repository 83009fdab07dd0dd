// Reads of the store, and the transactions that contain them.
#include <algorithm>

#include "kv/read_rules.hpp"
#include "kv/store.hpp"

namespace conclave::kv {

using namespace rules;

namespace {

// Around each record in an answer: its numbers, and what says where what begins. In memory it counts as no
// less.
constexpr std::uint64_t around_record = 64;
static_assert(record_bytes >= around_record);

std::uint64_t bytes_told(const Record& record, bool keys_only) {
  return around_record + record.key->size + (keys_only ? 0 : record.size);
}

bool deletes_anything(const Txn& txn);
bool deletes_anything(const std::vector<Op>& ops) {
  return std::ranges::any_of(ops, [](const Op& op) {
    const auto* nested = std::get_if<Txn>(&op.request);
    return std::holds_alternative<DeleteRange>(op.request) || (nested && deletes_anything(*nested));
  });
}
bool deletes_anything(const Txn& txn) {
  return deletes_anything(txn.success) || deletes_anything(txn.failure);
}

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
  RangeResult result = {.keys_only = request.keys_only};
  if (is_now) result.count = keys.count(range);
  if (is_now && request.count_only) return result;

  std::vector<Record*> found;
  if (asks_for_the_oldest(request)) {
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
// range of the past goes over keys that are no more; all records together are not less than those. Where
// something is deleted before, a limit says nothing: it may be reached only behind that.
std::uint64_t Store::reach_of(const Range& range, bool deletes) const {
  if (range.range_end.empty()) return 1;
  if (range.revision > 0) return history_.records();
  if (range.count_only) return 1;
  const std::uint64_t count = history_.keys().count({range.key, range.range_end});
  const bool may_stop = range.limit > 0 && is_in_key_order(range) && !filters(range) && !deletes;
  return may_stop ? std::min(count, static_cast<std::uint64_t>(range.limit)) : count;
}

std::uint64_t Store::reach_of(const std::vector<Op>& ops, bool deletes) const {
  std::uint64_t reach = 0;
  for (const Op& op : ops) {
    if (const auto* nested = std::get_if<Txn>(&op.request)) reach += reach_of(*nested, deletes);
    if (const auto* range = std::get_if<Range>(&op.request)) reach += reach_of(*range, deletes);
  }
  return reach;
}

std::uint64_t Store::reach_of(const Txn& txn, bool deletes) const {
  std::uint64_t reach = std::max(reach_of(txn.success, deletes), reach_of(txn.failure, deletes));
  for (const Compare& compare : txn.compare)
    reach += cost_of(compare) *
             (compare.range_end.empty() ? 1 : history_.keys().count({compare.key, compare.range_end}));
  return reach;
}

std::uint64_t Store::reach_of(const Range& range) const { return reach_of(range, false); }
std::uint64_t Store::reach_of(const Txn& txn) const { return reach_of(txn, deletes_anything(txn)); }

std::uint64_t Store::deletes_of(const DeleteRange& range) const {
  return history_.keys().count({range.key, range.range_end});
}

std::uint64_t Store::deletes_of(const Txn& txn) const {
  std::uint64_t sum = 0;
  for (const std::vector<Op>* ops : {&txn.success, &txn.failure}) {
    for (const Op& op : *ops) {
      if (const auto* nested = std::get_if<Txn>(&op.request)) sum += deletes_of(*nested);
      if (const auto* range = std::get_if<DeleteRange>(&op.request)) sum += deletes_of(*range);
    }
  }
  return sum;
}

// ---- how large an answer would be

// The operations that would be done: those of the branches that are taken, or of all.
struct Store::Branches {
  std::vector<const Range*> ranges = {};
  std::vector<const DeleteRange*> deletes = {};
  std::vector<const Put*> puts = {};

  // `decisions`: which branches, in the order of meeting them.
  void add(const Txn& txn, const std::vector<bool>* decisions, std::size_t& decision) {
    const bool all = decisions == nullptr;
    const bool succeeds = all || (*decisions)[decision++];
    if (all || succeeds) add(txn.success, decisions, decision);
    if (all || !succeeds) add(txn.failure, decisions, decision);
  }

 private:
  void add(const std::vector<Op>& ops, const std::vector<bool>* decisions, std::size_t& decision) {
    for (const Op& op : ops) {
      if (const auto* nested = std::get_if<Txn>(&op.request)) add(*nested, decisions, decision);
      if (const auto* range = std::get_if<Range>(&op.request)) ranges.push_back(range);
      if (const auto* range = std::get_if<DeleteRange>(&op.request)) deletes.push_back(range);
      if (const auto* put = std::get_if<Put>(&op.request)) puts.push_back(put);
    }
  }
};

std::uint64_t Store::answer_of(const Txn& txn) const {
  Branches all;
  std::size_t decision = 0;
  all.add(txn, nullptr, decision);
  return answer_of(all);
}

std::uint64_t Store::answer_of(const DeleteRange& range) const { return answer_of(range, bounds_.answer); }

// The rest of what is there is not looked at once `enough` is found.
std::uint64_t Store::answer_of(const DeleteRange& range, std::uint64_t enough) const {
  std::uint64_t sum = 0;
  if (!range.prev_kv) return sum;
  history_.keys().visit({range.key, range.range_end}, true, [&](Key& key) {
    sum += bytes_told(*key.newest, false);
    return sum <= enough;
  });
  return sum;
}

// Of what is there before; what the transaction itself puts comes on top.
std::uint64_t Store::answer_of(const Range& range, bool deletes, std::uint64_t enough) const {
  std::uint64_t sum = 0;
  if (range.count_only) return sum;
  const Keys& keys = history_.keys();
  const KeyRange of = {range.key, range.range_end};
  const bool is_now = range.revision <= 0;
  const auto limit = range.limit > 0 ? static_cast<std::uint64_t>(range.limit) : never;
  if (!deletes && asks_for_the_oldest(range)) {
    const Key* oldest = keys.oldest(of);
    return oldest ? sum + bytes_told(*oldest->newest, range.keys_only) : sum;
  }
  const bool may_stop = is_now && !deletes && is_in_key_order(range) && !filters(range);
  std::uint64_t most = 0;
  std::uint64_t count = 0;
  keys.visit(of, is_now, [&](Key& key) {
    const Record* record = is_now ? key.newest : History::at(key, range.revision);
    if (!record || !passes(range, *record)) return true;
    const std::uint64_t bytes = bytes_told(*record, range.keys_only);
    sum += bytes;
    most = std::max(most, bytes);
    ++count;
    return !(may_stop && count >= limit) && (sum <= enough || limit < never);
  });
  const bool limits = count > limit && most < sum / limit;
  return limits ? limit * most : sum;
}

std::uint64_t Store::answer_of(const Branches& branches) const {
  // All records together are not less than what is told of some of them.
  std::uint64_t put = 0;
  std::uint64_t sum = around_record * (1 + branches.deletes.size() + branches.ranges.size());
  for (const Put* one : branches.puts) {
    const Key* key = one->prev_kv || one->ignore_value ? history_.keys().find(one->key) : nullptr;
    const std::uint64_t before = key && key->exists() ? bytes_told(*key->newest, false) : 0;
    put += around_record + one->key.size() + (one->ignore_value ? before : one->value.size());
    sum += around_record + (one->prev_kv ? before : 0);
  }
  const std::uint64_t rough =
      sum + branches.deletes.size() * history_.bytes() + branches.ranges.size() * (history_.bytes() + put);
  if (rough <= bounds_.answer) return rough;
  for (const DeleteRange* range : branches.deletes) {
    if (sum > bounds_.answer) return sum;
    sum += answer_of(*range, bounds_.answer - sum);
  }
  for (const Range* range : branches.ranges) {
    if (sum > bounds_.answer) return sum;
    sum += answer_of(*range, !branches.deletes.empty(), bounds_.answer - sum);
    if (range->count_only || range->revision > 0) continue;
    for (const Put* one : branches.puts)
      if (KeyRange{range->key, range->range_end}.contains(one->key))
        sum += around_record + one->key.size() + (range->keys_only ? 0 : one->value.size());
  }
  return sum;
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
  if (reach_of(txn) > bounds_.reach) return Error::too_many_operations;
  decisions_.clear();
  decide(txn);
  std::size_t decision = 0;
  if (const auto problem = problem_of_branch(txn, decision)) return *problem;
  Branches taken;
  decision = 0;
  taken.add(txn, &decisions_, decision);
  if (answer_of(taken) > bounds_.answer) return Error::answer_too_large;
  decision = 0;
  TxnResult result = run_branch(txn, decision);
  history_.commit();
  return result;
}

}  // namespace conclave::kv
