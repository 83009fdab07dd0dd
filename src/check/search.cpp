#include "check/search.hpp"

#include "check/print_set.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <barrier>
#include <bit>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

namespace conclave::check {
namespace {

constexpr std::uint32_t shard_bits = 6;
constexpr std::uint32_t shards = 1u << shard_bits;
constexpr std::uint32_t place_bits = 32 - shard_bits;
constexpr std::uint32_t block_size = 1u << 14;
constexpr std::uint32_t nobody = UINT32_MAX;

// A state by number: its shard, and its place in it.
std::uint32_t number_of(std::uint32_t shard, std::uint32_t place) { return shard << place_bits | place; }
std::uint32_t shard_of(std::uint32_t number) { return number >> place_bits; }
std::uint32_t place_of(std::uint32_t number) { return number & ((1u << place_bits) - 1); }

// States of one depth, waiting to be expanded.
struct Frontier {
  std::vector<Id> words;
  std::vector<std::uint32_t> places;
  std::vector<std::uint64_t> only;  // labels to be made up for; 0: whatever does not sleep
  void clear() {
    words.clear();
    places.clear();
    only.clear();
  }
  std::uint64_t bytes() const {
    return words.capacity() * sizeof(Id) + places.capacity() * 4 + only.capacity() * 8;
  }
};

// Records of equal size, one after the other.
class Records {
 public:
  std::uint32_t* add(std::size_t words) {
    if (size_ + words > room_) grow(words);
    std::uint32_t* record = data_.get() + size_;
    size_ += words;
    return record;
  }
  const std::uint32_t* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  std::uint64_t bytes() const { return room_ * sizeof(std::uint32_t); }

 private:
  void grow(std::size_t words) {
    const std::size_t room = std::max<std::size_t>(2 * room_, 64 * words);
    auto data = std::make_unique_for_overwrite<std::uint32_t[]>(room);
    std::copy_n(data_.get(), size_, data.get());
    data_ = std::move(data);
    room_ = room;
  }
  std::unique_ptr<std::uint32_t[]> data_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

struct Shard {
  explicit Shard(bool numbered) : met(numbered) {}
  PrintSet met;
  std::uint32_t states = 0;
  // Only if ways are to be told.
  std::vector<std::uint32_t> parents;
  std::vector<std::uint16_t> ordinals;  // which successor of its parent
  std::vector<std::uint64_t> asleep;    // labels not explored from here; only with the reduction
  std::vector<Id> words;                // of whole states; only if exact
  Frontier now;
  Frontier next;
  std::uint32_t begun = 0;  // states before this place have been expanded
  std::uint64_t bytes() const {
    return met.bytes() + parents.capacity() * 4 + ordinals.capacity() * 2 + asleep.capacity() * 8 +
           words.capacity() * 4 + now.bytes() + next.bytes();
  }
};

struct Violation {
  std::vector<Wrong> wrongs;
  std::uint32_t from = nobody;     // the state in which it shows, or whose move brings it about
  std::uint32_t ordinal = nobody;  // of the move; nobody: the state itself
};

class Searcher {
 public:
  // `telling` keeps what is needed to tell the way to a violation.
  Searcher(Space& space, const Options& options, bool telling)
      : space_(space),
        options_(options),
        width_(space.width()),
        stride_(8 + width_),
        reduce_(options.partial_order),
        telling_(telling),
        hands_(std::max(1u, options.workers)),
        started_(std::chrono::steady_clock::now()) {
    for (std::uint32_t i = 0; i < shards; ++i) shards_.emplace_back(telling || reduce_ || options.exact);
    for (auto& hand : hands_) hand.buckets.resize(shards);
  }

  Report run() {
    add_initial();
    std::vector<std::thread> threads;
    std::barrier barrier(static_cast<std::ptrdiff_t>(hands_.size()));
    barrier_ = &barrier;
    for (unsigned worker = 1; worker < hands_.size(); ++worker)
      threads.emplace_back([this, worker] { work(worker); });
    work(0);
    for (auto& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return conclude();
  }

 private:
  // What one worker holds.
  struct Hand {
    std::vector<Records> buckets;  // successors by shard
    std::vector<Violation> violations;
    std::uint64_t edges = 0;
    std::uint64_t finals = 0;
    bool bounded = false;
    bool content = false;
    std::map<std::string, std::uint64_t> outcomes;
    std::uint64_t least_sent = UINT64_MAX;
    std::uint64_t most_sent = 0;
    std::uint64_t discontent = 0;
  };

  // Sorts the successors of one state into the worker's buckets.
  class Sorter final : public Successors {
   public:
    Sorter(Searcher& search, Hand& hand) : search_(search), hand_(hand) {}
    void begin(std::uint32_t number) {
      number_ = number;
      ordinal_ = 0;
    }
    void skip(std::uint32_t moves) override { ordinal_ += moves; }
    void add(const Id* state, const Fingerprint& print, const Move&, std::uint64_t asleep) override {
      const std::uint32_t ordinal = ordinal_++;
      ++hand_.edges;
      auto& bucket = hand_.buckets[print.high >> (64 - shard_bits)];
      std::uint32_t* record = bucket.add(search_.stride_);
      record[0] = static_cast<std::uint32_t>(print.high) | (print.high == 0 && print.low == 0 ? 1u : 0u);
      record[1] = static_cast<std::uint32_t>(print.high >> 32);
      record[2] = static_cast<std::uint32_t>(print.low);
      record[3] = static_cast<std::uint32_t>(print.low >> 32);
      record[4] = number_;
      record[5] = ordinal;
      record[6] = static_cast<std::uint32_t>(asleep);
      record[7] = static_cast<std::uint32_t>(asleep >> 32);
      std::copy_n(state, search_.width_, record + 8);
    }
    void complain(const Move&, std::string why) override {
      hand_.violations.push_back({{{"own rules", std::move(why)}}, number_, ordinal_++});
    }

   private:
    Searcher& search_;
    Hand& hand_;
    std::uint32_t number_ = 0;
    std::uint32_t ordinal_ = 0;
  };

  struct Span {
    std::uint32_t shard;
    std::uint32_t from;
    std::uint32_t to;
  };

  void add_initial() {
    const std::vector<Id> state = space_.initial();
    const Fingerprint print = space_.fingerprint(state.data());
    const std::uint32_t words[4] = {
        static_cast<std::uint32_t>(print.high), static_cast<std::uint32_t>(print.high >> 32),
        static_cast<std::uint32_t>(print.low), static_cast<std::uint32_t>(print.low >> 32)};
    const auto index = static_cast<std::uint32_t>(print.high >> (64 - shard_bits));
    Shard& shard = shards_[index];
    shard.met.insert(words, 0);
    keep(shard, shard.next, 0, nobody, 0, 0, state.data());
    states_ = 1;
    advance();
  }

  void keep(Shard& shard, Frontier& frontier, std::uint32_t place, std::uint32_t parent,
            std::uint32_t ordinal, std::uint64_t asleep, const Id* state) {
    ++shard.states;
    if (telling_) {
      shard.parents.push_back(parent);
      ensure(ordinal <= UINT16_MAX, "a state has fewer than 65,536 successors");
      shard.ordinals.push_back(static_cast<std::uint16_t>(ordinal));
    }
    if (reduce_) shard.asleep.push_back(asleep);
    if (options_.exact) shard.words.insert(shard.words.end(), state, state + width_);
    frontier.places.push_back(place);
    frontier.words.insert(frontier.words.end(), state, state + width_);
    if (reduce_) frontier.only.push_back(0);
  }

  void work(unsigned worker) {
    for (;;) {
      if (worker == 0) plan_block();
      barrier_->arrive_and_wait();
      if (over_) return;
      guard([&] { expand_share(worker); });
      barrier_->arrive_and_wait();
      guard([&] { sort_out(worker); });
      barrier_->arrive_and_wait();
      if (worker == 0) guard([&] { finish_block(); });
    }
  }
  template <class Task>
  void guard(Task&& task) {
    try {
      task();
    } catch (...) {
      const std::lock_guard hold(failure_lock_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  // The next states to expand: a part of this depth.
  void plan_block() {
    if (failure_ || stopped_) over_ = true;
    block_.clear();
    block_states_ = 0;
    while (!over_ && block_states_ < block_size) {
      if (cursor_shard_ == shards) {
        if (block_states_ > 0) break;
        if (!advance()) over_ = true;
        continue;
      }
      const auto count = static_cast<std::uint32_t>(shards_[cursor_shard_].now.places.size());
      const std::uint32_t take = std::min(count - cursor_, block_size - block_states_);
      if (take > 0) block_.push_back({cursor_shard_, cursor_, cursor_ + take});
      block_states_ += take;
      cursor_ += take;
      if (cursor_ == count) {
        ++cursor_shard_;
        cursor_ = 0;
      }
    }
    for (const Span& span : block_) {
      Shard& shard = shards_[span.shard];
      for (std::uint32_t i = span.from; i < span.to; ++i)
        shard.begun = std::max(shard.begun, shard.now.places[i] + 1);
    }
  }

  // On to the next depth; false if there is nothing.
  bool advance() {
    std::uint64_t waiting = 0;
    for (Shard& shard : shards_) {
      shard.now.clear();
      std::swap(shard.now, shard.next);
      waiting += shard.now.places.size();
    }
    cursor_shard_ = 0;
    cursor_ = 0;
    if (waiting == 0) return false;
    if (options_.max_depth > 0 && levels_ > options_.max_depth) {
      stop(fmt::format("--max-depth {}", options_.max_depth));
      return false;
    }
    ++levels_;
    frontier_ = waiting;
    return true;
  }

  void expand_share(unsigned worker) {
    Hand& hand = hands_[worker];
    Sorter sorter(*this, hand);
    const std::uint64_t from = std::uint64_t{block_states_} * worker / hands_.size();
    const std::uint64_t to = std::uint64_t{block_states_} * (worker + 1) / hands_.size();
    std::uint64_t at = 0;
    for (const Span& span : block_) {
      const std::uint32_t count = span.to - span.from;
      const std::uint64_t first = std::max(at, from);
      const std::uint64_t last = std::min(at + count, to);
      for (std::uint64_t i = first; i < last; ++i) {
        constexpr std::uint64_t ahead = 3;
        const Frontier& now = shards_[span.shard].now;
        if (i + ahead < last) space_.prefetch(now.words.data() + (span.from + i - at + ahead) * width_);
        expand(worker, sorter, span.shard, span.from + static_cast<std::uint32_t>(i - at));
      }
      at += count;
    }
  }

  void expand(unsigned worker, Sorter& sorter, std::uint32_t index, std::uint32_t entry) {
    Hand& hand = hands_[worker];
    const Shard& shard = shards_[index];
    const std::uint32_t place = shard.now.places[entry];
    const Id* state = shard.now.words.data() + std::size_t{entry} * width_;
    const std::uint32_t number = number_of(index, place);
    if (space_.is_wrong(state)) {
      hand.violations.push_back({space_.wrongs(state), number, nobody});
      return;  // what follows from something wrong proves nothing
    }
    const std::uint64_t only = reduce_ ? shard.now.only[entry] : 0;
    sorter.begin(number);
    const Sleep sleep = {reduce_ ? shard.asleep[place] : 0, only};
    const Look look = space_.expand(state, sleep, worker, sorter);
    if (only != 0) return;
    if (look.content) hand.content = true;
    if (look.bounded) hand.bounded = true;
    if (look.final && !look.bounded) {
      ++hand.finals;
      if (!look.content) ++hand.discontent;
      if (std::string outcome = space_.outcome_of(state); !outcome.empty()) ++hand.outcomes[outcome];
      hand.least_sent = std::min(hand.least_sent, space_.sent(state));
      hand.most_sent = std::max(hand.most_sent, space_.sent(state));
      if (auto wrongs = space_.wrongs_at_end(state); !wrongs.empty())
        hand.violations.push_back({std::move(wrongs), number, nobody});
    }
  }

  void sort_out(unsigned worker) {
    for (std::uint32_t index = worker; index < shards; index += static_cast<std::uint32_t>(hands_.size())) {
      for (Hand& hand : hands_) {
        insert_all(shards_[index], hand.buckets[index]);
        hand.buckets[index].clear();
      }
    }
  }

  void insert_all(Shard& shard, const Records& bucket) {
    const std::size_t count = bucket.size() / stride_;
    constexpr std::size_t ahead = 8;
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 256 == 0) shard.met.prepare(std::min<std::size_t>(256, count - i));
      if (i + ahead < count) shard.met.prefetch(bucket.data() + (i + ahead) * stride_);
      const std::uint32_t* record = bucket.data() + i * stride_;
      const std::uint32_t fresh_place = shard.states;
      ensure(fresh_place < 1u << place_bits, "a shard numbers up to 67 million states");
      const auto [place, fresh] = shard.met.insert(record, fresh_place);
      const std::uint64_t asleep = std::uint64_t{record[7]} << 32 | record[6];
      if (fresh) {
        keep(shard, shard.next, place, record[4], record[5], asleep, record + 8);
      } else {
        if (options_.exact)
          ensure(
              std::equal(record + 8, record + stride_, shard.words.begin() + std::ptrdiff_t{place} * width_),
              "different states have different fingerprints");
        if (reduce_) meet_again(shard, place, asleep, record + 8);
      }
    }
  }

  // A state met again with fewer labels asleep: what was left out for a reason that does not hold on this way
  // has to be made up for.
  void meet_again(Shard& shard, std::uint32_t place, std::uint64_t asleep, const Id* state) {
    const std::uint64_t missing = shard.asleep[place] & ~asleep;
    if (missing == 0) return;
    shard.asleep[place] &= asleep;
    if (place >= shard.begun) return;  // it has not been expanded yet
    shard.next.places.push_back(place);
    shard.next.words.insert(shard.next.words.end(), state, state + width_);
    shard.next.only.push_back(missing);
  }

  void finish_block() {
    states_ = 0;
    std::uint64_t bytes = 0;
    for (const Shard& shard : shards_) {
      states_ += shard.states;
      bytes += shard.bytes();
    }
    edges_ = 0;
    for (Hand& hand : hands_) {
      edges_ += hand.edges;
      for (const auto& bucket : hand.buckets) bytes += bucket.bytes();
      for (Violation& violation : hand.violations) note(std::move(violation));
      hand.violations.clear();
    }
    bytes += space_.bytes();
    most_bytes_ = std::max(most_bytes_, bytes);
    if (options_.progress) {
      options_.progress({.states = states_,
                         .edges = edges_,
                         .depth = levels_ - 1,
                         .frontier = frontier_,
                         .bytes = bytes,
                         .seconds = seconds()});
    }
    if (!found_.empty() && options_.stop_at_violation) {
      stopped_ = true;
    } else if (options_.max_states > 0 && states_ >= options_.max_states) {
      stop(fmt::format("--max-states {}", options_.max_states));
    } else if (options_.max_bytes > 0 && bytes >= options_.max_bytes) {
      stop(fmt::format("--memory {}", options_.max_bytes));
    }
  }

  void stop(std::string why) {
    stopped_ = true;
    stopped_by_ = std::move(why);
  }

  // Blocks and workers come in the order of the states, so the first violation of a property is its shortest.
  void note(Violation violation) {
    for (const Wrong& wrong : violation.wrongs) {
      const bool known = std::ranges::any_of(
          found_, [&](const auto& other) { return other.first.property == wrong.property; });
      if (!known) found_.emplace_back(wrong, violation);
    }
  }

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }

  Report conclude() {
    Report report = {.states = states_,
                     .edges = edges_,
                     .depth = levels_ - 1,
                     .bytes = most_bytes_,
                     .complete = !stopped_,
                     .stopped_by = stopped_by_,
                     .sometimes = space_.sometimes(),
                     .figures = space_.figures()};
    bool content = false;
    bool bounded = false;
    std::uint64_t least_sent = UINT64_MAX;
    std::uint64_t most_sent = 0;
    for (const Hand& hand : hands_) {
      report.final_states += hand.finals;
      content = content || hand.content;
      bounded = bounded || hand.bounded;
      for (const auto& [outcome, count] : hand.outcomes) report.outcomes[outcome] += count;
      least_sent = std::min(least_sent, hand.least_sent);
      most_sent = std::max(most_sent, hand.most_sent);
    }
    for (const Hand& hand : hands_)
      report.figures["final states with somebody discontent"] += hand.discontent;
    if (options_.count_messages && report.final_states > 0) {
      report.figures["messages at least"] = least_sent;
      report.figures["messages at most"] = most_sent;
    }
    if (!options_.for_ever) report.sometimes["everybody has what it wanted"] = content;
    if (bounded) report.figures["runs cut short by a budget"] = 1;
    for (const auto& [wrong, violation] : found_) {
      report.findings.push_back({.property = wrong.property, .why = wrong.why});
      if (telling_) tell_way(report.findings.back(), violation);
    }
    std::ranges::stable_sort(report.findings, {}, &Finding::steps);
    report.seconds = seconds();
    return report;
  }

  // Goes the way again, and says what happens on it.
  void tell_way(Finding& finding, const Violation& violation) {
    std::vector<std::uint32_t> ordinals;
    for (std::uint32_t number = violation.from;;) {
      const Shard& shard = shards_[shard_of(number)];
      const std::uint32_t place = place_of(number);
      if (shard.parents[place] == nobody) break;
      ordinals.push_back(shard.ordinals[place]);
      number = shard.parents[place];
    }
    std::ranges::reverse(ordinals);
    if (violation.ordinal != nobody) ordinals.push_back(violation.ordinal);
    finding.steps = static_cast<std::uint32_t>(ordinals.size());
    std::vector<Id> state = space_.initial();
    finding.way = space_.prologue();
    for (const std::uint32_t ordinal : ordinals) {
      Chooser chooser(ordinal, width_);
      space_.expand(state.data(), {}, 0, chooser);
      std::ranges::copy(space_.directions(state.data(), chooser.move), std::back_inserter(finding.way));
      state = std::move(chooser.state);
    }
    std::uint64_t at = 0;
    for (auto& direction : finding.way) direction.at = ++at;
  }

  // Picks the successor with a given number.
  class Chooser final : public Successors {
   public:
    Chooser(std::uint32_t wanted, std::uint32_t width) : wanted_(wanted), width_(width) {}
    void add(const Id* next, const Fingerprint&, const Move& its_move, std::uint64_t) override {
      if (seen_++ != wanted_) return;
      state.assign(next, next + width_);
      move = its_move;
    }
    void skip(std::uint32_t moves) override { seen_ += moves; }
    void complain(const Move& its_move, std::string) override {
      if (seen_++ == wanted_) move = its_move;
    }
    std::vector<Id> state;
    Move move;

   private:
    std::uint32_t wanted_;
    std::uint32_t width_;
    std::uint32_t seen_ = 0;
  };

  Space& space_;
  const Options& options_;
  const std::uint32_t width_;
  const std::uint32_t stride_;
  const bool reduce_;
  const bool telling_;
  std::vector<Shard> shards_;
  std::vector<Hand> hands_;
  std::chrono::steady_clock::time_point started_;
  std::barrier<>* barrier_ = nullptr;
  std::mutex failure_lock_;
  std::exception_ptr failure_;
  // The block under way.
  std::vector<Span> block_;
  std::uint32_t block_states_ = 0;
  std::uint32_t cursor_shard_ = 0;
  std::uint32_t cursor_ = 0;
  bool over_ = false;
  bool stopped_ = false;
  std::string stopped_by_;
  std::uint32_t levels_ = 0;
  std::uint64_t frontier_ = 0;
  std::uint64_t states_ = 0;
  std::uint64_t edges_ = 0;
  std::uint64_t most_bytes_ = 0;
  std::vector<std::pair<Wrong, Violation>> found_;
};

}  // namespace

// Most searches find nothing to tell of, so ways are not kept; if there is something, the search is made
// again.
Report search(Space& space, const Options& options) {
  space.set_workers(std::max(1u, options.workers));
  Report report = Searcher(space, options, false).run();
  if (!report.findings.empty()) {
    Report told = Searcher(space, options, true).run();
    report.findings = std::move(told.findings);
    report.seconds += told.seconds;
    report.bytes = std::max(report.bytes, told.bytes);
  }
  return report;
}

}  // namespace conclave::check
