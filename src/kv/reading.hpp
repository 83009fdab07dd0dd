// A read of the store a little at a time, as the store was when it began: what is written meanwhile is not
// seen, and what is compacted meanwhile is.
//
//   kv::Reading reading(store, txn, {.records = 1'000'000});
//   while (reading.step(256) == kv::Reading::Went::on) …others do what they do…;
//   auto result = reading.take();
//
// The request's texts are borrowed as long as it goes on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kv/answer.hpp"
#include "kv/store.hpp"

namespace conclave::kv {

// Sorts in the order of a request, stably, a little at a time.
class SlowSort {
 public:
  SlowSort() = default;
  SlowSort(const Range& request, std::vector<RecordRef> records);
  // Takes from `work` what it does. True: there is more to do.
  bool step(std::size_t& work);
  std::vector<RecordRef> take() { return std::move(from_); }
  std::size_t records() const { return from_.size() + to_.capacity(); }
  bool let_go(std::size_t& work) { return kv::let_go(from_, work) || kv::let_go(to_, work); }

 private:
  bool right_first(const RecordRef& left, const RecordRef& right, std::size_t& work) const;
  void begin_pair(std::size_t at);

  SortTarget target_ = SortTarget::key;
  bool descends_ = false;
  std::vector<RecordRef> from_ = {};
  std::vector<RecordRef> to_ = {};
  std::size_t width_ = 1;  // of the runs in `from` that are sorted
  // The two runs that become one: what is left of them.
  std::size_t left_ = 0;
  std::size_t middle_ = 0;
  std::size_t right_ = 0;
  std::size_t end_ = 0;
};

class Reading {
 public:
  // What is collected is no more than this. A record has at least so many bytes, its key and its value.
  struct Most {
    std::size_t records = SIZE_MAX;
    std::size_t bytes = SIZE_MAX;
  };
  enum class Went : std::uint8_t {
    on,         // there is more to do
    done,       // `take` has what came of it
    too_large,  // more than was asked for
    lost,       // the store is gone: another one took its place
  };
  using Result = std::variant<Error, RangeResult, TxnResult>;

  Reading(const Store& store, const Range& range, Most most);
  // What the transaction would write is not written, and its reads do not see it.
  Reading(const Store& store, const Txn& txn, Most most);

  // Looks at about so many keys.
  Went step(std::size_t work);
  // Of what is read.
  Revision revision() const { return revision_; }
  // Collected so far, and what was looked at for it.
  std::size_t records() const;
  // What is told for sure has so many bytes, without what is around it.
  std::size_t bytes() const { return bytes_; }
  Result take() { return std::move(result_); }
  // Whoever has no use for the rest gives up what is collected a little at a time, too: True: there is more.
  bool let_go(std::size_t& work);

 private:
  // Keys of a range, one after the other, as they were.
  struct Walk {
    std::string from = {};
    std::string_view end = {};
  };
  // One range that is being read.
  struct Scan {
    Range request = {};
    Walk walk = {};
    Revision then = 0;
    std::size_t limit = SIZE_MAX;
    bool knows_count = false;
    bool may_stop = false;  // the keys come in the order that is asked for
    bool walked = false;
    bool sorts = false;
    std::size_t weighed = 0;  // of the result
    RangeResult result = {};
    SlowSort sort = {};
  };
  // One transaction that is being carried out, and whose answer is being made.
  struct Frame {
    const Txn* txn = nullptr;
    std::size_t compared = 0;
    std::size_t operation = 0;
    bool decided = false;
    TxnResult result = {};
    const std::vector<Op>& operations() const { return result.succeeded ? txn->success : txn->failure; }
  };
  struct Comparison {
    Walk walk = {};
    bool any = false;
  };

  bool is_fresh() const { return store_.revision() == revision_; }
  template <class See>
  bool walk(Walk& walk, Revision then, std::size_t& work, See see);
  std::optional<Error> begin_scan(const Range& request);
  void look_up(Scan& scan) const;
  void collect(Scan& scan, Record* record);
  void weigh(const Record& record, bool keys_only);
  bool go_on_scanning(std::size_t& work);
  bool go_on_sorting(std::size_t& work);
  bool go_on_cutting(std::size_t& work);
  bool go_on_weighing(std::size_t& work);
  Went advance(std::size_t& work);
  Went advance_frame(std::size_t& work);
  std::optional<bool> compare(const Compare& compare, std::size_t& work);
  std::optional<Error> begin_operation(const Op& op);
  void give(OpResult result);

  const Store& store_;
  History::Hold hold_;
  const Revision revision_;
  const Revision compacted_;
  const Most most_;
  // Of what is told for sure.
  std::size_t records_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Frame> frames_ = {};
  std::optional<Scan> scan_ = {};
  std::optional<Comparison> comparison_ = {};
  bool deletes_ = false;  // the scan is for a delete
  std::optional<Result> over_ = {};
  Result result_ = {};
};

}  // namespace conclave::kv
