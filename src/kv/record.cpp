#include "kv/record.hpp"

#include <algorithm>
#include <new>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

// There may be hundreds of millions of them: whoever makes them larger should know.
static_assert(sizeof(Record) == 32 && sizeof(Key) == 72);

constexpr std::uint32_t longest = (1u << 24) - 1;
// Whoever drops a record works its digest out again, a nanosecond for each ten bytes or so, and drops many at
// once. Longer ones keep it: of what they take, eight bytes are little.
constexpr std::size_t long_record = 256;

std::uint32_t bounded(std::size_t size) {
  ensure(size <= longest, "keys and values are bounded long before");
  return static_cast<std::uint32_t>(size);
}

// The bytes stand right behind the object: one allocation, one cache line for what is small.
void copy_behind(void* object, std::string_view bytes) {
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(object));
}

}  // namespace

Digest Record::digest_of_contents() const {
  return kv::digest({kv::digest(key->text()), kv::digest(value()), static_cast<std::uint64_t>(create()),
                     static_cast<std::uint64_t>(mod), static_cast<std::uint64_t>(version()),
                     static_cast<std::uint64_t>(lease()), sub});
}

Key* new_key(std::string_view text, std::uint32_t hash) {
  const std::uint32_t size = bounded(text.size());
  Key* const key = new (::operator new(sizeof(Key) + size)) Key{};
  copy_behind(key + 1, text);
  key->size = size & longest;
  key->hash = hash;
  key->references = 1;
  return key;
}

Record* new_record(Key& key, const Change& change, std::string_view value) {
  const std::uint32_t size = bounded(value.size());
  Record shape = {.key = &key, .mod = change.mod, .sub = change.sub, .references = 1, .size = size & longest};
  shape.deletes = change.create == 0;
  shape.has_past = !shape.deletes && (change.create != change.mod || change.version != 1);
  shape.has_lease = change.lease != 0;
  shape.has_digest = key.size + size > long_record;
  Record* const record = new (::operator new(shape.bytes())) Record(shape);
  auto* number = reinterpret_cast<std::int64_t*>(record + 1);
  if (shape.has_past) {
    *number++ = change.create;
    *number++ = change.version;
  }
  if (shape.has_lease) *number++ = change.lease;
  std::int64_t* const digest = shape.has_digest ? number++ : nullptr;
  copy_behind(number, value);
  if (digest) *digest = static_cast<std::int64_t>(record->digest_of_contents());
  ++key.references;
  return record;
}

void free_record(Record* record) {
  Key* key = record->key;
  record->~Record();
  ::operator delete(record);
  forget_key(key);
}

void forget_key(Key* key) {
  if (--key->references > 0) return;
  key->~Key();
  ::operator delete(key);
}

}  // namespace conclave::kv
