#include "kv/store.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "core/ensure.hpp"
#include "core/visit.hpp"

namespace conclave::kv {
namespace {

// How much of what compactions left to do each command does.
constexpr std::size_t swept_at_once = 32;
// How many leases may end with one Tick; the others end with the next ones.
constexpr int ended_at_once = 256;

bool writes_new_data(const std::vector<Op>& ops) {
  return std::ranges::any_of(ops, [](const Op& op) {
    const auto* txn = std::get_if<Txn>(&op.request);
    return std::holds_alternative<Put>(op.request) ||
           (txn && (writes_new_data(txn->success) || writes_new_data(txn->failure)));
  });
}

// What is refused when there is no space left.
bool takes_space(const Command& command) {
  const auto* txn = std::get_if<Txn>(&command);
  if (txn) return writes_new_data(txn->success) || writes_new_data(txn->failure);
  return std::holds_alternative<Put>(command) || std::holds_alternative<LeaseGrant>(command) ||
         std::holds_alternative<Lock>(command) || std::holds_alternative<Campaign>(command);
}

bool is_about_keys(const Command& command) {
  return takes_space(command) || std::holds_alternative<DeleteRange>(command) ||
         std::holds_alternative<Txn>(command) || std::holds_alternative<Compact>(command);
}

}  // namespace

// As etcd and its clients write it: lower case, no leading zeros, a sign before what is negative.
std::string key_in_line(std::string_view name, LeaseId lease) {
  char digits[17];
  const auto end = std::to_chars(digits, digits + sizeof digits, lease, 16).ptr;
  std::string key;
  key.reserve(name.size() + 1 + static_cast<std::size_t>(end - digits));
  key.append(name).append("/").append(digits, end);
  return key;
}

// Nobody but Lock, Campaign and etcd's clients names a key after its own lease.
std::optional<std::string_view> line_of(std::string_view key, LeaseId lease) {
  if (lease == 0) return std::nullopt;
  const std::string end = key_in_line({}, lease);
  if (!key.ends_with(end)) return std::nullopt;
  return key.substr(0, key.size() - end.size());
}

std::expected<Answer, DecodeError> Store::apply(std::span<const std::uint8_t> entry, Context context,
                                                Outcome& outcome) {
  const auto command = decode<Command>(entry);
  if (!command) return std::unexpected(command.error());
  return apply(*command, context, outcome);
}

Answer Store::apply(const Command& command, Context context, Outcome& outcome) {
  ensure(context.index > applied_.index && context.term >= applied_.term, "a log is applied in its order");
  applied_ = context;
  outcome.clear();
  outcome_ = &outcome;
  Answer answer;
  Error error = {};
  if (const auto fine = check(command); !fine) {
    answer.result = fine.error();
  } else if (is_refused_by_alarms(command, error)) {
    answer.result = error;
  } else {
    visit_in_place(command, [&](const auto& one) { answer.result = run(one); });
  }
  history_.sweep(swept_at_once);
  outcome_ = nullptr;
  answer.revision = revision();
  return answer;
}

bool Store::is_refused_by_alarms(const Command& command, Error& error) const {
  for (const auto& [member, kind] : alarms_) {
    error = kind == AlarmKind::corrupt ? Error::corrupt : Error::no_space;
    if (kind == AlarmKind::corrupt ? is_about_keys(command) : takes_space(command)) return true;
  }
  return false;
}

// Every change of a key goes through these two, which keep leases and keys together.
void Store::write(std::string_view key, std::string_view value, LeaseId lease) {
  history_.put(key, value, lease, outcome_->events);
  const Event& event = outcome_->events.back();
  const LeaseId before = event.before ? event.before->lease() : 0;
  if (before == lease) return;
  leases_.detach(before, *event.now->key);
  leases_.attach(lease, *event.now->key);
}

void Store::erase(Key& key) {
  leases_.detach(key.newest->lease(), key);
  history_.remove(key, outcome_->events);
}

std::optional<Error> Store::problem_of(const Put& put) const {
  if (put.lease != 0 && !leases_.find(put.lease)) return Error::lease_not_found;
  if (!put.ignore_value && !put.ignore_lease) return std::nullopt;
  const Key* key = history_.keys().find(put.key);
  return key && key->exists() ? std::nullopt : std::optional(Error::key_not_found);
}

PutResult Store::put(const Put& put) {
  std::string_view value = put.value;
  LeaseId lease = put.lease;
  if (put.ignore_value || put.ignore_lease) {
    const Record& now = *history_.keys().find(put.key)->newest;
    if (put.ignore_value) value = now.value();
    if (put.ignore_lease) lease = now.lease();
  }
  write(put.key, value, lease);
  return {put.prev_kv ? outcome_->events.back().before : RecordRef()};
}

DeleteResult Store::delete_range(const DeleteRange& range) {
  doomed_.clear();
  history_.keys().visit({range.key, range.range_end}, true, [this](Key& key) {
    doomed_.push_back(&key);
    return true;
  });
  DeleteResult result = {.deleted = doomed_.size()};
  for (Key* key : doomed_) {
    erase(*key);
    if (range.prev_kv) result.previous.push_back(outcome_->events.back().before);
  }
  return result;
}

Store::Result Store::run(const Put& request) {
  if (const auto problem = problem_of(request)) return *problem;
  PutResult result = put(request);
  history_.commit();
  return result;
}

Store::Result Store::run(const DeleteRange& range) {
  if (answer_of(range) > bounds_.answer) return Error::answer_too_large;
  DeleteResult result = delete_range(range);
  history_.commit();
  return result;
}

Store::Result Store::run(const Compact& compact) {
  if (compact.revision <= history_.compacted()) return Error::compacted;
  if (compact.revision > revision()) return Error::future_revision;
  history_.compact(compact.revision);
  return Done{};
}

Store::Result Store::run(const LeaseGrant& grant) {
  LeaseId id = grant.id;
  if (id == 0) {
    constexpr auto positive = static_cast<std::uint64_t>(std::numeric_limits<LeaseId>::max());
    id = static_cast<LeaseId>(kv::digest({applied_.index, applied_.term}) & positive);
    while (id == 0 || leases_.find(id))
      id = static_cast<LeaseId>((static_cast<std::uint64_t>(id) + 1) & positive);
  } else if (leases_.find(id)) {
    return Error::lease_exists;
  }
  const std::int64_t ttl = std::max<std::int64_t>(grant.ttl, 1);
  leases_.grant(id, ttl);
  return LeaseResult{id, ttl};
}

Store::Result Store::run(const LeaseRevoke& revoke) {
  if (!leases_.find(revoke.id)) return Error::lease_not_found;
  end_lease(revoke.id);
  return Done{};
}

Store::Result Store::run(const LeaseRenew& renew) {
  RenewResult result;
  result.ttls.reserve(renew.ids.size());
  for (const LeaseId id : renew.ids) result.ttls.push_back(leases_.renew(id));
  return result;
}

Store::Result Store::run(const Tick& tick) {
  if (tick.term != applied_.term) return Done{};
  leases_.advance(std::min(tick.elapsed_ms, longest_step_ms));
  for (int left = ended_at_once; left > 0 && leases_.has_due(); --left) end_lease(leases_.first_due());
  return Done{};
}

void Store::end_lease(LeaseId id) {
  const auto& keys = leases_.find(id)->keys;
  doomed_.assign(keys.begin(), keys.end());
  for (Key* key : doomed_) erase(*key);
  history_.commit();
  leases_.remove(id);
  outcome_->ended.push_back(id);
}

Store::Result Store::run(const Lock& lock) { return stand_in_line(lock.name, lock.lease, std::nullopt); }

Store::Result Store::run(const Campaign& campaign) {
  return stand_in_line(campaign.name, campaign.lease, campaign.value);
}

// Whoever stands in the line already keeps the place; a candidate may change the value.
Store::Result Store::stand_in_line(std::string_view name, LeaseId lease,
                                   std::optional<std::string_view> value) {
  if (lease == 0 || !leases_.find(lease)) return Error::lease_not_found;
  PlaceInLine place = {.key = key_in_line(name, lease)};
  const Key* known = history_.keys().find(place.key);
  const bool stands = known && known->exists();
  if (!stands || (value && known->newest->value() != *value)) {
    write(place.key, value.value_or(std::string_view{}), lease);
    history_.commit();
  }
  const std::string end = std::string(name) + '0';  // the character after '/'
  const std::string_view line(place.key.data(), name.size() + 1);
  const Key* first = history_.keys().oldest({line, end});
  ensure(first, "whoever stands in a line is not alone with nobody");
  place.fence = history_.keys().find(place.key)->newest->create();
  place.is_first = first->text() == place.key;
  return place;
}

Store::Result Store::run(const Alarm& alarm) {
  if (alarm.kind == AlarmKind::none) return Done{};
  if (!alarm.raised) {
    alarms_.erase({alarm.member, alarm.kind});
  } else if (alarms_.size() < max_alarms) {
    alarms_.insert({alarm.member, alarm.kind});
  }
  return Done{};
}

Store::Result Store::run(const Vouch& vouch) {
  outcome_->vouch = vouch;
  return Done{};
}

Store::Result Store::run(const Sweep& sweep) {
  history_.sweep(sweep.records, sweep.through);
  return Done{};
}

Store::Result Store::run(const Need& need) {
  outcome_->need = need;
  return Done{};
}

std::vector<Key*> Store::places() const {
  std::vector<Key*> all;
  for (const auto& [id, lease] : leases_.all())
    std::ranges::copy_if(lease.keys, std::back_inserter(all),
                         [id](const Key* key) { return line_of(key->text(), id).has_value(); });
  const auto first_created = [](const Key* a, const Key* b) {
    return std::pair(a->newest->create(), a->text()) < std::pair(b->newest->create(), b->text());
  };
  std::ranges::sort(all, first_created);
  return all;
}

void Store::begin_anew(Revision bump) {
  ensure(bump > 0, "revisions grow");
  Outcome outcome;
  outcome_ = &outcome;
  history_.skip_to(revision() + bump);
  const std::vector<Key*> standing = places();
  std::vector<RecordRef> before;
  for (Key* key : standing) {
    before.emplace_back(key->newest);
    erase(*key);
  }
  history_.commit();
  for (const RecordRef& place : before) {
    write(place.key(), place->value(), place->lease());
    history_.commit();
  }
  outcome_ = nullptr;
  history_.compact(revision());
  while (!history_.is_swept()) history_.sweep(swept_at_once);
  alarms_.clear();
  for (const auto& [id, lease] : leases_.all()) leases_.renew(id);
  applied_ = {applied_.index + static_cast<std::uint64_t>(bump), applied_.term + 1};
}

RecordRef Store::oldest(const KeyRange& range) const {
  const Key* key = history_.keys().oldest(range);
  return RecordRef(key ? key->newest : nullptr);
}

std::uint64_t Store::bytes() const {
  return history_.bytes() + history_.keys().size() * sizeof(Key) + leases_.bytes();
}

std::uint64_t Store::live_bytes() const {
  return history_.live_bytes() + history_.live_records() * sizeof(Key) + leases_.bytes();
}

Digest Store::digest() const { return digest_from(history_.digest()); }

Digest Store::recomputed_digest() const {
  Digest sum = 0;
  for (Key* key = history_.keys().first(); key; key = Keys::next(*key)) {
    for (std::size_t i = key->dropped(); i < key->versions(); ++i)
      sum += key->version(i)->digest_of_contents();
  }
  return digest_from(sum);
}

Digest Store::digest_from(Digest records) const {
  const Place log_begin = history_.log_begin();
  Digest alarms = 0;
  for (const auto& [member, kind] : alarms_) alarms += kv::digest({member, static_cast<std::uint64_t>(kind)});
  return kv::digest({applied_.index, applied_.term, static_cast<std::uint64_t>(revision()),
                     static_cast<std::uint64_t>(history_.compacted()),
                     static_cast<std::uint64_t>(log_begin.revision), log_begin.sub, leases_.clock_ms(),
                     records, leases_.digest(), alarms});
}

}  // namespace conclave::kv
