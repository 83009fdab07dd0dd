// Whatever stands in a segment of a log: reading it ends and keeps within the bytes, and cutting what a crash
// left takes no record away. The first byte chooses: a head, a segment, or one whose sums are made to fit.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "storage/scan.hpp"

namespace {

using namespace conclave::storage;

constexpr SegmentIdentity identity = {.directory = 1, .sequence = 1};

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

struct Seen {
  Scan scan;
  std::uint64_t visits = 0;
  std::uint64_t bytes = 0;
};

Seen look(ByteView segment) {
  Seen seen;
  seen.scan = scan_segment(segment, identity, [&](ByteView payload, std::uint64_t, bool) {
    require(payload.data() >= segment.data() &&
                payload.data() + payload.size() <= segment.data() + segment.size(),
            "a payload lies within the segment");
    ++seen.visits;
    seen.bytes += payload.size();
  });
  const Scan& scan = seen.scan;
  require(scan.end % record_alignment == 0, "records have their places");
  require(scan.end <= std::max<std::size_t>(segment.size(), segment_head_bytes),
          "records end within the file");
  require(scan.remains == 0 || scan.remains >= scan.end, "remains lie behind the records");
  require(!scan.proof || *scan.proof <= scan.remains, "a proof is one of the remains");
  return seen;
}

// As a crash's remains are cut: afterwards the same records are there, and nothing behind them.
void cut_and_look(std::vector<std::byte> segment, const Seen& before) {
  if (before.scan.proof || before.scan.remains == 0) return;
  const std::uint64_t to = before.scan.remains + record_head_bytes;
  std::fill(segment.begin() + static_cast<std::ptrdiff_t>(before.scan.end),
            segment.begin() + static_cast<std::ptrdiff_t>(to), std::byte{0});
  const Seen after = look(segment);
  require(after.scan.end == before.scan.end && after.visits == before.visits && after.bytes == before.bytes,
          "cutting takes no record away");
  require(after.scan.remains == 0, "cutting leaves nothing behind");
}

// Bytes are hardly ever a head by themselves: every 24 of them that begin with four zeros get a sum that
// fits.
void mend_sums(std::vector<std::byte>& segment) {
  for (std::uint64_t at = segment_head_bytes; at + record_head_bytes <= segment.size();
       at += record_alignment) {
    if (read_number<std::uint32_t>(&segment[at]) != 0) continue;
    RecordHead head = record_head_at(&segment[at]);
    const std::size_t rest = segment.size() - at - record_head_bytes;
    if (head.batch == 0) continue;
    if (head.length <= rest)
      head.payload_sum = crc32c({segment.data() + at + record_head_bytes, head.length});
    write_record_head(&segment[at], head, identity.seed(), at);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] == 'H') {
    std::vector<std::byte> head(bytes.begin(), bytes.end());
    head.resize(segment_head_bytes);
    (void)read_segment_head(bytes);
    if (const auto read = read_segment_head(head)) {
      std::vector<std::byte> again(segment_head_bytes);
      write_segment_head(again.data(), *read);
      require(read_segment_head(again) == read, "a head is read as it was written");
    }
    return 0;
  }
  std::vector<std::byte> segment(segment_head_bytes);
  segment.insert(segment.end(), bytes.begin(), bytes.end());
  if (data[0] == 'M') mend_sums(segment);
  cut_and_look(segment, look(segment));
  return 0;
}
