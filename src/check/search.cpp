#include "check/search.hpp"

#include "check/patient_barrier.hpp"
#include "check/print_set.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace conclave::check {
namespace {

constexpr std::uint32_t block_size = 1u << 14;
constexpr std::uint32_t chunk_size = 1u << 11;
constexpr std::uint32_t nobody = UINT32_MAX;

// What all workers have met is split into as many shards as there are workers, by bits that say nothing of
// the place in a set. A state has a number: its shard, and its place in it.
class Numbering {
 public:
  explicit Numbering(unsigned shards)
      : shards_(shards), place_bits_(32 - static_cast<unsigned>(std::bit_width(shards - 1))) {}
  std::uint32_t shard_for(const WordSum& sum) const {
    return static_cast<std::uint32_t>((sum.second & UINT32_MAX) * shards_ >> 32);
  }
  std::uint32_t number_of(std::uint32_t shard, std::uint32_t place) const {
    return static_cast<std::uint32_t>(std::uint64_t{shard} << place_bits_) | place;
  }
  std::uint32_t shard_of(std::uint32_t number) const {
    return static_cast<std::uint32_t>(std::uint64_t{number} >> place_bits_);
  }
  std::uint32_t place_of(std::uint32_t number) const { return number & last_place(); }
  std::uint32_t last_place() const {
    return static_cast<std::uint32_t>((std::uint64_t{1} << place_bits_) - 1);
  }

 private:
  std::uint64_t shards_;
  unsigned place_bits_;
};

// Records of equal size, one after the other.
class Records {
 public:
  Records() = default;
  Records(Records&& other) noexcept { *this = std::move(other); }
  Records& operator=(Records&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, 0);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }

  std::uint32_t* add(std::size_t words) {
    if (size_ + words > room_) [[unlikely]]
      grow(words);
    std::uint32_t* record = data_.get() + size_;
    size_ += words;
    ++count_;
    return record;
  }
  std::uint32_t count() const { return count_; }
  std::uint32_t* data() { return data_.get(); }
  const std::uint32_t* data() const { return data_.get(); }
  void clear() { size_ = count_ = 0; }
  void reserve(std::size_t words) {
    if (words > room_) move_to(words);
  }
  std::uint64_t bytes() const { return room_ * sizeof(std::uint32_t); }

 private:
  void grow(std::size_t words) { move_to(std::max<std::size_t>(2 * room_, 64 * words)); }
  void move_to(std::size_t room) {
    auto data = std::make_unique_for_overwrite<std::uint32_t[]>(room);
    std::copy_n(data_.get(), size_, data.get());
    data_ = std::move(data);
    room_ = room;
  }
  std::unique_ptr<std::uint32_t[]> data_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
  std::uint32_t count_ = 0;
};

// Some states of one depth, waiting to be expanded, in the order in which they were met: neighbours have much
// in common, so that what is known of one's parts is at hand for the next.
struct Chunk {
  Records words;
  std::vector<std::uint32_t> numbers;  // only if states are numbered
  std::vector<std::uint64_t>
      only;  // labels to be made up for; 0: whatever does not sleep; only with the reduction
  std::uint32_t count = 0;
  void reserve(std::uint32_t width, bool numbered, bool reduced) {
    words.reserve(std::size_t{chunk_size} * width);
    if (numbered) numbers.reserve(chunk_size);
    if (reduced) only.reserve(chunk_size);
  }
  void clear() {
    words.clear();
    numbers.clear();
    only.clear();
    count = 0;
  }
  std::uint64_t bytes() const { return words.bytes() + numbers.capacity() * 4 + only.capacity() * 8; }
};

// No two have a line of the cache in common, because different workers write to them.
struct alignas(64) Shard {
  explicit Shard(bool numbered) : met(numbered) {}
  PrintSet met;
  std::uint32_t states = 0;
  // Only if ways are to be told.
  std::vector<std::uint32_t> parents;
  std::vector<std::uint16_t> ordinals;  // which successor of its parent
  std::vector<std::uint64_t> asleep;    // labels not explored from here; only with the reduction
  std::vector<Id> words;                // of whole states; only if exact
  std::uint32_t begun = 0;              // states before this place have been expanded
  std::uint64_t bytes() const {
    return met.bytes() + parents.capacity() * 4 + ordinals.capacity() * 2 + asleep.capacity() * 8 +
           words.capacity() * 4;
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
        reduce_(options.partial_order),
        telling_(telling),
        numbered_(telling || reduce_ || options.exact),
        stride_(width_ + (telling ? 2 : 0) + (reduce_ ? 2 : 0)),
        numbering_(std::max(1u, options.workers)),
        hands_(std::max(1u, options.workers)),
        started_(std::chrono::steady_clock::now()) {
    for (auto& hand : hands_) {
      shards_.emplace_back(numbered_);
      hand.finds.resize(hands_.size());
      if (!numbered_) hand.recent.resize(std::size_t{1} << recent_bits);
    }
  }

  Report run() {
    add_initial();
    std::vector<std::thread> threads;
    PatientBarrier barrier(static_cast<std::uint32_t>(hands_.size()));
    barrier_ = &barrier;
    for (unsigned worker = 1; worker < hands_.size(); ++worker)
      threads.emplace_back([this, worker] { work(worker); });
    work(0);
    for (auto& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    return conclude();
  }

 private:
  // Successors to be looked up.
  struct Finds {
    std::vector<Print> prints;
    // Of each its record, if states are numbered. When it has been looked up: its number, or its place in the
    // shard, if it is to be expanded, nobody if not.
    std::vector<std::uint32_t> fates;
    void clear() {
      prints.clear();
      fates.clear();
    }
    std::uint64_t bytes() const { return prints.capacity() * sizeof(Print) + fates.capacity() * 4; }
  };
  // What one worker holds.
  struct alignas(64) Hand {
    Records records;                   // successors: the state, [its parent, which successor,] [what sleeps]
    std::vector<Finds> finds;          // by shard
    std::vector<std::uint8_t> shards;  // of every record; only if there is more than one
    // What this worker has met lately: most states that are met again are met again soon.
    std::vector<WordSum> recent;
    std::vector<Chunk> fresh;  // for the next depth
    std::vector<Chunk>
        spare;  // of equal size and used again: what is given back and fetched anew stops everybody
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
  static constexpr unsigned recent_bits = 13;

  // Takes the successors of one state, and sorts them by shard. Most searches number no states: `plain`.
  template <bool plain>
  class Sorter final : public Successors {
   public:
    Sorter(Searcher& search, Hand& hand)
        : search_(search), hand_(hand), width_(search.width_), alone_(search.hands_.size() == 1) {}
    void begin(std::uint32_t number) {
      number_ = number;
      ordinal_ = 0;
    }
    void skip(std::uint32_t moves) override { ordinal_ += moves; }
    void add(const Id* state, const WordSum& sum, const Move&, std::uint64_t asleep) override {
      ++hand_.edges;
      if constexpr (plain) {
        WordSum& last = hand_.recent[sum.first >> (64 - recent_bits)];
        if (last == sum) return;
        last = sum;
      }
      const std::uint32_t shard = alone_ ? 0 : search_.numbering_.shard_for(sum);
      if (!alone_) hand_.shards.push_back(static_cast<std::uint8_t>(shard));
      Finds& finds = hand_.finds[shard];
      finds.prints.push_back(print_of(sum));
      if constexpr (!plain) finds.fates.push_back(hand_.records.count());
      std::uint32_t* record = hand_.records.add(plain ? width_ : search_.stride_);
      copy_words(record, state, width_);
      if constexpr (!plain) {
        record += width_;
        if (search_.telling_) {
          *record++ = number_;
          *record++ = ordinal_;
        }
        if (search_.reduce_) put(record, asleep);
        ++ordinal_;
      }
    }
    void complain(const Move&, std::string why) override {
      hand_.violations.push_back({{{"own rules", std::move(why)}}, number_, ordinal_++});
    }

   private:
    Searcher& search_;
    Hand& hand_;
    const std::uint32_t width_;
    const bool alone_;
    std::uint32_t number_ = 0;
    std::uint32_t ordinal_ = 0;
  };

  // The first sum is mixed, lest states that are alike lie close together; that loses nothing.
  static Print print_of(const WordSum& sum) {
    const std::uint64_t mixed = (sum.first ^ sum.first >> 32) * 0xd6e8feb86659fd93u;
    return {std::max<std::uint64_t>(mixed, 1), sum.second};
  }

  static void put(std::uint32_t* words, std::uint64_t value) {
    words[0] = static_cast<std::uint32_t>(value);
    words[1] = static_cast<std::uint32_t>(value >> 32);
  }
  static std::uint64_t get(const std::uint32_t* words) { return std::uint64_t{words[1]} << 32 | words[0]; }

  void add_initial() {
    const std::vector<Id> state = space_.initial();
    Hand& hand = hands_.front();
    const auto take = [&](auto sorter) {
      sorter.begin(nobody);
      sorter.add(state.data(), WordSum::of(state.data(), width_), {}, 0);
    };
    numbered_ ? take(Sorter<false>(*this, hand)) : take(Sorter<true>(*this, hand));
    hand.edges = 0;
    for (std::uint32_t index = 0; index < shards_.size(); ++index) insert_all(index, hand);
    collect(hand);
    states_ = 1;
    take_fresh(hand);
    advance();
  }

  void work(unsigned worker) {
    for (;;) {
      barrier_->arrive_and_wait([this] {
        guard([this] { finish_block(); });
        plan_block();
      });
      if (over_) return;
      guard([&] {
        if (numbered_) {
          expand_share(worker, Sorter<false>(*this, hands_[worker]));
        } else {
          expand_share(worker, Sorter<true>(*this, hands_[worker]));
        }
      });
      barrier_->arrive_and_wait();
      guard([&] { sort_out(worker); });
      barrier_->arrive_and_wait();
      guard([&] { collect(hands_[worker]); });
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

  // Part of a chunk.
  struct Span {
    const Chunk* chunk;
    std::uint32_t from;
    std::uint32_t to;
  };

  // The next states to expand: a part of this depth.
  void plan_block() {
    if (failure_ || stopped_) over_ = true;
    block_.clear();
    block_states_ = 0;
    for (; done_chunks_ < cursor_chunk_; ++done_chunks_) recycle(now_[done_chunks_]);
    while (!over_ && block_states_ < block_size) {
      if (cursor_chunk_ == now_.size()) {
        if (block_states_ > 0) break;
        if (!advance()) over_ = true;
        continue;
      }
      const Chunk& chunk = now_[cursor_chunk_];
      const std::uint32_t take = std::min(chunk.count - cursor_, block_size - block_states_);
      if (take > 0) block_.push_back({&chunk, cursor_, cursor_ + take});
      block_states_ += take;
      cursor_ += take;
      if (cursor_ == chunk.count) {
        ++cursor_chunk_;
        cursor_ = 0;
      }
    }
    if (!reduce_) return;
    for (const Span& span : block_) {
      for (std::uint32_t i = span.from; i < span.to; ++i) {
        const std::uint32_t number = span.chunk->numbers[i];
        std::uint32_t& begun = shards_[numbering_.shard_of(number)].begun;
        begun = std::max(begun, numbering_.place_of(number) + 1);
      }
    }
  }

  // On to the next depth; false if there is nothing.
  bool advance() {
    for (; done_chunks_ < now_.size(); ++done_chunks_) recycle(now_[done_chunks_]);
    now_.clear();
    std::swap(now_, next_);
    cursor_chunk_ = 0;
    done_chunks_ = 0;
    cursor_ = 0;
    std::uint64_t waiting = 0;
    for (const Chunk& chunk : now_) waiting += chunk.count;
    if (waiting == 0) return false;
    if (options_.max_depth > 0 && levels_ > options_.max_depth) {
      stop(fmt::format("--max-depth {}", options_.max_depth));
      return false;
    }
    ++levels_;
    frontier_ = waiting;
    return true;
  }

  template <bool plain>
  void expand_share(unsigned worker, Sorter<plain> sorter) {
    const std::uint64_t from = std::uint64_t{block_states_} * worker / hands_.size();
    const std::uint64_t to = std::uint64_t{block_states_} * (worker + 1) / hands_.size();
    std::uint64_t at = 0;
    for (const Span& span : block_) {
      const std::uint32_t count = span.to - span.from;
      const std::uint64_t first = std::max(at, from);
      const std::uint64_t last = std::min(at + count, to);
      for (std::uint64_t i = first; i < last; ++i) {
        expand(worker, sorter, *span.chunk, span.from + static_cast<std::uint32_t>(i - at));
      }
      at += count;
    }
  }

  template <bool plain>
  void expand(unsigned worker, Sorter<plain>& sorter, const Chunk& chunk, std::uint32_t entry) {
    Hand& hand = hands_[worker];
    const Id* state = chunk.words.data() + std::size_t{entry} * width_;
    const std::uint32_t number = plain ? nobody : chunk.numbers[entry];
    if (space_.is_wrong(state)) {
      hand.violations.push_back({space_.wrongs(state), number, nobody});
      return;  // what follows from something wrong proves nothing
    }
    sorter.begin(number);
    Sleep sleep = {.never = true};
    std::uint64_t only = 0;
    if (!plain && reduce_) {
      only = chunk.only[entry];
      sleep = {shards_[numbering_.shard_of(number)].asleep[numbering_.place_of(number)], only};
    }
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
    for (Hand& hand : hands_) insert_all(worker, hand);
  }

  void insert_all(std::uint32_t index, Hand& hand) {
    Shard& shard = shards_[index];
    const std::vector<Print>& prints = hand.finds[index].prints;
    std::vector<std::uint32_t>& fates = hand.finds[index].fates;
    ensure(std::uint64_t{shard.states} + prints.size() < numbering_.last_place(),
           "there are numbers left for states");
    fates.resize(prints.size());
    constexpr std::size_t ahead = 12;
    for (std::size_t i = 0; i < std::min(ahead, prints.size()); ++i) shard.met.prefetch(prints[i]);
    for (std::size_t i = 0; i < prints.size(); ++i) {
      if (i + ahead < prints.size()) shard.met.prefetch(prints[i + ahead]);
      if (numbered_) {
        fates[i] = find_out(index, prints[i], hand.records.data() + fates[i] * std::size_t{stride_});
      } else {
        fates[i] = shard.met.insert(prints[i]) ? shard.states++ : nobody;
      }
    }
  }

  std::uint32_t find_out(std::uint32_t index, const Print& print, std::uint32_t* record) {
    Shard& shard = shards_[index];
    const auto [place, fresh] = shard.met.insert(print, shard.states);
    const std::uint32_t number = numbering_.number_of(index, place);
    if (!fresh) return meet_again(shard, place, record) ? number : nobody;
    keep(shard, record);
    return number;
  }

  void keep(Shard& shard, std::uint32_t* record) {
    ++shard.states;
    if (options_.exact) shard.words.insert(shard.words.end(), record, record + width_);
    record += width_;
    if (telling_) {
      shard.parents.push_back(record[0]);
      ensure(record[1] <= UINT16_MAX, "a state has fewer than 65,536 successors");
      shard.ordinals.push_back(static_cast<std::uint16_t>(record[1]));
      record += 2;
    }
    if (reduce_) {
      shard.asleep.push_back(get(record));
      put(record, 0);
    }
  }

  // A state met again with fewer labels asleep: what was left out for a reason that does not hold on this way
  // has to be made up for.
  bool meet_again(Shard& shard, std::uint32_t place, std::uint32_t* record) {
    if (options_.exact)
      ensure(std::equal(record, record + width_, shard.words.begin() + std::ptrdiff_t{place} * width_),
             "different states have different fingerprints");
    if (!reduce_) return false;
    std::uint32_t* field = record + stride_ - 2;
    const std::uint64_t asleep = get(field);
    const std::uint64_t missing = shard.asleep[place] & ~asleep;
    if (missing == 0) return false;
    shard.asleep[place] &= asleep;
    if (place >= shard.begun) return false;  // it has not been expanded yet
    put(field, missing);
    return true;
  }

  // What a worker has found is for the next depth.
  void collect(Hand& hand) {
    const std::uint32_t* record = hand.records.data();
    std::vector<const std::uint32_t*> next;
    for (const Finds& finds : hand.finds) next.push_back(finds.fates.data());
    const bool alone = hands_.size() == 1;
    for (std::uint32_t i = 0; i < hand.records.count(); ++i, record += stride_) {
      const std::uint32_t fate = *next[alone ? 0 : hand.shards[i]]++;
      if (fate == nobody) continue;
      Chunk& chunk = chunk_with_room(hand);
      ++chunk.count;
      copy_words(chunk.words.add(width_), record, width_);
      if (numbered_) chunk.numbers.push_back(fate);
      if (reduce_) chunk.only.push_back(get(record + stride_ - 2));
    }
    hand.records.clear();
    hand.shards.clear();
    for (Finds& finds : hand.finds) finds.clear();
  }

  Chunk& chunk_with_room(Hand& hand) {
    if (!hand.fresh.empty() && hand.fresh.back().count < chunk_size) return hand.fresh.back();
    if (hand.spare.empty()) {
      hand.fresh.emplace_back().reserve(width_, numbered_, reduce_);
    } else {
      hand.fresh.push_back(std::move(hand.spare.back()));
      hand.spare.pop_back();
    }
    return hand.fresh.back();
  }
  void take_fresh(Hand& hand) {
    std::ranges::move(hand.fresh, std::back_inserter(next_));
    hand.fresh.clear();
  }
  void recycle(Chunk& chunk) {
    chunk.clear();
    hands_[recycled_++ % hands_.size()].spare.push_back(std::move(chunk));
  }

  void finish_block() {
    if (block_states_ == 0) return;  // nobody has begun
    states_ = 0;
    std::uint64_t bytes = 0;
    for (const Shard& shard : shards_) {
      states_ += shard.states;
      bytes += shard.bytes();
    }
    edges_ = 0;
    for (Hand& hand : hands_) {
      edges_ += hand.edges;
      bytes += hand.records.bytes() + hand.shards.capacity() + hand.recent.size() * sizeof(WordSum);
      for (const Finds& finds : hand.finds) bytes += finds.bytes();
      take_fresh(hand);
      for (const Chunk& chunk : hand.spare) bytes += chunk.bytes();
      for (Violation& violation : hand.violations) note(std::move(violation));
      hand.violations.clear();
    }
    for (std::size_t i = cursor_chunk_; i < now_.size(); ++i) bytes += now_[i].bytes();
    for (const Chunk& chunk : next_) bytes += chunk.bytes();
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
      const Shard& shard = shards_[numbering_.shard_of(number)];
      const std::uint32_t place = numbering_.place_of(number);
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
    void add(const Id* next, const WordSum&, const Move& its_move, std::uint64_t) override {
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
  const bool reduce_;
  const bool telling_;
  const bool numbered_;  // states can be found again
  const std::uint32_t stride_;
  const Numbering numbering_;
  std::vector<Shard> shards_;
  std::vector<Hand> hands_;
  std::chrono::steady_clock::time_point started_;
  PatientBarrier* barrier_ = nullptr;
  std::mutex failure_lock_;
  std::exception_ptr failure_;
  // The block under way.
  std::vector<Span> block_;
  std::uint32_t block_states_ = 0;
  std::vector<Chunk> now_;
  std::vector<Chunk> next_;
  std::size_t recycled_ = 0;
  std::size_t cursor_chunk_ = 0;
  std::size_t done_chunks_ = 0;
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
