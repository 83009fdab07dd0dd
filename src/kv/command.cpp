#include "kv/command.hpp"

#include <algorithm>
#include <set>

#include "core/visit.hpp"
#include "kv/keys.hpp"

namespace conclave::kv {
namespace {

using Verdict = std::expected<void, Error>;

Verdict refuse(Error error) { return std::unexpected(error); }

Verdict check_key(std::string_view key, std::string_view range_end = {}) {
  if (key.empty()) return refuse(Error::key_not_provided);
  if (key.size() > max_text || range_end.size() > max_text) return refuse(Error::request_too_large);
  return {};
}

Verdict check_one(const Put& put) {
  if (put.ignore_value && !put.value.empty()) return refuse(Error::value_provided);
  if (put.ignore_lease && put.lease != 0) return refuse(Error::lease_provided);
  if (put.value.size() > max_text) return refuse(Error::request_too_large);
  return check_key(put.key);
}
Verdict check_one(const DeleteRange& range) { return check_key(range.key, range.range_end); }
Verdict check_one(const Range& range) { return check_key(range.key, range.range_end); }
Verdict check_one(const LeaseGrant& grant) {
  return grant.ttl > max_ttl ? refuse(Error::ttl_too_large) : Verdict{};
}
Verdict check_one(const LeaseRenew& renew) {
  return renew.ids.size() > max_renewed ? refuse(Error::request_too_large) : Verdict{};
}
Verdict check_one(const Lock& lock) {
  return lock.name.size() > max_name ? refuse(Error::request_too_large) : Verdict{};
}
Verdict check_one(const Campaign& campaign) {
  const bool fits = campaign.name.size() <= max_name && campaign.value.size() <= max_text;
  return fits ? Verdict{} : refuse(Error::request_too_large);
}
Verdict check_one(const Compact&) { return {}; }
Verdict check_one(const LeaseRevoke&) { return {}; }
Verdict check_one(const Tick&) { return {}; }
Verdict check_one(const Alarm&) { return {}; }
Verdict check_one(const Vouch&) { return {}; }
Verdict check_one(const Sweep& sweep) {
  return sweep.records > max_swept ? refuse(Error::request_too_large) : Verdict{};
}
Verdict check_one(const Need&) { return {}; }

// What a list of operations may write, to find out whether two of them would write one key: in one revision a
// key changes once.
struct Writes {
  std::set<std::string_view> puts = {};
  std::vector<KeyRange> deletes = {};

  bool clashes_with(const Writes& other) const {
    for (const std::string_view key : other.puts)
      if (puts.contains(key) || deletes_one(key)) return true;
    return std::ranges::any_of(other.deletes, [this](const KeyRange& range) { return puts_into(range); });
  }
  void add(Writes& other) {
    puts.merge(other.puts);
    deletes.insert(deletes.end(), other.deletes.begin(), other.deletes.end());
  }

 private:
  bool deletes_one(std::string_view key) const {
    return std::ranges::any_of(deletes, [key](const KeyRange& range) { return range.contains(key); });
  }
  bool puts_into(const KeyRange& range) const {
    const auto first = puts.lower_bound(range.key);
    return first != puts.end() && range.contains(*first);
  }
};

// Goes through a transaction and what is nested in it.
class TxnCheck {
 public:
  Verdict run(const Txn& txn) {
    Writes writes;
    return check_txn(txn, max_txn_operations, writes);
  }

 private:
  Verdict check_txn(const Txn& txn, std::size_t budget, Writes& writes) {
    const std::size_t longest = std::max({txn.compare.size(), txn.success.size(), txn.failure.size()});
    total_ += txn.compare.size() + txn.success.size() + txn.failure.size();
    if (longest > budget || total_ > max_txn_total) return refuse(Error::too_many_operations);
    for (const Compare& compare : txn.compare)
      if (const Verdict fine = check_key(compare.key, compare.range_end); !fine) return fine;
    Writes otherwise;
    if (const Verdict fine = check_branch(txn.success, budget - longest, writes); !fine) return fine;
    if (const Verdict fine = check_branch(txn.failure, budget - longest, otherwise); !fine) return fine;
    writes.add(otherwise);  // only one branch runs: they may write the same
    return {};
  }

  Verdict check_branch(const std::vector<Op>& ops, std::size_t budget, Writes& all) {
    for (const Op& op : ops) {
      Writes writes;
      if (const Verdict fine = check_op(op, budget, writes); !fine) return fine;
      if (all.clashes_with(writes)) return refuse(Error::duplicate_key);
      all.add(writes);
    }
    return {};
  }

  Verdict check_op(const Op& op, std::size_t budget, Writes& writes) {
    if (const auto* txn = std::get_if<Txn>(&op.request)) return check_txn(*txn, budget, writes);
    if (const auto* put = std::get_if<Put>(&op.request)) {
      writes.puts.insert(put->key);
      return check_one(*put);
    }
    if (const auto* range = std::get_if<DeleteRange>(&op.request)) {
      writes.deletes.push_back({range->key, range->range_end});
      return check_one(*range);
    }
    return check_one(std::get<Range>(op.request));
  }

  std::size_t total_ = 0;
};

Verdict check_one(const Txn& txn) { return TxnCheck().run(txn); }

}  // namespace

std::string_view describe(Error error) {
  switch (error) {
    case Error::key_not_provided: return "key is not provided";
    case Error::key_not_found: return "key not found";
    case Error::value_provided: return "value is provided";
    case Error::lease_provided: return "lease is provided";
    case Error::too_many_operations: return "too many operations in txn request";
    case Error::duplicate_key: return "duplicate key given in txn request";
    case Error::compacted: return "mvcc: required revision has been compacted";
    case Error::future_revision: return "mvcc: required revision is a future revision";
    case Error::no_space: return "mvcc: database space exceeded";
    case Error::corrupt: return "corrupt cluster";
    case Error::lease_not_found: return "requested lease not found";
    case Error::lease_exists: return "lease already exists";
    case Error::ttl_too_large: return "too large lease TTL";
    case Error::request_too_large: return "request is too large";
    case Error::answer_too_large: return "answer is too large";
  }
  return "unknown error";
}

std::expected<void, Error> check(const Command& command) {
  Verdict verdict;
  visit_in_place(command, [&](const auto& one) { verdict = check_one(one); });
  return verdict;
}

std::expected<void, Error> check(const Range& range) { return check_one(range); }
std::expected<void, Error> check(const Txn& txn) { return check_one(txn); }

Txn proclaim(std::string_view key, Revision create, std::string_view value, LeaseId lease) {
  Txn txn;
  txn.compare.push_back({.target = CompareTarget::create, .key = key, .number = create});
  txn.success.push_back({Put{.key = key, .value = value, .lease = lease}});
  return txn;
}

Txn resign(std::string_view key, Revision create) {
  Txn txn;
  txn.compare.push_back({.target = CompareTarget::create, .key = key, .number = create});
  txn.success.push_back({DeleteRange{.key = key}});
  return txn;
}

}  // namespace conclave::kv
