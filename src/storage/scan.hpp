// Reads one segment: which records are whole, where they end, and what the bytes behind that prove.
//
// A batch is written only after the one before it was durable. So whatever is valid of batch n proves that
// everything of the batches before n was durable once: if some of that is missing, it was damaged. What is
// missing of the last batch of all may just never have arrived, because nobody was told that it had.
#pragma once
#include <functional>
#include <optional>

#include "storage/record.hpp"

namespace conclave::storage {

struct Scan {
  std::uint64_t end = segment_head_bytes;  // of the whole records
  std::uint32_t batch = 0;                 // the last whole record's
  bool batch_ended = true;                 // that record is the last of its batch
  bool sealed = false;                     // that record is a seal
  std::uint64_t records = 0;               // of the owner
  std::uint64_t greatest_tag = 0;
  std::optional<std::uint64_t> previous_end = {};  // what the opening says; none without an opening

  // Behind `end`: where the last head begins that belongs to this segment, 0 if there is none.
  std::uint64_t remains = 0;
  // The first of those heads whose batch proves that what is missing at `end` was durable.
  std::optional<std::uint64_t> proof = {};
};

using Visit = std::function<void(ByteView payload, std::uint64_t tag, bool is_preamble)>;

Scan scan_segment(ByteView segment, const SegmentIdentity& identity, const Visit& visit);

}  // namespace conclave::storage
