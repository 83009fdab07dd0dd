// What may stand in the log: every change of the store, and the passing of time.
//
// The bytes are those of core/codec.hpp: the index of the alternative, then its fields; new commands go to
// the end. Text is borrowed: whoever makes or decodes a command keeps the bytes until it has been applied.
// Names and meanings of fields are those of etcd's v3 API where it has them.
#pragma once
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/codec.hpp"
#include "kv/record.hpp"

namespace conclave::kv {

struct Put {
  std::string_view key = {};
  std::string_view value = {};
  LeaseId lease = 0;
  bool prev_kv = false;
  bool ignore_value = false;  // keep the value there is
  bool ignore_lease = false;  // keep the lease there is
};

struct DeleteRange {
  std::string_view key = {};
  std::string_view range_end = {};
  bool prev_kv = false;
};

enum class SortOrder : std::uint8_t { none, ascend, descend };
enum class SortTarget : std::uint8_t { key, version, create, mod, value };

// A read. Alone it does not go through the log; inside a Txn it sees what the Txn has written before it.
struct Range {
  std::string_view key = {};
  std::string_view range_end = {};
  std::int64_t limit = 0;  // none
  Revision revision = 0;   // now
  SortOrder sort_order = SortOrder::none;
  SortTarget sort_target = SortTarget::key;
  bool keys_only = false;
  bool count_only = false;
  Revision min_mod_revision = 0;
  Revision max_mod_revision = 0;
  Revision min_create_revision = 0;
  Revision max_create_revision = 0;
};

enum class CompareResult : std::uint8_t { equal, greater, less, not_equal };
enum class CompareTarget : std::uint8_t { version, create, mod, value, lease };

struct Compare {
  CompareResult result = CompareResult::equal;
  CompareTarget target = CompareTarget::version;
  std::string_view key = {};
  std::string_view range_end = {};
  std::int64_t number = 0;      // what the key's is compared with
  std::string_view value = {};  // for CompareTarget::value
};

struct Op;

struct Txn {
  std::vector<Compare> compare;
  std::vector<Op> success;
  std::vector<Op> failure;
};

struct Op {
  std::variant<Range, Put, DeleteRange, Txn> request;
};

struct Compact {
  Revision revision = 0;
};

struct LeaseGrant {
  LeaseId id = 0;        // the store picks one
  std::int64_t ttl = 0;  // seconds
};

struct LeaseRevoke {
  LeaseId id = 0;
};

struct LeaseRenew {
  std::vector<LeaseId> ids;
};

// Time has passed while `term`'s leader led. One that was appended in another term means nothing: whoever
// measured it was deposed before it got into the log.
struct Tick {
  std::uint64_t term = 0;
  std::uint64_t elapsed_ms = 0;
};

// Takes a place in the line of the lock: the key `name/lease` in hexadecimal, as etcd's clients do.
struct Lock {
  std::string_view name = {};
  LeaseId lease = 0;
};

// The same for an election, with the value that the candidate stands for.
struct Campaign {
  std::string_view name = {};
  LeaseId lease = 0;
  std::string_view value = {};
};

enum class AlarmKind : std::uint8_t { none, no_space, corrupt };

struct Alarm {
  std::uint64_t member = 0;
  AlarmKind kind = AlarmKind::none;
  bool raised = false;
};

// What a member's digest was when it had applied this entry. Changes nothing: kv/agreement.hpp compares them.
struct Vouch {
  std::uint32_t member = 0;
  std::uint64_t index = 0;
  Digest digest = 0;
};

// Takes some more of what compactions left to do than every command does: for a cluster that has few
// commands, or large ones. What belongs to the mark itself goes with it only if `through` has come so far;
// the mark can be read then, and watchers begin after it.
struct Sweep {
  std::uint32_t records = 0;
  Revision through = 0;
};

// A member's watchers have yet to be told what happened from this revision on. Changes nothing: whoever
// compacts by itself spares them.
struct Need {
  std::uint32_t member = 0;
  Revision revision = 0;
};

using Command = std::variant<Put, DeleteRange, Txn, Compact, LeaseGrant, LeaseRevoke, LeaseRenew, Tick, Lock,
                             Campaign, Alarm, Vouch, Sweep, Need>;

enum class Error : std::uint8_t {
  key_not_provided,
  key_not_found,
  value_provided,
  lease_provided,
  too_many_operations,
  duplicate_key,
  compacted,
  future_revision,
  no_space,
  corrupt,
  lease_not_found,
  lease_exists,
  ttl_too_large,
  request_too_large,
  answer_too_large,
};

// What etcd's clients look for, without the "etcdserver: " in front.
std::string_view describe(Error error);

// Bounds of what a client may ask at once.
inline constexpr std::size_t max_text = std::size_t{2} << 20;  // a key or a value
inline constexpr std::size_t max_name = 4096;                  // of a lock or an election
inline constexpr std::size_t max_txn_operations = 128;         // in a list; what is nested gets the rest
inline constexpr std::size_t max_txn_total = 1024;             // in all lists together
// What a transaction that stands in the log may look at while it is applied, all its comparisons and reads
// together: nobody else is served meanwhile.
inline constexpr std::uint64_t max_reach = 50'000;  // keys
// What may come of a command that writes, reckoned before anything is done: keys and values, and what stands
// around them.
inline constexpr std::uint64_t max_answer = std::uint64_t{64} << 20;
inline constexpr std::size_t max_renewed = 4096;        // leases
inline constexpr std::int64_t max_ttl = 9'000'000'000;  // seconds
inline constexpr std::uint64_t longest_step_ms = 2000;  // of a Tick: a leader that slept did not lead
inline constexpr std::size_t max_alarms = 1024;
inline constexpr std::uint32_t max_swept = 8192;  // records, by one Sweep

// What is wrong with a command whatever the state; the store asks itself before it applies one.
std::expected<void, Error> check(const Command& command);
std::expected<void, Error> check(const Range& range);
std::expected<void, Error> check(const Txn& txn);

// Elections after the campaign are transactions on the candidate's key, which is known by its create
// revision.
Txn proclaim(std::string_view key, Revision create, std::string_view value, LeaseId lease);
Txn resign(std::string_view key, Revision create);

}  // namespace conclave::kv
