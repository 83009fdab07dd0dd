#include "storage/scan.hpp"

namespace conclave::storage {
namespace {

constexpr std::size_t previous_end_bytes = 8;

bool follows(const Scan& scan, const RecordHead& head) {
  const bool is_first = scan.batch == 0;
  if (is_first != (head.kind == RecordKind::opening)) return false;
  if (head.kind == RecordKind::opening && head.length < previous_end_bytes) return false;
  return head.batch == scan.batch + 1 || (head.batch == scan.batch && !scan.batch_ended);
}

// The record at the end of the whole ones, if it is whole and continues them.
std::optional<RecordHead> next_record(ByteView segment, const Scan& scan, std::uint32_t seed) {
  const auto head = read_record_head(segment, scan.end, seed);
  if (!head || !follows(scan, *head) || head->size() > segment.size() - scan.end) return std::nullopt;
  const ByteView payload = segment.subspan(scan.end + record_head_bytes, head->length);
  if (crc32c(payload) != head->payload_sum) return std::nullopt;
  return head;
}

void take(Scan& scan, const RecordHead& head, ByteView payload, const Visit& visit) {
  if (head.kind == RecordKind::opening) {
    scan.previous_end = read_number<std::uint64_t>(payload.data());
    if (payload.size() > previous_end_bytes) visit(payload.subspan(previous_end_bytes), 0, true);
  } else if (head.kind == RecordKind::record) {
    ++scan.records;
    if (head.tag > scan.greatest_tag) scan.greatest_tag = head.tag;
    visit(payload, head.tag, false);
  }
  scan.batch = head.batch;
  scan.batch_ended = head.ends_batch;
  scan.sealed = head.kind == RecordKind::seal;
  scan.end += head.size();
}

void search_behind(ByteView segment, std::uint32_t seed, Scan& scan) {
  const std::uint32_t unfinished = scan.batch_ended ? scan.batch + 1 : scan.batch;
  for (std::uint64_t at = scan.end; at + record_head_bytes <= segment.size(); at += record_alignment) {
    const auto head = read_record_head(segment, at, seed);
    if (!head) continue;
    scan.remains = at;
    if (head->batch > unfinished && !scan.proof) scan.proof = at;
  }
}

}  // namespace

Scan scan_segment(ByteView segment, const SegmentIdentity& identity, const Visit& visit) {
  const std::uint32_t seed = identity.seed();
  Scan scan;
  while (const auto head = next_record(segment, scan, seed))
    take(scan, *head, segment.subspan(scan.end + record_head_bytes, head->length), visit);
  search_behind(segment, seed, scan);
  return scan;
}

}  // namespace conclave::storage
