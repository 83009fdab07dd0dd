// The store against a model that is too simple to be wrong: a map for every revision, copied whole.
//
// A run is a list of byte strings, each of which chooses one command; RapidCheck shrinks what fails.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kv/lines.hpp"
#include "kv/reading.hpp"
#include "kv/replica_for_tests.hpp"
#include "kv/watches.hpp"

namespace conclave::kv {
namespace {

using Step = std::vector<std::uint8_t>;
using Run = std::vector<Step>;

// Any byte at any length: RapidCheck would begin with small numbers, that is with the first few commands.
rc::Gen<Run> runs() {
  const auto byte = rc::gen::resize(100, rc::gen::arbitrary<std::uint8_t>());
  const auto step = rc::gen::resize(24, rc::gen::container<Step>(byte));
  return rc::gen::scale(2.0, rc::gen::container<Run>(step));
}

// Chooses from a byte string, and the first alternative when that is used up.
class Choices {
 public:
  explicit Choices(const Step& bytes) : bytes_(bytes) {}
  std::size_t below(std::size_t n) { return at_ < bytes_.size() ? bytes_[at_++] % n : 0; }
  bool coin() { return below(2) == 1; }
  bool rarely() { return below(8) == 7; }

 private:
  const Step& bytes_;
  std::size_t at_ = 0;
};

// Commands over few keys, so that they meet; text lives as long as the maker.
class CommandMaker {
 public:
  Command make(Choices choices, const Store& store, std::uint64_t term) {
    const Revision now = store.revision();
    switch (choices.below(19)) {
      case 0:
      case 1:
      case 2:
      case 3: return put(choices);
      case 4:
      case 5: return delete_range(choices);
      case 6:
      case 7: return txn(choices, now, 0);
      case 8: return Compact{revision(choices, now)};
      case 9: return LeaseGrant{lease(choices), static_cast<std::int64_t>(choices.below(6))};
      case 10: return LeaseRevoke{lease(choices)};
      case 11: return LeaseRenew{{lease(choices), lease(choices)}};
      case 12: return Tick{choices.rarely() ? term + 1 : term, choices.below(40) * 100};
      case 13: return Lock{name(choices), lease(choices)};
      case 14: return Campaign{name(choices), lease(choices), value(choices)};
      case 15: return Vouch{1, choices.below(9), choices.below(9)};
      case 16: return Sweep{static_cast<std::uint32_t>(choices.below(9)), revision(choices, now)};
      case 17: return Need{1, revision(choices, now)};
      default:
        return Alarm{choices.below(2), static_cast<AlarmKind>(choices.below(3)), choices.below(4) == 3};
    }
  }

  Range range(Choices& choices, Revision now) {
    const auto bound = [&] { return choices.rarely() ? revision(choices, now) : 0; };
    Range range = {.key = key(choices), .range_end = end(choices)};
    range.limit = choices.coin() ? static_cast<std::int64_t>(choices.below(4)) : 0;
    range.revision = choices.coin() ? revision(choices, now) : 0;
    range.sort_order = static_cast<SortOrder>(choices.below(3));
    range.sort_target = static_cast<SortTarget>(choices.below(5));
    range.count_only = choices.rarely();
    range.keys_only = choices.rarely();
    range.min_mod_revision = bound();
    range.max_mod_revision = bound();
    range.min_create_revision = bound();
    range.max_create_revision = bound();
    return range;
  }

  std::string_view key(Choices& choices) {
    static constexpr std::string_view all[] = {"a",     "b",   "c",  "a/1",   "a/2",
                                               "a/b/3", "a/b", "b/", "c/1/2", ""};
    return all[choices.below(choices.rarely() ? 10 : 9)];
  }
  std::string_view end(Choices& choices) {
    static constexpr std::string_view all[] = {"",    "", "b", "c", "d", "a0", std::string_view("\0", 1),
                                               "a/b0"};
    return all[choices.below(8)];
  }

 private:
  Revision revision(Choices& choices, Revision now) {
    return now + 1 - static_cast<Revision>(choices.below(8));
  }
  LeaseId lease(Choices& choices) { return static_cast<LeaseId>(choices.below(4)); }
  std::string_view name(Choices& choices) { return choices.coin() ? "a" : "a/b"; }
  std::string_view value(Choices& choices) {
    static constexpr std::string_view all[] = {"", "1", "2", "some longer value, beyond sixteen bytes"};
    return all[choices.below(4)];
  }
  Put put(Choices& choices) {
    Put put = {.key = key(choices), .value = value(choices)};
    if (choices.coin()) put.lease = lease(choices);
    put.prev_kv = choices.coin();
    put.ignore_value = choices.rarely();
    put.ignore_lease = choices.rarely();
    return put;
  }
  DeleteRange delete_range(Choices& choices) {
    return {.key = key(choices), .range_end = end(choices), .prev_kv = choices.coin()};
  }
  Compare compare(Choices& choices, Revision now) {
    return {.result = static_cast<CompareResult>(choices.below(4)),
            .target = static_cast<CompareTarget>(choices.below(5)),
            .key = key(choices),
            .range_end = choices.coin() ? end(choices) : std::string_view{},
            .number = choices.coin() ? static_cast<std::int64_t>(choices.below(4)) : revision(choices, now),
            .value = value(choices)};
  }
  std::vector<Op> ops(Choices& choices, Revision now, int depth) {
    std::vector<Op> list;
    for (std::size_t left = choices.below(4); left > 0; --left) {
      switch (choices.below(depth < 2 ? 4 : 3)) {
        case 0: list.push_back({put(choices)}); break;
        case 1: list.push_back({delete_range(choices)}); break;
        case 2: list.push_back({range(choices, now)}); break;
        default: list.push_back({txn(choices, now, depth + 1)});
      }
    }
    return list;
  }
  Txn txn(Choices& choices, Revision now, int depth) {
    Txn txn;
    for (std::size_t left = choices.below(3); left > 0; --left) txn.compare.push_back(compare(choices, now));
    txn.success = ops(choices, now, depth);
    txn.failure = ops(choices, now, depth);
    return txn;
  }
};

struct ModelKv {
  std::string key = {};
  std::string value = {};
  Revision create = 0;
  Revision mod = 0;
  std::int64_t version = 0;
  LeaseId lease = 0;
};

std::string text(const ModelKv& kv) {
  return kv.key + "=" + kv.value + " c" + std::to_string(kv.create) + " m" + std::to_string(kv.mod) + " v" +
         std::to_string(kv.version) + " l" + std::to_string(kv.lease);
}
std::string text(const std::vector<ModelKv>& kvs) {
  std::string out = "[";
  for (const ModelKv& kv : kvs) out += (out.size() > 1 ? ", " : "") + text(kv);
  return out + "]";
}

using State = std::map<std::string, ModelKv>;

struct ModelEvent {
  Revision revision = 0;
  std::string key = {};
  std::optional<ModelKv> now = {};
  std::optional<ModelKv> before = {};
};

std::string text(const ModelEvent& event, bool with_before = true) {
  const std::string what = event.now ? "put " + text(*event.now) : "delete " + event.key;
  return std::to_string(event.revision) + " " + what + " over " +
         (event.before && with_before ? text(*event.before) : "none");
}

bool in_range(std::string_view key, std::string_view first, std::string_view end) {
  if (end.empty()) return key == first;
  if (end == std::string_view("\0", 1)) return key >= first;
  return key >= first && key < end;
}

struct ModelLease {
  std::int64_t ttl = 0;
  std::optional<std::uint64_t> deadline = {};
};

// Answers in the words of replica_for_tests.hpp.
class Model {
 public:
  std::vector<State> states = {{}, {}};  // by revision
  std::vector<ModelEvent> events = {};
  Revision compacted = 0;
  Revision swept = -1;  // up to there what belongs to a mark may be gone
  // Where watchers may begin, or have to if all was swept that may be.
  Revision first_watchable() const { return swept == compacted ? compacted + 1 : compacted; }
  std::uint64_t clock = 0;
  std::map<LeaseId, ModelLease> leases = {};
  std::set<std::pair<std::uint64_t, AlarmKind>> alarms = {};
  std::uint64_t most_reach = max_reach;

  Revision revision() const { return static_cast<Revision>(states.size()) - 1; }

  std::string apply(const Command& command, Context context) {
    context_ = context;
    std::string answer;
    // Which of several things is wrong with a command is for its own tests.
    if (const auto fine = check(command); !fine) {
      answer = describe(fine.error());
    } else if (const std::string alarm = refusal(command); !alarm.empty()) {
      answer = alarm;
    } else {
      work_ = states.back();
      answer = std::visit([this](const auto& one) { return run(one); }, command);
      commit();
    }
    return std::to_string(revision()) + ": " + answer;
  }

  std::string range(const Range& request) {
    if (const auto fine = check(request); !fine) return std::string(describe(fine.error()));
    work_ = states.back();
    const std::string problem = problem_of(request);
    return problem.empty() ? read(request) : problem;
  }

 private:
  static bool puts(const std::vector<Op>& ops) {
    return std::ranges::any_of(ops, [](const Op& op) {
      const auto* txn = std::get_if<Txn>(&op.request);
      return op.request.index() == 1 || (txn && (puts(txn->success) || puts(txn->failure)));
    });
  }
  std::string refusal(const Command& command) const {
    const std::size_t i = command.index();
    const auto* txn = std::get_if<Txn>(&command);
    const bool grows =
        i == 0 || i == 4 || i == 8 || i == 9 || (txn && (puts(txn->success) || puts(txn->failure)));
    const bool on_keys = grows || i == 1 || i == 2 || i == 3;
    for (const auto& [member, kind] : alarms) {
      if (kind == AlarmKind::corrupt && on_keys) return "corrupt cluster";
      if (kind == AlarmKind::no_space && grows) return "mvcc: database space exceeded";
    }
    return "";
  }

  void commit() {
    if (changes_.empty()) return;
    states.push_back(work_);
    for (ModelEvent& event : changes_) events.push_back(std::move(event));
    changes_.clear();
  }
  void write(const std::string& key, std::string_view value, LeaseId lease) {
    const auto found = work_.find(key);
    std::optional<ModelKv> before;
    if (found != work_.end()) before = found->second;
    const Revision mod = revision() + 1;
    const ModelKv now = {
        key, std::string(value), before ? before->create : mod, mod, before ? before->version + 1 : 1, lease};
    work_[key] = now;
    changes_.push_back({mod, key, now, before});
  }
  void erase(const std::string& key) {
    changes_.push_back({revision() + 1, key, {}, work_.at(key)});
    work_.erase(key);
  }

  std::string problem_of(const Put& put) const {
    if (put.lease != 0 && !leases.contains(put.lease)) return "requested lease not found";
    const bool needs_it = put.ignore_value || put.ignore_lease;
    return needs_it && !work_.contains(std::string(put.key)) ? "key not found" : "";
  }
  std::string problem_of(const Range& range) const {
    if (range.revision > revision()) return "mvcc: required revision is a future revision";
    if (range.revision > 0 && range.revision < compacted) return "mvcc: required revision has been compacted";
    return "";
  }

  std::string put(const Put& put) {
    const std::string key(put.key);
    const auto found = work_.find(key);
    const std::string before = found == work_.end() || !put.prev_kv ? "none" : text(found->second);
    write(key, put.ignore_value ? found->second.value : std::string(put.value),
          put.ignore_lease ? found->second.lease : put.lease);
    return "put over " + before;
  }
  std::string delete_range(const DeleteRange& range) {
    std::vector<ModelKv> gone;
    for (const auto& [key, kv] : work_)
      if (in_range(key, range.key, range.range_end)) gone.push_back(kv);
    for (const ModelKv& kv : gone) erase(kv.key);
    const std::size_t deleted = gone.size();
    if (!range.prev_kv) gone.clear();
    return "deleted " + std::to_string(deleted) + " " + text(gone);
  }
  std::string read(const Range& request) const {
    const State& state = request.revision > 0 ? states[static_cast<std::size_t>(request.revision)] : work_;
    std::vector<ModelKv> found;
    std::size_t count = 0;
    for (const auto& [key, kv] : state) {
      if (!in_range(key, request.key, request.range_end)) continue;
      ++count;
      const auto outside = [](Revision value, Revision least, Revision most) {
        return (least != 0 && value < least) || (most != 0 && value > most);
      };
      if (outside(kv.mod, request.min_mod_revision, request.max_mod_revision)) continue;
      if (outside(kv.create, request.min_create_revision, request.max_create_revision)) continue;
      found.push_back(kv);
    }
    if (request.count_only) return text(std::vector<ModelKv>{}) + " of " + std::to_string(count);
    const bool descends = request.sort_order == SortOrder::descend;
    const auto sort_by = [&](auto field) {
      std::ranges::stable_sort(found, [&](const ModelKv& a, const ModelKv& b) {
        return descends ? b.*field < a.*field : a.*field < b.*field;
      });
    };
    if (request.sort_target == SortTarget::key) sort_by(&ModelKv::key);
    if (request.sort_target == SortTarget::version) sort_by(&ModelKv::version);
    if (request.sort_target == SortTarget::create) sort_by(&ModelKv::create);
    if (request.sort_target == SortTarget::mod) sort_by(&ModelKv::mod);
    if (request.sort_target == SortTarget::value) sort_by(&ModelKv::value);
    const bool more = request.limit > 0 && found.size() > static_cast<std::size_t>(request.limit);
    if (more) found.resize(static_cast<std::size_t>(request.limit));
    return text(found) + " of " + std::to_string(count) + (more ? " and more" : "");
  }

  static bool matches(CompareResult result, int order) {
    if (result == CompareResult::equal) return order == 0;
    if (result == CompareResult::not_equal) return order != 0;
    return result == CompareResult::less ? order < 0 : order > 0;
  }
  static bool holds_for(const Compare& compare, const ModelKv& kv) {
    const auto number = [&](std::int64_t value) {
      return matches(compare.result, value < compare.number ? -1 : value > compare.number ? 1 : 0);
    };
    switch (compare.target) {
      case CompareTarget::version: return number(kv.version);
      case CompareTarget::create: return number(kv.create);
      case CompareTarget::mod: return number(kv.mod);
      case CompareTarget::lease: return number(kv.lease);
      case CompareTarget::value: return matches(compare.result, kv.value.compare(compare.value));
    }
    return false;
  }
  bool holds(const Compare& compare) const {
    bool any = false;
    for (const auto& [key, kv] : states.back()) {
      if (!in_range(key, compare.key, compare.range_end)) continue;
      any = true;
      if (!holds_for(compare, kv)) return false;
    }
    return any || (compare.target != CompareTarget::value && holds_for(compare, {}));
  }
  bool succeeds(const Txn& txn) const {
    return std::ranges::all_of(txn.compare, [this](const Compare& one) { return holds(one); });
  }
  std::string problem_of(const Txn& txn) const {
    for (const Op& op : succeeds(txn) ? txn.success : txn.failure) {
      std::string problem;
      if (const auto* nested = std::get_if<Txn>(&op.request)) problem = problem_of(*nested);
      if (const auto* put = std::get_if<Put>(&op.request)) problem = problem_of(*put);
      if (const auto* range = std::get_if<Range>(&op.request)) problem = problem_of(*range);
      if (!problem.empty()) return problem;
    }
    return "";
  }
  std::string run_branch(const Txn& txn) {
    const bool then = succeeds(txn);
    std::string out = then ? "then(" : "else(";
    for (const Op& op : then ? txn.success : txn.failure) {
      if (const auto* nested = std::get_if<Txn>(&op.request)) out += run_branch(*nested);
      if (const auto* one = std::get_if<Put>(&op.request)) out += put(*one);
      if (const auto* range = std::get_if<DeleteRange>(&op.request)) out += delete_range(*range);
      if (const auto* range = std::get_if<Range>(&op.request)) out += read(*range);
      out += ";";
    }
    return out + ")";
  }

  std::string run(const Put& request) {
    const std::string problem = problem_of(request);
    return problem.empty() ? put(request) : problem;
  }
  std::string run(const DeleteRange& range) { return delete_range(range); }
  std::uint64_t reach(std::string_view first, std::string_view end) const {
    if (end.empty()) return 1;
    return static_cast<std::uint64_t>(std::ranges::count_if(
        states.back(), [&](const auto& one) { return in_range(one.first, first, end); }));
  }
  static bool deletes(const Txn& txn) {
    const auto one = [](const Op& op) {
      const auto* nested = std::get_if<Txn>(&op.request);
      return std::holds_alternative<DeleteRange>(op.request) || (nested && deletes(*nested));
    };
    return std::ranges::any_of(txn.success, one) || std::ranges::any_of(txn.failure, one);
  }
  std::uint64_t reach(const std::vector<Op>& ops, bool deletes) const {
    std::uint64_t sum = 0;
    for (const Op& op : ops) {
      if (const auto* nested = std::get_if<Txn>(&op.request)) sum += reach(*nested, deletes);
      const auto* range = std::get_if<Range>(&op.request);
      if (!range) continue;
      const bool in_order = range->sort_target == SortTarget::key && range->sort_order != SortOrder::descend;
      const bool picks = range->min_mod_revision != 0 || range->max_mod_revision != 0 ||
                         range->min_create_revision != 0 || range->max_create_revision != 0;
      std::uint64_t one = range->count_only ? 1 : reach(range->key, range->range_end);
      if (range->limit > 0 && in_order && !picks && !deletes)
        one = std::min(one, static_cast<std::uint64_t>(range->limit));
      sum += one;
    }
    return sum;
  }
  std::uint64_t reach(const Txn& txn, bool deletes) const {
    std::uint64_t sum = std::max(reach(txn.success, deletes), reach(txn.failure, deletes));
    for (const Compare& compare : txn.compare) sum += reach(compare.key, compare.range_end);
    return sum;
  }
  std::string run(const Txn& txn) {
    if (reach(txn, deletes(txn)) > most_reach) return "too many operations in txn request";
    const std::string problem = problem_of(txn);
    return problem.empty() ? run_branch(txn) : problem;
  }
  std::string run(const Compact& compact) {
    if (compact.revision <= compacted) return "mvcc: required revision has been compacted";
    if (compact.revision > revision()) return "mvcc: required revision is a future revision";
    compacted = compact.revision;
    return "done";
  }
  std::string run(const LeaseGrant& grant) {
    if (grant.id == 0) return run(LeaseGrant{picked(), grant.ttl});
    if (leases.contains(grant.id)) return "lease already exists";
    leases[grant.id] = {std::max<std::int64_t>(grant.ttl, 1), {}};
    return "lease " + std::to_string(grant.id) + " for " + std::to_string(leases[grant.id].ttl);
  }
  // Which lease the store picks is its own choice, as long as it is the same everywhere.
  LeaseId picked() const {
    return static_cast<LeaseId>(digest({context_.index, context_.term}) & static_cast<std::uint64_t>(never));
  }
  std::string run(const LeaseRevoke& revoke) {
    if (!leases.contains(revoke.id)) return "requested lease not found";
    end(revoke.id);
    return "done";
  }
  void end(LeaseId id) {
    std::vector<std::string> keys;
    for (const auto& [key, kv] : work_)
      if (kv.lease == id) keys.push_back(key);
    for (const std::string& key : keys) erase(key);
    commit();
    leases.erase(id);
  }
  std::string run(const LeaseRenew& renew) {
    std::string out = "renewed";
    for (const LeaseId id : renew.ids) {
      const auto found = leases.find(id);
      if (found != leases.end()) found->second.deadline.reset();
      out += " " + std::to_string(found == leases.end() ? 0 : found->second.ttl);
    }
    return out;
  }
  std::string run(const Tick& tick) {
    if (tick.term != context_.term) return "done";
    clock += std::min(tick.elapsed_ms, longest_step_ms);
    std::vector<std::pair<std::uint64_t, LeaseId>> due;
    for (auto& [id, lease] : leases) {
      if (!lease.deadline) lease.deadline = clock + static_cast<std::uint64_t>(lease.ttl) * 1000;
      if (*lease.deadline <= clock) due.push_back({*lease.deadline, id});
    }
    std::ranges::sort(due);
    for (const auto& [deadline, id] : due) end(id);
    return "done";
  }
  std::string run(const Lock& lock) { return stand(lock.name, lock.lease, std::nullopt); }
  std::string run(const Campaign& campaign) { return stand(campaign.name, campaign.lease, campaign.value); }
  std::string stand(std::string_view name, LeaseId lease, std::optional<std::string_view> value) {
    if (!leases.contains(lease)) return "requested lease not found";
    const std::string line = std::string(name) + "/";
    const std::string key = line + std::to_string(lease);  // of one digit here
    if (!work_.contains(key) || (value && work_.at(key).value != *value))
      write(key, value.value_or(""), lease);
    const ModelKv* first = nullptr;
    for (const auto& [other, kv] : work_)
      if (other.starts_with(line) && (!first || kv.create < first->create)) first = &kv;
    return key + " fence " + std::to_string(work_.at(key).create) + (first->key == key ? " first" : " waits");
  }
  std::string run(const Vouch&) { return "done"; }
  std::string run(const Sweep& sweep) {
    if (sweep.through >= compacted) swept = compacted;
    return "done";
  }
  std::string run(const Need&) { return "done"; }
  std::string run(const Alarm& alarm) {
    if (alarm.kind == AlarmKind::none) return "done";
    if (alarm.raised) alarms.insert({alarm.member, alarm.kind});
    if (!alarm.raised) alarms.erase({alarm.member, alarm.kind});
    return "done";
  }

  Context context_ = {};
  State work_ = {};
  std::vector<ModelEvent> changes_ = {};
};

RC_GTEST_PROP(StoreAndModel, GiveTheSameAnswers, ()) {
  const Run run = *runs();
  Replica replica;
  Model model;
  CommandMaker maker;
  for (const Step& step : run) {
    Choices choices(step);
    if (choices.rarely()) ++replica.context.term;
    const Command command = maker.make(choices, replica.store, replica.context.term);
    const Answer answer = replica.apply(command);
    RC_ASSERT(text(answer) == model.apply(command, replica.context));
    RC_ASSERT(replica.store.revision() == model.revision());
    RC_ASSERT(replica.store.digest() == replica.store.recomputed_digest());
    // The step's last bytes ask a question as well.
    const Step reversed(step.rbegin(), step.rend());
    Choices questions(reversed);
    const Range question = maker.range(questions, replica.store.revision());
    RC_ASSERT(replica.range(question) == model.range(question));
  }
  RC_ASSERT(replica.store.leases().clock_ms() == model.clock);
  for (const auto& [id, lease] : model.leases) {
    const Lease* ours = replica.store.leases().find(id);
    RC_ASSERT(ours != nullptr);
    RC_ASSERT(ours->deadline == lease.deadline.value_or(0));
  }
  RC_ASSERT(replica.store.leases().all().size() == model.leases.size());
  // The newest of what exists lives, and all else is history.
  std::uint64_t live = 0;
  for (Key* key = replica.store.history().keys().first(); key; key = Keys::next(*key))
    if (key->exists()) live += record_bytes + key->size + key->newest->size;
  RC_ASSERT(replica.store.history().live_bytes() == live);
  RC_ASSERT(replica.store.history().live_records() == model.states.back().size());
  RC_ASSERT(replica.store.live_bytes() <= replica.store.bytes());
  // Whatever clients can make grow counts.
  std::uint64_t least = replica.store.history().bytes() + model.leases.size() * sizeof(Lease);
  for (const auto& [id, lease] : replica.store.leases().all()) least += lease.keys.size() * sizeof(Key*);
  RC_ASSERT(replica.store.bytes() >= least);
  RC_ASSERT(!model.leases.empty() || replica.store.leases().bytes() == 0u);
}

// Reads of the past are left out: they are reckoned by records, of which the model knows nothing.
void forget_the_past(std::vector<Op>& ops) {
  for (Op& op : ops) {
    if (auto* range = std::get_if<Range>(&op.request)) range->revision = 0;
    if (auto* txn = std::get_if<Txn>(&op.request)) {
      forget_the_past(txn->success);
      forget_the_past(txn->failure);
    }
  }
}

RC_GTEST_PROP(StoreAndModel, RefuseTransactionsThatLookAtTooMuch, ()) {
  const Run run = *runs();
  Store store(0, {.reach = 4});
  Model model;
  model.most_reach = 4;
  CommandMaker maker;
  Context context = {0, 1};
  Outcome outcome;
  for (const Step& step : run) {
    Command command = maker.make(Choices(step), store, 1);
    if (auto* txn = std::get_if<Txn>(&command)) {
      forget_the_past(txn->success);
      forget_the_past(txn->failure);
    }
    ++context.index;
    RC_ASSERT(text(store.apply(command, context, outcome)) == model.apply(command, context));
  }
}

// A record takes so many bytes in an answer, with its numbers; and so does an operation.
constexpr std::uint64_t around = 64;
std::uint64_t told(const std::vector<RecordRef>& records, bool keys_only = false) {
  std::uint64_t sum = 0;
  for (const RecordRef& record : records)
    sum += record.key().size() + (keys_only ? 0 : record->size) + around;
  return sum;
}
std::uint64_t told(const TxnResult& result) {
  std::uint64_t sum = 0;
  for (const OpResult& op : result.results) {
    if (!std::holds_alternative<TxnResult>(op.result)) sum += around;
    if (const auto* range = std::get_if<RangeResult>(&op.result)) sum += told(range->kvs, range->keys_only);
    if (const auto* put = std::get_if<PutResult>(&op.result); put && put->previous)
      sum += told({put->previous});
    if (const auto* range = std::get_if<DeleteResult>(&op.result)) sum += told(range->previous);
    if (const auto* nested = std::get_if<TxnResult>(&op.result)) sum += told(*nested);
  }
  return sum;
}

// What is too large for an answer is refused before anything is done, and what is done is answered.
RC_GTEST_PROP(Stores, AnswerWithNoMoreThanTheyMay, ()) {
  const Run run = *runs();
  const std::uint64_t most = 500;
  Store store(0, {.answer = most});
  CommandMaker maker;
  Context context = {0, 1};
  Outcome outcome;
  for (const Step& step : run) {
    const Command command = maker.make(Choices(step), store, 1);
    const auto* txn = std::get_if<Txn>(&command);
    const auto* deletes = std::get_if<DeleteRange>(&command);
    const std::uint64_t reckoned = txn ? store.answer_of(*txn) : deletes ? store.answer_of(*deletes) : 0;
    ++context.index;
    const Revision before = store.revision();
    const Answer answer = store.apply(command, context, outcome);
    std::uint64_t bytes = 0;
    if (const auto* result = std::get_if<TxnResult>(&answer.result)) bytes = told(*result);
    if (const auto* result = std::get_if<DeleteResult>(&answer.result)) bytes = told(result->previous);
    RC_ASSERT(bytes <= most && bytes <= reckoned);
    const auto* error = std::get_if<Error>(&answer.result);
    if (!error || *error != Error::answer_too_large) continue;
    RC_ASSERT(reckoned > most && store.revision() == before && outcome.events.empty());
  }
}

// What only reads, and what reads of what a transaction would do.
void forget_the_writes(std::vector<Op>& ops) {
  std::erase_if(ops, [](const Op& op) { return op.request.index() == 1 || op.request.index() == 2; });
  for (Op& op : ops) {
    if (auto* txn = std::get_if<Txn>(&op.request)) {
      forget_the_writes(txn->success);
      forget_the_writes(txn->failure);
    }
  }
}

std::string in_words(const Reading::Result& result) {
  return std::visit([](const auto& one) { return text(one); }, result);
}

// Readings begin at some time and are carried on between the commands that follow; what they find is what
// there was when they began.
RC_GTEST_PROP(StoreAndModel, ReadSlowlyWhatThereWas, ()) {
  struct Slow {
    std::string expected;
    std::unique_ptr<Txn> txn;
    Reading reading;
  };
  const Run run = *runs();
  Replica replica;
  Model model;
  CommandMaker maker;
  std::list<Slow> slow;
  const auto go_on = [&](Slow& one, std::size_t work) {
    const auto went = one.reading.step(work);
    if (went == Reading::Went::done) RC_ASSERT(in_words(one.reading.take()) == one.expected);
    return went == Reading::Went::on;
  };
  for (const Step& step : run) {
    Choices choices(step);
    Command command = maker.make(choices, replica.store, 1);
    if (auto* txn = std::get_if<Txn>(&command); txn && choices.coin()) {
      forget_the_writes(txn->success);
      forget_the_writes(txn->failure);
      Model then = model;
      const std::string answer = then.apply(command, {});
      auto kept = std::make_unique<Txn>(std::move(*txn));
      const Txn& borrowed = *kept;
      if (model.alarms.empty())
        slow.push_back(
            {answer.substr(answer.find(' ') + 1), std::move(kept), Reading(replica.store, borrowed, {})});
    } else {
      replica.apply(command);
      model.apply(command, replica.context);
    }
    const Step reversed(step.rbegin(), step.rend());
    Choices questions(reversed);
    const Range question = maker.range(questions, replica.store.revision());
    slow.push_back({model.range(question), {}, Reading(replica.store, question, {})});
    std::erase_if(slow, [&](Slow& one) { return !go_on(one, 1 + questions.below(3)); });
  }
  for (Slow& one : slow)
    while (go_on(one, 1)) {
    }
}

RC_GTEST_PROP(StoreAndModel, AgreeOnAllThatCanStillBeRead, ()) {
  const Run run = *runs();
  Replica replica;
  Model model;
  CommandMaker maker;
  for (const Step& step : run) {
    const Command command = maker.make(Choices(step), replica.store, 1);
    replica.apply(command);
    model.apply(command, replica.context);
  }
  const Range everything = {.key = std::string_view("\0", 1), .range_end = KeyRange::no_end};
  for (Revision revision = std::max<Revision>(model.compacted, 1); revision <= model.revision(); ++revision) {
    Range then = everything;
    then.revision = revision;
    RC_ASSERT(replica.range(then) == model.range(then));
  }
  // What is in the log of changes, as a watcher reads it.
  std::vector<std::string> ours;
  const Revision first = replica.store.history().first_watchable();
  RC_ASSERT(first >= model.compacted && first <= std::max<Revision>(1, model.first_watchable()));
  replica.store.history().changes(first, SIZE_MAX, [&](const Event& event) { ours.push_back(text(event)); });
  std::vector<std::string> theirs;
  for (const ModelEvent& event : model.events)
    if (event.revision >= first) theirs.push_back(text(event));
  // At the compacted revision itself, what came before may be gone.
  RC_ASSERT(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!ours[i].starts_with(std::to_string(model.compacted) + " ")) RC_ASSERT(ours[i] == theirs[i]);
  }
}

// Applies bytes instead of commands, with another order in its table of keys, and writes a snapshot all the
// time.
RC_GTEST_PROP(Replicas, AreEqualByteForByteWhateverElseTheyDo, ()) {
  const Run run = *runs();
  const auto snapshot_at = *rc::gen::inRange<std::size_t>(0, run.size() + 1);
  const auto chunk = *rc::gen::inRange<std::size_t>(1, 60);
  Replica one(1);
  Replica other(2);
  Outcome outcome;
  CommandMaker maker;
  Bytes expected;
  Bytes written;
  std::unique_ptr<SnapshotWriter> writer;
  std::unique_ptr<Store> late;
  for (std::size_t i = 0; i <= run.size(); ++i) {
    if (i == snapshot_at) {
      expected = snapshot_of(one.store);
      writer = std::make_unique<SnapshotWriter>(other.store);
      auto loaded = restored(expected, 3);
      RC_ASSERT(loaded.has_value());
      late = std::move(*loaded);
      RC_ASSERT(late->digest() == one.store.digest());
      RC_ASSERT(snapshot_of(*late) == expected);
    }
    if (writer && !writer->write(written, written.size() + chunk)) writer.reset();
    if (i == run.size()) break;
    const Command command = maker.make(Choices(run[i]), one.store, 1);
    const Bytes entry = encode(command);
    const std::string answer = one.ask(command);
    ++other.context.index;
    RC_ASSERT(text(*other.store.apply(entry, other.context, other.outcome)) == answer);
    RC_ASSERT(texts(other.outcome.events) == texts(one.outcome.events));
    RC_ASSERT(other.store.digest() == one.store.digest());
    if (late) {
      RC_ASSERT(text(*late->apply(entry, other.context, outcome)) == answer);
      RC_ASSERT(texts(outcome.events) == texts(one.outcome.events));
      RC_ASSERT(late->digest() == one.store.digest());
    }
  }
  while (writer && writer->write(written, written.size() + chunk)) continue;
  writer.reset();
  RC_ASSERT(written == expected);
  const Bytes last = snapshot_of(one.store);
  RC_ASSERT(snapshot_of(other.store) == last);
  RC_ASSERT(snapshot_of(*late) == last);
  RC_ASSERT(late->recomputed_digest() == one.store.digest());
}

// A watcher, what it was told, and what it should have been told.
struct ModelWatcher {
  WatchRequest request = {};
  Revision next = 0;
  Revision told = 0;   // the last revision of which it heard
  Revision known = 0;  // it was idle then
  std::vector<std::string> heard = {};
  bool is_gone = false;
  std::vector<std::string> expected(const Model& model) const {
    std::vector<std::string> all;
    const std::string_view first = request.key.empty() ? std::string_view("\0", 1) : request.key;
    for (const ModelEvent& event : model.events) {
      const bool wanted = event.now ? !request.no_put : !request.no_delete;
      if (event.revision >= next && wanted && in_range(event.key, first, request.range_end))
        all.push_back(std::to_string(event.revision) + event.key);
    }
    return all;
  }
};

// Watchers on a few streams, each of which takes only so many deliveries before it is full.
class Audience {
 public:
  explicit Audience(const Model& model) : model_(model) {}
  std::map<std::pair<StreamId, WatchName>, ModelWatcher> watchers = {};
  std::map<StreamId, std::size_t> room = {};

  Watches::Hear hear() {
    return [this](const Delivery& delivery) { return hear(delivery); };
  }

 private:
  bool hear(const Delivery& delivery) {
    if (room[delivery.stream] == 0) return false;
    --room[delivery.stream];
    const auto found = watchers.find({delivery.stream, delivery.watch});
    RC_ASSERT(found != watchers.end());
    ModelWatcher& watcher = found->second;
    RC_ASSERT(!watcher.is_gone);
    if (delivery.compacted) {
      RC_ASSERT(*delivery.compacted >= model_.compacted);
      RC_ASSERT(*delivery.compacted <= model_.first_watchable());
      RC_ASSERT(std::max(watcher.known, watcher.told) + 1 < *delivery.compacted);
      watcher.is_gone = true;
      return true;
    }
    RC_ASSERT(!delivery.events.empty());
    RC_ASSERT(delivery.events.front().now->mod > watcher.told);  // no revision in halves
    for (const Event& event : delivery.events) {
      RC_ASSERT(event.now->mod >= watcher.told);
      watcher.told = event.now->mod;
      watcher.heard.push_back(std::to_string(event.now->mod) + std::string(event.now.key()));
    }
    return true;
  }

  const Model& model_;
};

RC_GTEST_PROP(Watchers, HearEverythingOnceAndInOrderHoweverSlowTheyAre, ()) {
  const Run run = *runs();
  Replica replica;
  Model model;
  CommandMaker maker;
  Watches watches(replica.store,
                  {.noted_events = 6, .noted_bytes = 100000, .gathered_bytes = 500, .near = 4});
  Audience audience(model);
  const auto look_at_idle = [&] {
    std::map<StreamId, std::size_t> all;
    std::map<StreamId, std::size_t> idle;
    for (auto& [id, watcher] : audience.watchers) {
      RC_ASSERT(watches.contains(id.first, id.second) != watcher.is_gone);
      if (watcher.is_gone) continue;
      ++all[id.first];
      if (!watches.is_idle(id.first, id.second)) continue;
      ++idle[id.first];
      watcher.known = model.revision();
      RC_ASSERT(watcher.heard == watcher.expected(model));
    }
    for (const auto& [stream, count] : all)
      if (watches.is_idle(stream)) RC_ASSERT(idle[stream] == count);
  };
  for (const Step& step : run) {
    Choices choices(step);
    const std::size_t what = choices.below(16);
    const StreamId stream = choices.below(3);
    const auto watch = static_cast<WatchName>(choices.below(6));
    if (what < 2) {
      if (watches.contains(stream, watch)) continue;
      ModelWatcher watcher;
      watcher.request.key = maker.key(choices);
      watcher.request.range_end = maker.end(choices);
      watcher.request.start_revision = choices.coin() ? 0 : 1 + static_cast<Revision>(choices.below(16));
      watcher.request.no_put = choices.rarely();
      watcher.request.no_delete = choices.rarely();
      if (!watches.create(stream, watch, watcher.request)) continue;
      const Revision start = watcher.request.start_revision;
      watcher.next = start > 0 ? start : model.revision() + 1;
      watcher.told = watcher.known = watcher.next - 1;
      audience.watchers[{stream, watch}] = watcher;
    } else if (what == 2) {
      watches.cancel(stream, watch);
      audience.watchers.erase({stream, watch});
    } else if (what == 3 && choices.rarely()) {
      std::erase_if(audience.watchers, [&](const auto& one) { return one.first.first == stream; });
      audience.room[stream] = 0;
      while (watches.close(stream, 1)) watches.tell_news(2, audience.hear());
    } else if (what == 4 || what == 5) {
      audience.room[stream] += choices.below(5);
      if (audience.room[stream] > 0) watches.room(stream);
    } else if (what == 6 || what == 7) {
      watches.tell_news(1 + choices.below(6), audience.hear());
    } else if (what == 8 || what == 9) {
      watches.tell_history(1 + choices.below(9), audience.hear());
    } else {
      const bool compacts = choices.below(4) == 3;
      const Command command = compacts ? Compact{model.revision() - static_cast<Revision>(choices.below(4))}
                                       : maker.make(choices, replica.store, 1);
      replica.apply(command);
      model.apply(command, replica.context);
      watches.see(replica.outcome);
    }
    look_at_idle();
  }
  for (StreamId stream = 0; stream < 3; ++stream) {
    audience.room[stream] = 1'000'000;
    watches.room(stream);
  }
  int turns = 0;
  for (bool more = true; more; ++turns) {
    RC_ASSERT(turns < 100'000);
    more = watches.tell_news(5, audience.hear());
    more = watches.tell_history(5, audience.hear()) || more;
  }
  look_at_idle();
  std::size_t present = 0;
  for (auto& [id, watcher] : audience.watchers) {
    if (watcher.is_gone) continue;
    ++present;
    RC_ASSERT(watches.is_idle(id.first, id.second));
    RC_ASSERT(watcher.heard == watcher.expected(model));
  }
  RC_ASSERT(watches.size() == present);
  RC_ASSERT(watches.behind() == 0u);
  for (StreamId stream = 0; stream < 3; ++stream) watches.close(stream, 100);
  RC_ASSERT(watches.bytes() == 0u);
}

// Whoever compacts only what no watcher needs overtakes nobody, however slow they are, and nothing that they
// do not need stays for long.
RC_GTEST_PROP(Watchers, AreNeverOvertakenByWhoeverSparesWhatTheyNeed, ()) {
  const Run run = *runs();
  const auto streams = *rc::gen::inRange<std::size_t>(1, 4);  // that are looked at in one go
  Replica replica;
  Watches watches(replica.store,
                  {.noted_events = 6, .noted_bytes = 100000, .gathered_bytes = 500, .near = 4});
  std::map<StreamId, std::size_t> room;
  const auto hear = [&](const Delivery& delivery) {
    if (room[delivery.stream] == 0) return false;
    --room[delivery.stream];
    RC_ASSERT(!delivery.compacted);
    return true;
  };
  const auto apply = [&](const Command& command) {
    replica.apply(command);
    watches.see(replica.outcome);
  };
  const auto forget = [&] {
    const Revision needed = watches.needed(0, 0, streams);
    const Revision until = std::min(needed - 1, replica.store.revision());
    if (until > replica.store.history().compacted()) apply(Compact{until});
    apply(Sweep{100, needed - 1});
  };
  for (const Step& step : run) {
    Choices choices(step);
    const std::size_t what = choices.below(16);
    const StreamId stream = choices.below(4);
    const auto watch = static_cast<WatchName>(choices.below(4));
    const Revision earliest = replica.store.history().first_watchable();
    if (what < 2) {
      const Revision start = choices.coin() ? 0 : earliest + static_cast<Revision>(choices.below(9));
      watches.create(stream, watch,
                     {.key = choices.coin() ? "a" : "b", .start_revision = std::max<Revision>(0, start)});
    } else if (what == 2) {
      watches.cancel(stream, watch);
    } else if (what == 3) {
      watches.close(stream, 1 + choices.below(3));
    } else if (what < 6) {
      room[stream] += choices.below(3);
      if (room[stream] > 0) watches.room(stream);
    } else if (what < 8) {
      watches.tell_news(1 + choices.below(6), hear);
    } else if (what < 10) {
      watches.tell_history(1 + choices.below(9), hear);
    } else if (what < 12) {
      forget();
    } else {
      apply(Put{.key = choices.coin() ? "a" : "b", .value = "1"});
    }
  }
  for (StreamId stream = 0; stream < 4; ++stream) {
    room[stream] = 1'000'000;
    watches.room(stream);
  }
  int turns = 0;
  for (bool more = true; more; ++turns) {
    RC_ASSERT(turns < 100'000);
    more = watches.tell_news(5, hear);
    more = watches.tell_history(5, hear) || more;
  }
  for (int round = 0; round < 10; ++round) forget();
  RC_ASSERT(watches.needed(0, 0, streams) == never);
  RC_ASSERT(replica.store.history().records() == replica.store.history().live_records());
}

// By what is looked at, not by time.
RC_GTEST_PROP(Watchers, CostNothingWhileTheyAreStuckAndShareOneScanWhenTheyAreOld, ()) {
  const auto many = *rc::gen::inRange(40, 200);
  const auto puts = *rc::gen::inRange(20, 100);
  const auto near = *rc::gen::element<Revision>(4, 1000);
  Replica replica;
  Watches watches(replica.store, {.near = near});
  const auto put = [&] {
    replica.apply(Put{.key = "a", .value = "1"});
    watches.see(replica.outcome);
  };
  const auto tell = [&](bool has_room) {
    const Watches::Hear hear = [&](const Delivery&) { return has_room; };
    const WatchWork before = watches.work();
    for (int turns = 0; watches.tell_news(10, hear) || watches.tell_history(10, hear); ++turns)
      RC_ASSERT(turns < 100'000);
    const WatchWork& after = watches.work();
    return std::pair(after.changes - before.changes, after.watchers - before.watchers);
  };
  for (int i = 0; i < many; ++i) watches.create(1, i, {.key = "a"});
  watches.create(2, 0, {.key = "b"});
  put();
  tell(false);
  for (int i = 0; i < puts; ++i) put();
  const auto [changes, looked_at] = tell(false);
  RC_ASSERT(changes <= static_cast<std::size_t>(puts));
  RC_ASSERT(looked_at <= static_cast<std::size_t>(puts));
  RC_ASSERT(watches.behind() == static_cast<std::size_t>(many));
  for (int i = 0; i < many; ++i) watches.create(3, i, {.key = "nothing", .start_revision = 1});
  const auto [scanned, moved] = tell(true);
  RC_ASSERT(scanned <= static_cast<std::size_t>(puts + 1));
  RC_ASSERT(watches.behind() == static_cast<std::size_t>(many));
}

// Locks as their users see them: whoever was told holds it until the key goes.
RC_GTEST_PROP(Locks, HaveOneHolderAndServeInTurnWithGrowingFences, ()) {
  const Run run = *runs();
  Replica replica;
  Lines lines(replica.store);
  CommandMaker maker;
  WaiterId next_waiter = 1;
  std::map<WaiterId, std::pair<std::string, std::string>> waiting;  // name, key
  std::map<std::string, Revision> last_fence;
  std::map<std::string, std::string> holder;
  const auto heed = [&](const std::vector<Turn>& turns) {
    for (const Turn& turn : turns) {
      const auto found = waiting.find(turn.waiter);
      RC_ASSERT(found != waiting.end());
      const auto [name, key] = found->second;
      waiting.erase(found);
      const Key* place = replica.store.history().keys().find(key);
      const bool stands = place && place->exists();
      RC_ASSERT(stands == static_cast<bool>(turn.place));
      if (!stands) continue;
      RC_ASSERT(std::string(turn.place.key()) == key);
      // Nobody who stands in this line came earlier.
      const std::string first = name + "/";
      const std::string end = name + "0";
      const auto line = replica.store.range({.key = first, .range_end = end});
      for (const RecordRef& other : line->kvs) RC_ASSERT(other->create() >= turn.place->create());
      // Several may ask for one place, and hold it together.
      if (holder[name] != key + "@" + std::to_string(turn.place->create()))
        RC_ASSERT(turn.place->create() > last_fence[name]);
      holder[name] = key + "@" + std::to_string(turn.place->create());
      last_fence[name] = turn.place->create();
    }
  };
  const auto apply = [&](const Command& command) {
    const Answer answer = replica.apply(command);
    std::vector<Turn> turns;
    lines.see(replica.outcome, turns);
    heed(turns);
    return answer;
  };
  for (const Step& step : run) {
    Choices choices(step);
    const std::string name = choices.coin() ? "a" : "a/b";
    const auto lease = static_cast<LeaseId>(1 + choices.below(5));
    switch (choices.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        if (!replica.store.leases().find(lease)) apply(LeaseGrant{lease, 3});
        const Answer answer = apply(Lock{name, lease});
        const auto& place = std::get<PlaceInLine>(answer.result);
        waiting[next_waiter] = {name, place.key};
        std::vector<Turn> turns;
        lines.wait(name, place.key, next_waiter++, turns);
        RC_ASSERT(turns.empty() != place.is_first);
        heed(turns);
        break;
      }
      case 4: apply(LeaseRevoke{lease}); break;
      case 5: apply(Tick{1, choices.below(20) * 100}); break;
      case 6: {
        const std::string key = name + "/" + std::to_string(lease);
        apply(DeleteRange{.key = key});
        break;
      }
      default: {
        // A transaction may make two keys in one revision, of which neither came first.
        const Command command = maker.make(choices, replica.store, 1);
        if (!std::holds_alternative<Txn>(command) && !std::holds_alternative<Alarm>(command)) apply(command);
      }
    }
  }
  // Whoever holds lets go, until nobody is left: everybody was told something.
  while (const RecordRef first = replica.store.oldest({"a", "b"})) apply(DeleteRange{.key = first.key()});
  RC_ASSERT(waiting.empty());
  RC_ASSERT(lines.size() == 0u);
}

// Real time goes on whether or not anybody counts it; leaders count what they see of it, and change.
RC_GTEST_PROP(Leases, NeverEndEarlyAndNotLaterForAChangeOfLeaders, ()) {
  const Run run = *runs();
  Replica replica;
  std::uint64_t now = 0;
  std::uint64_t counted_to = 0;  // what the present leader has told
  std::uint64_t uncounted = 0;   // what nobody counts: elections, and steps that were too long
  struct Begun {
    std::uint64_t at;         // real
    std::uint64_t uncounted;  // so far
    std::uint64_t ttl;
  };
  std::map<LeaseId, Begun> begun;
  std::uint64_t longest_pause = 0;
  for (const Step& step : run) {
    Choices choices(step);
    const std::uint64_t passed = choices.below(12) * 100;
    now += passed;
    const auto lease = static_cast<LeaseId>(1 + choices.below(5));
    switch (choices.below(6)) {
      case 0: {
        const std::uint64_t ttl = 1 + choices.below(3);
        const Answer answer = replica.apply(LeaseGrant{lease, static_cast<std::int64_t>(ttl)});
        if (std::holds_alternative<LeaseResult>(answer.result)) begun[lease] = {now, uncounted, ttl};
        break;
      }
      case 1: {
        const Answer answer = replica.apply(LeaseRenew{{lease}});
        if (std::get<RenewResult>(answer.result).ttls[0] == 0) break;
        begun[lease].at = now;
        begun[lease].uncounted = uncounted;
        break;
      }
      case 2: {  // the old leader's step comes too late, the new one counts from now on
        const Tick old = {replica.context.term, 1500};
        ++replica.context.term;
        uncounted += now - counted_to;
        counted_to = now;
        replica.apply(old);
        RC_ASSERT(replica.outcome.ended.empty());
        break;
      }
      default: {
        const std::uint64_t step_ms = now - counted_to;
        if (step_ms > longest_step_ms) uncounted += step_ms - longest_step_ms;
        longest_pause = std::max(longest_pause, step_ms);
        counted_to = now;
        replica.tick(step_ms);
      }
    }
    RC_ASSERT(replica.store.leases().clock_ms() + uncounted == counted_to);
    for (const LeaseId ended : replica.outcome.ended) {
      RC_ASSERT(now - begun[ended].at >= begun[ended].ttl * 1000);
      begun.erase(ended);
    }
    for (const auto& [id, lease_begun] : begun) {
      // Counted time since the beginning, without the pause in which it began: then it would have ended.
      const std::uint64_t elapsed = counted_to < lease_begun.at ? 0 : counted_to - lease_begun.at;
      const std::uint64_t not_counted = uncounted - lease_begun.uncounted;
      RC_ASSERT(elapsed < lease_begun.ttl * 1000 + not_counted + longest_pause);
    }
  }
}

}  // namespace
}  // namespace conclave::kv
