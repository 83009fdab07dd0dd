#include "kv/record.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "core/ensure.hpp"

namespace conclave::kv {
namespace {

// The bytes stand right behind the object: one allocation, one cache line for what is small.
template <class T>
void* room_for(std::string_view bytes) {
  ensure(bytes.size() <= std::numeric_limits<std::uint32_t>::max(),
         "keys and values are bounded long before");
  return ::operator new(sizeof(T) + bytes.size());
}

void copy_behind(void* object, std::string_view bytes) {
  std::copy(bytes.begin(), bytes.end(), static_cast<char*>(object));
}

}  // namespace

Digest Record::digest_of_contents() const {
  return kv::digest({key->digest, kv::digest(value()), static_cast<std::uint64_t>(create),
                     static_cast<std::uint64_t>(mod), static_cast<std::uint64_t>(version),
                     static_cast<std::uint64_t>(lease), sub});
}

Key* new_key(std::string_view text, std::uint64_t hash) {
  Key* key = new (room_for<Key>(text)) Key{};
  copy_behind(key + 1, text);
  key->size = static_cast<std::uint32_t>(text.size());
  key->hash = hash;
  key->digest = digest(text);
  key->references = 1;
  return key;
}

Record* new_record(Key& key, std::string_view value) {
  Record* record = new (room_for<Record>(value)) Record{};
  copy_behind(record + 1, value);
  record->size = static_cast<std::uint32_t>(value.size());
  record->key = &key;
  record->references = 1;
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
