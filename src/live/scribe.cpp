#include "live/scribe.hpp"

#include <fmt/format.h>

#include <bit>
#include <chrono>

namespace conclave::live {
namespace {

constexpr std::uint64_t most_steps = std::uint64_t{1} << 40;  // of a process in a run; and no sum overflows

}  // namespace

std::string run_name(std::string_view name, std::uint64_t epoch) {
  std::string out;
  for (const char c : name) {
    if (c > ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  return fmt::format("{}@{}", out, epoch);
}

Ticks unix_time() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count())};
}

Notebook::Notebook(trace::Header header, NodeId self, trace::Observer& observer, Now now)
    : Notebook(Page{.header = std::move(header), .reader = &observer}, self, now) {}

Notebook::Notebook(Page page, NodeId self, Now now)
    : all_(page.header.nodes), self_(self), observer_(*page.reader), now_(now) {
  ensure(all_.contains(self), "who writes of a run takes part in it");
  place_bits_ = static_cast<unsigned>(std::bit_width(std::uint64_t{all_.size()} - 1));
  place_ = place_of(self);
  page.header.node = self;
  if (page.bookmark) {
    go_on(*page.bookmark);
  } else {
    observer_.begin(page.header);
  }
}

// Nobody knows when it died; it may have been right after what it did last.
void Notebook::go_on(const Bookmark& bookmark) {
  step_ = bookmark.last;
  sent_ = bookmark.message >> place_bits_;
  clock_ = {step_.lamport, step_.vector};
  begin_step({.kind = trace::Kind::crash});
  step_.at = bookmark.last.at;
  show_step();
}

std::uint64_t Notebook::place_of(NodeId node) const {
  return static_cast<std::uint64_t>(std::distance(all_.begin(), std::ranges::find(all_, node)));
}

std::expected<Stamp, std::string> Notebook::read_stamp(NodeId from,
                                                       std::span<const std::uint8_t> bytes) const {
  auto stamp = decode<Stamp>(bytes);
  if (!stamp) return std::unexpected(std::string(describe(stamp.error())));
  if (std::string wrong = wrong_with(from, *stamp); !wrong.empty()) return std::unexpected(std::move(wrong));
  return std::move(*stamp);
}

std::string Notebook::wrong_with(NodeId from, const Stamp& stamp) const {
  std::uint64_t known = 0;
  for (const auto& [node, count] : stamp.vector.counts) {
    if (!all_.contains(node)) return fmt::format("its clock knows a stranger, {}", node.value);
    if (count == 0 || count > most_steps)
      return fmt::format("its clock counts {} steps of {}", count, node.value);
    known += count;
  }
  if (stamp.vector[from] == 0) return "its sender has done nothing";
  // A Lamport clock shows the length of the longest chain of steps up to here.
  if (stamp.lamport > known) return "its Lamport clock is ahead of the steps it knows";
  // What the sender knows of us it has from us.
  if (stamp.vector[self_] > clock_.vector[self_])
    return fmt::format("its sender knows {} steps of ours, we took {}", stamp.vector[self_],
                       clock_.vector[self_]);
  const std::uint64_t places = std::uint64_t{1} << place_bits_;
  if (stamp.message % places != place_of(from)) return "its number is not the sender's";
  return {};
}

Stamp Notebook::stamp(std::size_t nth) const {
  ensure(nth < step_.sends.size(), "a message has a stamp if it was sent");
  return {step_.lamport, step_.vector, step_.sends[nth].id};
}

void Notebook::begin_step(Input input) {
  step_ = {.number = step_.number + 1, .at = now_(), .kind = input.kind, .node = self_, .from = input.from};
  step_.input = std::move(input.what);
  step_.cause = input.cause;
  if (input.stamp && *input.stamp) {
    const Stamp& stamp = **input.stamp;
    clock_.hear(stamp.lamport, stamp.vector);
    step_.message = stamp.message;
    step_.cause = stamp.vector[*input.from];
  }
  clock_.tick(step_, true);
}

void Notebook::end(bool quiet, std::string broken) {
  observer_.end({.at = now_(), .quiet = quiet, .broken = std::move(broken)});
}

}  // namespace conclave::live
