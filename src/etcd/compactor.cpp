#include "etcd/compactor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;
using kv::Revision;

// Streams of watchers that are looked at in one go.
constexpr std::size_t streams_at_once = 1024;
// Of the records that commands leave to be swept, this many go with an entry, which takes about a
// millisecond; more when there is no space.
constexpr std::uint32_t swept_at_once = 2048;
// Before that, commands may do it.
constexpr auto sweep_pause = 200ms;
// In so many steps history goes on.
constexpr int steps = 30;
constexpr auto longest_step = 60s;
// … and by not more bytes than this at a time, while they come fast.
constexpr std::uint64_t longest_bytes = std::uint64_t{4} << 20;

std::uint64_t without(std::uint64_t all, std::uint64_t part) { return all - std::min(all, part); }

std::uint64_t of(std::uint64_t bytes, std::uint64_t percent) {
  return bytes / 100 * percent + bytes % 100 * percent / 100;
}

std::uint64_t in_milliseconds(Compactor::Time time) {
  const auto count = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return static_cast<std::uint64_t>(std::max<decltype(count)>(0, count));
}

bool is_raised(const kv::Store& store, kv::AlarmKind kind) {
  return std::ranges::any_of(store.alarms(), [kind](const auto& alarm) { return alarm.second == kind; });
}

}  // namespace

std::string describe_retention(const CompactorOptions& options) {
  if (options.mode == CompactorOptions::Mode::off) return "off";
  if (options.mode == CompactorOptions::Mode::revisions)
    return fmt::format("{} revisions", options.revisions);
  const auto ms = options.age.count();
  std::string text;
  if (ms >= 3'600'000) text += fmt::format("{}h", ms / 3'600'000);
  if (ms % 3'600'000 >= 60'000) text += fmt::format("{}m", ms % 3'600'000 / 60'000);
  if (ms % 60'000 != 0) text += fmt::format("{}s", static_cast<double>(ms % 60'000) / 1000);
  return text;
}

Compactor::Compactor(std::uint32_t self, const CompactorOptions& options, std::uint64_t quota_bytes)
    : self_(self), options_(options), quota_bytes_(quota_bytes) {}

void Compactor::restored() { marks_.clear(); }

// What came earlier than this member knows counts from when it did.
void Compactor::note(const kv::Store& store, Time now) {
  if (compacted_ != store.history().compacted()) moved_ = now;
  compacted_ = store.history().compacted();
  while (marks_.size() > 1 && marks_[1].revision <= compacted_) marks_.pop_front();
  const Mark mark = {now, store.revision(), store.history().superseded()};
  if (!marks_.empty()) {
    const Mark& last = marks_.back();
    const std::uint64_t many = std::min(longest_bytes, quota_bytes_ / 64);
    if (mark.revision == last.revision) return;
    if (now - last.time < options_.age / (10 * steps) && mark.superseded - last.superseded < many) return;
  }
  marks_.push_back(mark);
}

void Compactor::applied(const kv::Store& store, const kv::Outcome& outcome, Time now) {
  if (outcome.need) claims_.push_back({outcome.need->revision, now});
  note(store, now);
}

std::optional<kv::Command> Compactor::next(const kv::Store& store, kv::Watches& watches, bool leads,
                                           Time now) {
  note(store, now);
  if (!leads)
    led_since_.reset();
  else if (!led_since_)
    led_since_ = now;
  while (!claims_.empty() && claims_.front().heard + options_.grace < now) claims_.pop_front();
  if (is_raised(store, kv::AlarmKind::corrupt)) return {};
  if (auto command = claim(watches, now)) return command;
  if (!leads) return {};
  if (auto command = alarm(store, now)) return command;
  if (auto command = compaction(store, now)) return command;
  return sweep(store, now);
}

// ---- what watchers need

// Compactions are to hear of it before they come so far.
std::chrono::milliseconds Compactor::haste() const {
  return options_.mode == CompactorOptions::Mode::age ? std::min(options_.age, options_.grace) / 4
                                                      : options_.grace / 4;
}

// Who is not behind is not mentioned: there is nothing to say on most days.
std::optional<kv::Command> Compactor::claim(kv::Watches& watches, Time now) {
  if (options_.mode == CompactorOptions::Mode::off) return {};
  needed_ = watches.needed(in_milliseconds(now), in_milliseconds(now - options_.patience), streams_at_once);
  if (needed_ > aged(now - haste()) || now - claimed_ < haste()) return {};
  claimed_ = now;
  ++stats_.needs;
  return kv::Need{self_, needed_};
}

// ---- how much there may be

// What the quota leaves for history. Near it, half of what is left is for live data to grow.
std::uint64_t Compactor::space(const kv::Store& store) const {
  const std::uint64_t live = store.live_bytes();
  // An alarm ends when there is less than that.
  if (is_raised(store, kv::AlarmKind::no_space)) return without(of(quota_bytes_, 85), live);
  return std::max(without(of(quota_bytes_, 85), live), without(quota_bytes_, live) / 2);
}

std::uint64_t Compactor::bound(const kv::Store& store) const {
  if (!options_.least_bytes) return space(store);
  const std::uint64_t live = store.live_bytes();
  const std::uint64_t left = std::max(without(of(quota_bytes_, 75), live), without(quota_bytes_, live) / 4);
  return std::min({std::max(*options_.least_bytes, live), left, space(store)});
}

bool Compactor::presses(const kv::Store& store) const { return history_bytes(store) > space(store); }

// The newest revision that was there at that time; 0: none that is known.
Revision Compactor::aged(Time since) const {
  const auto after = std::ranges::upper_bound(marks_, since, {}, &Mark::time);
  return after == marks_.begin() ? 0 : std::prev(after)->revision;
}

// The oldest one after which there would be no more history than that.
Revision Compactor::fitting(const kv::Store& store, std::uint64_t bytes) const {
  const std::uint64_t all = store.history().superseded();
  const auto found =
      std::ranges::partition_point(marks_, [&](const Mark& mark) { return all - mark.superseded > bytes; });
  return found == marks_.end() ? store.revision() : found->revision;
}

// ---- what goes

// Regardless of watchers.
Revision Compactor::wanted(const kv::Store& store, Time now) const {
  using Mode = CompactorOptions::Mode;
  if (options_.mode == Mode::off) return 0;
  const Revision seen = aged(now - options_.grace);
  const Revision old = options_.mode == Mode::age ? aged(now - options_.age)
                                                  : std::min(seen, store.revision() - options_.revisions);
  const std::uint64_t most = bound(store);
  return history_bytes(store) > most ? std::max(old, std::min(seen, fitting(store, most))) : old;
}

Revision Compactor::goal(const kv::Store& store, Time now) const {
  if (options_.mode == CompactorOptions::Mode::off) return 0;
  Revision goal = wanted(store, now);
  for (const Claim& claim : claims_) goal = std::min(goal, claim.revision - 1);
  goal = std::min(goal, needed_ - 1);
  // Watchers of who led before may be on their way to another member, and what they need is not known yet.
  if (!led_since_ || now - *led_since_ < options_.grace) goal = 0;
  // Better a watcher that has to begin anew than writes that are refused.
  return presses(store) ? std::max(goal, fitting(store, space(store))) : goal;
}

// Whether something has become history since the last compaction and until then. Nothing ever was at the
// first revision.
bool Compactor::would_free(const kv::Store& store, Revision until) const {
  if (until <= std::max<Revision>(1, compacted_) || history_bytes(store) == 0) return false;
  const auto after = std::ranges::upper_bound(marks_, until, {}, &Mark::revision);
  return marks_.front().revision > compacted_ || after == marks_.begin() ||
         std::prev(after)->superseded > marks_.front().superseded;
}

std::optional<kv::Command> Compactor::compaction(const kv::Store& store, Time now) {
  const Revision until = goal(store, now);
  if (!would_free(store, until)) return {};
  const auto step = std::min<std::chrono::milliseconds>(options_.age / steps, longest_step);
  if (history_bytes(store) <= bound(store) && now - proposed_ < step) return {};
  proposed_ = now;
  ++stats_.compactions;
  return kv::Compact{until};
}

// The mark itself is swept when nothing came after it that could let the next compaction do it, as after a
// deletion of everything.
Revision Compactor::swept_through(const kv::Store& store, Time now) const {
  const Revision mark = store.history().compacted();
  return mark == store.revision() && goal(store, now) >= mark ? mark : 0;
}

// While commands come, they sweep.
std::optional<kv::Command> Compactor::sweep(const kv::Store& store, Time now) {
  const Revision through = swept_through(store, now);
  if (store.history().is_swept(through) || (now - moved_ < sweep_pause && !presses(store))) return {};
  ++stats_.sweeps;
  return kv::Sweep{presses(store) ? kv::max_swept : swept_at_once, through};
}

// ---- when nothing can go any more

// Raised when history is as short as it can be, or cannot be shortened as fast as it grows; ended when there
// is room for a while.
std::optional<kv::Command> Compactor::alarm(const kv::Store& store, Time now) const {
  const std::uint64_t bytes = store.bytes();
  for (const auto& [member, kind] : store.alarms())
    if (kind == kv::AlarmKind::no_space && bytes <= of(quota_bytes_, 90))
      return kv::Alarm{member, kind, false};
  if (bytes <= quota_bytes_ || is_raised(store, kv::AlarmKind::no_space)) return {};
  const bool is_short =
      store.history().is_swept(swept_through(store, now)) && !would_free(store, goal(store, now));
  const bool may_shrink = options_.mode != CompactorOptions::Mode::off &&
                          store.live_bytes() <= quota_bytes_ && !is_short &&
                          bytes - quota_bytes_ <= quota_bytes_ / 8;
  if (may_shrink) return {};
  return kv::Alarm{self_, kv::AlarmKind::no_space, true};
}

// ---- for whoever asks

std::chrono::milliseconds Compactor::reach(const kv::Store& store, Time now) const {
  const auto found = std::ranges::upper_bound(marks_, store.history().compacted(), {}, &Mark::revision);
  if (found == marks_.end()) return {};
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - found->time);
}

}  // namespace conclave::etcd
