#include "kv/reading.hpp"

#include <algorithm>

#include "kv/read_rules.hpp"

namespace conclave::kv {

using namespace rules;

// ---- sorting

SlowSort::SlowSort(const Range& request, std::vector<RecordRef> records)
    : target_(request.sort_target),
      descends_(request.sort_order == SortOrder::descend),
      from_(std::move(records)) {
  to_.reserve(from_.size());
  begin_pair(0);
}

void SlowSort::begin_pair(std::size_t at) {
  left_ = at;
  middle_ = right_ = std::min(at + width_, from_.size());
  end_ = std::min(at + 2 * width_, from_.size());
}

bool SlowSort::right_first(const RecordRef& left, const RecordRef& right, std::size_t& work) const {
  // Long values that begin alike take their time.
  constexpr std::size_t as_long_as_a_step = 512;
  if (target_ == SortTarget::value)
    work -= std::min<std::size_t>(work, std::min(left->size, right->size) / as_long_as_a_step);
  return descends_ ? comes_first(target_, *left, *right) : comes_first(target_, *right, *left);
}

bool SlowSort::step(std::size_t& work) {
  while (width_ < from_.size()) {
    while (left_ < middle_ || right_ < end_) {
      if (work == 0) return true;
      --work;
      const bool takes_right =
          left_ == middle_ || (right_ < end_ && right_first(from_[left_], from_[right_], work));
      to_.push_back(std::move(from_[takes_right ? right_++ : left_++]));
    }
    if (end_ == from_.size()) {
      std::swap(from_, to_);
      to_.clear();
      width_ *= 2;
      begin_pair(0);
    } else {
      begin_pair(end_);
    }
  }
  return false;
}

// ---- reading

Reading::Reading(const Store& store, const Range& range, Most most)
    : store_(store),
      hold_(store.history().hold()),
      revision_(store.revision()),
      compacted_(store.history().compacted()),
      most_(most) {
  if (const auto fine = check(range); !fine)
    over_ = fine.error();
  else if (const auto problem = begin_scan(range))
    over_ = *problem;
}

Reading::Reading(const Store& store, const Txn& txn, Most most)
    : store_(store),
      hold_(store.history().hold()),
      revision_(store.revision()),
      compacted_(store.history().compacted()),
      most_(most) {
  if (const auto fine = check(txn); !fine)
    over_ = fine.error();
  else
    frames_.push_back({.txn = &txn});
}

Reading::Went Reading::step(std::size_t work) {
  if (hold_.is_void()) return Went::lost;
  Went went = Went::on;
  while (went == Went::on && work > 0) went = advance(work);
  return went;
}

std::size_t Reading::records() const {
  return records_ + (scan_ ? scan_->result.kvs.size() - scan_->weighed + scan_->sort.records() : 0);
}

bool Reading::let_go(std::size_t& work) {
  if (scan_ && (kv::let_go(scan_->result.kvs, work) || scan_->sort.let_go(work))) return true;
  for (; !frames_.empty(); frames_.pop_back())
    if (kv::let_go(frames_.back().result, work)) return true;
  for (Result* one : {over_ ? &*over_ : nullptr, &result_}) {
    if (!one) continue;
    if (auto* range = std::get_if<RangeResult>(one); range && kv::let_go(range->kvs, work)) return true;
    if (auto* txn = std::get_if<TxnResult>(one); txn && kv::let_go(*txn, work)) return true;
  }
  return false;
}

Reading::Went Reading::advance(std::size_t& work) {
  if (over_) {
    result_ = std::move(*over_);
    return Went::done;
  }
  if (!scan_) return advance_frame(work);
  const bool more =
      go_on_scanning(work) || go_on_sorting(work) || go_on_cutting(work) || go_on_weighing(work);
  if (records_ > most_.records || bytes_ > most_.bytes) return Went::too_large;
  if (more) return Went::on;
  Scan scan = std::move(*scan_);
  scan_.reset();
  const bool deletes = std::exchange(deletes_, false);
  if (frames_.empty())
    over_ = std::move(scan.result);
  else if (deletes)
    give({DeleteResult{scan.result.count, std::move(scan.result.kvs)}});
  else
    give({std::move(scan.result)});
  return Went::on;
}

// Visits keys with the record that they had then. False: somewhere in between, `work` was used up.
template <class See>
bool Reading::walk(Walk& walk, Revision then, std::size_t& work, See see) {
  const bool is_now = then == revision_ && is_fresh();
  bool is_through = true;
  store_.history().keys().visit({walk.from, walk.end}, is_now, [&](Key& key) {
    if (work == 0) {
      walk.from = key.text();
      return is_through = false;
    }
    --work;
    Record* record = is_now ? key.newest : History::at(key, then);
    return !record || see(record);
  });
  return is_through;
}

std::optional<Error> Reading::begin_scan(const Range& request) {
  if (request.revision > revision_) return Error::future_revision;
  if (request.revision > 0 && request.revision < compacted_) return Error::compacted;
  Scan scan = {.request = request,
               .walk = {std::string(request.key), request.range_end},
               .then = request.revision > 0 ? request.revision : revision_,
               .result = {.keys_only = request.keys_only}};
  if (request.limit > 0) scan.limit = static_cast<std::size_t>(request.limit);
  if (request.revision <= 0 && is_fresh()) look_up(scan);
  scan_ = std::move(scan);
  return std::nullopt;
}

// What the tree knows without a walk, as long as it is that of our revision.
void Reading::look_up(Scan& scan) const {
  const Keys& keys = store_.history().keys();
  const Range& request = scan.request;
  const KeyRange range = {request.key, request.range_end};
  scan.result.count = keys.count(range);
  scan.knows_count = true;
  scan.may_stop = is_in_key_order(request);
  if (request.count_only) {
    scan.walked = true;
  } else if (asks_for_the_oldest(request)) {
    if (Key* oldest = keys.oldest(range)) scan.result.kvs.emplace_back(oldest->newest);
    scan.result.more = scan.result.count > 1;
    scan.limit = SIZE_MAX;
    scan.walked = true;
  }
}

// True: there is more to do.
bool Reading::go_on_scanning(std::size_t& work) {
  Scan& scan = *scan_;
  if (scan.walked) return false;
  const Range& request = scan.request;
  const auto see = [&](Record* record) {
    if (!scan.knows_count) ++scan.result.count;
    if (!request.count_only && passes(request, *record)) collect(scan, record);
    return !(scan.may_stop && scan.result.kvs.size() > scan.limit) && records_ <= most_.records &&
           bytes_ <= most_.bytes;
  };
  if (!walk(scan.walk, scan.then, work, see)) return true;
  scan.walked = true;
  if (is_in_key_order(request)) return false;
  scan.sorts = true;
  scan.sort = SlowSort(request, std::exchange(scan.result.kvs, {}));
  return false;
}

// What is sorted before the limit cuts it weighs nothing yet.
void Reading::collect(Scan& scan, Record* record) {
  const bool in_order = is_in_key_order(scan.request);
  if (in_order && scan.result.kvs.size() > scan.limit) return;
  scan.result.kvs.emplace_back(record);
  if ((in_order && scan.result.kvs.size() <= scan.limit) || scan.limit == SIZE_MAX) {
    weigh(*record, scan.request.keys_only);
    ++scan.weighed;
  }
}

void Reading::weigh(const Record& record, bool keys_only) {
  ++records_;
  bytes_ += record.key->size + (keys_only ? 0 : record.size);
}

bool Reading::go_on_weighing(std::size_t& work) {
  const std::vector<RecordRef>& kvs = scan_->result.kvs;
  for (; scan_->weighed < kvs.size(); ++scan_->weighed) {
    if (work == 0) return true;
    --work;
    weigh(*kvs[scan_->weighed], scan_->request.keys_only);
  }
  return false;
}

bool Reading::go_on_sorting(std::size_t& work) {
  if (!scan_->sorts) return false;
  if (scan_->sort.step(work)) return true;
  scan_->result.kvs = scan_->sort.take();
  scan_->sorts = false;
  return false;
}

// What the limit leaves out goes; looking at a record that is given up takes time as well.
bool Reading::go_on_cutting(std::size_t& work) {
  std::vector<RecordRef>& kvs = scan_->result.kvs;
  while (kvs.size() > scan_->limit) {
    if (work == 0) return true;
    --work;
    kvs.pop_back();
    scan_->result.more = true;
  }
  return false;
}

// ---- transactions

Reading::Went Reading::advance_frame(std::size_t& work) {
  Frame& frame = frames_.back();
  if (!frame.decided) {
    if (frame.compared == frame.txn->compare.size()) {
      frame.decided = frame.result.succeeded = true;
      return Went::on;
    }
    const auto holds = compare(frame.txn->compare[frame.compared], work);
    if (!holds) return Went::on;
    ++frame.compared;
    frame.decided = !*holds;
    return Went::on;
  }
  if (work > 0) --work;
  if (frame.operation < frame.operations().size()) {
    const auto problem = begin_operation(frame.operations()[frame.operation++]);
    if (problem) over_ = *problem;
    return Went::on;
  }
  TxnResult result = std::move(frame.result);
  frames_.pop_back();
  if (frames_.empty())
    over_ = std::move(result);
  else
    give({std::move(result)});
  return Went::on;
}

// Nothing: there is more to do.
std::optional<bool> Reading::compare(const Compare& compare, std::size_t& work) {
  if (!comparison_) comparison_ = Comparison{.walk = {std::string(compare.key), compare.range_end}};
  Comparison& now = *comparison_;
  bool all = true;
  const bool is_through = walk(now.walk, revision_, work, [&](Record* record) {
    now.any = true;
    if (compare.target == CompareTarget::value) work -= std::min(work, cost_of(compare) - 1);
    return all = record_holds(compare, record);
  });
  if (!is_through) return std::nullopt;
  const bool holds = now.any ? all : record_holds(compare, nullptr);
  comparison_.reset();
  return holds;
}

std::optional<Error> Reading::begin_operation(const Op& op) {
  if (const auto* nested = std::get_if<Txn>(&op.request)) {
    frames_.push_back({.txn = nested});
  } else if (const auto* range = std::get_if<Range>(&op.request)) {
    return begin_scan(*range);
  } else if (const auto* deletes = std::get_if<DeleteRange>(&op.request)) {
    deletes_ = true;
    return begin_scan(
        {.key = deletes->key, .range_end = deletes->range_end, .count_only = !deletes->prev_kv});
  } else {
    const auto& put = std::get<Put>(op.request);
    const Key* key = put.prev_kv ? store_.history().keys().find(put.key) : nullptr;
    give({PutResult{key ? RecordRef(History::at(*key, revision_)) : RecordRef()}});
  }
  return std::nullopt;
}

void Reading::give(OpResult result) { frames_.back().result.results.push_back(std::move(result)); }

}  // namespace conclave::kv
