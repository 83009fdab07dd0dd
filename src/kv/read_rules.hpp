// What a read and a comparison mean, for whoever carries one out.
#pragma once
#include <compare>
#include <cstdint>

#include "kv/command.hpp"
#include "kv/record.hpp"

namespace conclave::kv::rules {

inline bool passes(const Range& request, const Record& record) {
  const auto within = [](Revision value, Revision least, Revision most) {
    return (least == 0 || value >= least) && (most == 0 || value <= most);
  };
  return within(record.mod, request.min_mod_revision, request.max_mod_revision) &&
         within(record.create(), request.min_create_revision, request.max_create_revision);
}

inline bool filters(const Range& request) {
  return request.min_mod_revision != 0 || request.max_mod_revision != 0 || request.min_create_revision != 0 ||
         request.max_create_revision != 0;
}

inline bool is_in_key_order(const Range& request) {
  return request.sort_target == SortTarget::key && request.sort_order != SortOrder::descend;
}

// Who stands first in a line: asked so often that it is not worth looking at everybody.
inline bool asks_for_the_oldest(const Range& request) {
  return request.revision <= 0 && request.limit == 1 && request.sort_target == SortTarget::create &&
         request.sort_order != SortOrder::descend && !filters(request);
}

inline bool comes_first(SortTarget target, const Record& a, const Record& b) {
  switch (target) {
    case SortTarget::key: return a.key->text() < b.key->text();
    case SortTarget::version: return a.version() < b.version();
    case SortTarget::create: return a.create() < b.create();
    case SortTarget::mod: return a.mod < b.mod;
    case SortTarget::value: return a.value() < b.value();
  }
  return false;
}

inline std::int64_t number_of(CompareTarget target, const Record* record) {
  if (!record) return 0;
  switch (target) {
    case CompareTarget::version: return record->version();
    case CompareTarget::create: return record->create();
    case CompareTarget::mod: return record->mod;
    case CompareTarget::lease: return record->lease();
    case CompareTarget::value: break;
  }
  return 0;
}

inline bool is(CompareResult result, std::strong_ordering order) {
  switch (result) {
    case CompareResult::equal: return order == 0;
    case CompareResult::greater: return order > 0;
    case CompareResult::less: return order < 0;
    case CompareResult::not_equal: return order != 0;
  }
  return false;
}

// In looks at a key: long values take their time.
inline std::uint64_t cost_of(const Compare& compare) { return 1 + compare.value.size() / 1024; }

// No record: the key does not exist, and all its numbers are 0. It has no value that could be compared.
inline bool record_holds(const Compare& compare, const Record* record) {
  if (compare.target != CompareTarget::value)
    return is(compare.result, number_of(compare.target, record) <=> compare.number);
  return record && is(compare.result, record->value() <=> compare.value);
}

}  // namespace conclave::kv::rules
