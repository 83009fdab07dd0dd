// The space of processes that send messages: the state of a run is what each process knows, what is under way
// to each of them, what the judge remembers, and what has been spent of the budgets.
#pragma once
#include <memory>
#include <mutex>

#include "check/arena.hpp"
#include "check/locals.hpp"
#include "check/patient_mutex.hpp"
#include "check/remembered.hpp"
#include "check/space.hpp"

namespace conclave::check {

class Network final : public Space {
 public:
  struct Rules {
    bool fifo = true;
    bool timed = false;  // messages take at most one unit of time, and timers run by it
    bool in_rounds = false;
    bool lossy = false;
    bool comes_back = false;  // a process that has crashed may come back
    Budget budget = {};
    bool symmetry = false;
    std::uint32_t most_rounds = 0;
    std::vector<std::uint32_t> opening = {};  // whose clients speak first
  };

  Network(Locals& locals, Rules rules);

  std::uint32_t width() const override { return width_; }
  std::vector<Id> initial() override;
  void set_workers(unsigned workers) override;
  Look expand(const Id* state, Sleep sleep, unsigned worker, Successors& out) override;
  bool is_wrong(const Id* state) const override;
  std::vector<Wrong> wrongs(const Id* state) const override;
  std::vector<Wrong> wrongs_at_end(const Id* state) const override;
  std::string outcome_of(const Id* state) const override {
    return locals_.outcome_of(state[judge_at_], {state, n_});
  }
  std::uint64_t sent(const Id* state) const override;
  trace::Directions prologue() const override { return prologue_; }
  std::uint32_t waiting(const Id* state) const override;
  std::uint32_t holding(const Id* state) const override;
  trace::Directions directions(const Id* before, const Move& move) const override;
  std::uint32_t nodes() const override { return n_; }
  NodeId name(std::uint32_t node) const override { return locals_.name(node); }
  std::map<std::string, bool> sometimes() const override { return locals_.sometimes(); }
  std::map<std::string, std::uint64_t> figures() const override;
  std::uint64_t bytes() const override;

 private:
  // What may arrive next, and what is left then.
  struct Option {
    Id letter = 0;
    Id rest = 0;
  };
  struct Inbox {
    std::vector<Id> letters;  // lane by lane, each in its order if it has one; else sorted by fingerprint
    std::uint32_t receiver = 0;
    bool operator==(const Inbox&) const = default;
  };
  // One line of the cache. The first options, and the first inboxes that this one has become with a letter
  // more, stand in place: most inboxes have no more.
  struct alignas(64) InboxFacts {
    const Option* many = nullptr;
    Option first[3] = {};
    std::atomic<std::uint64_t> posts[3] = {};  // the letter and one, and the inbox; 0: nothing is here
    std::uint32_t count = 0;
    bool due = false;    // something must have arrived by now
    bool young = false;  // something may take longer
    std::span<const Option> options() const { return {many ? many : first, count}; }
  };
  static_assert(sizeof(InboxFacts) == 64);
  // A receiver and a letter in one word.
  struct Parcel {
    std::uint32_t bits = 0;
    static constexpr unsigned letter_bits = 27;
    static Parcel of(const Posted& posted) {
      ensure(posted.letter < 1u << letter_bits, "there are numbers left for letters");
      return {posted.to << letter_bits | posted.letter};
    }
    std::uint32_t to() const { return bits >> letter_bits; }
    Id letter() const { return bits & ((1u << letter_bits) - 1); }
  };
  // What comes of a step beside the process itself. Many steps have the same effect.
  struct Effect {
    Id happening = 0;
    std::uint32_t complaint = 0;
    const Parcel* many = nullptr;
    Parcel first[4] = {};
    std::uint32_t count = 0;
    std::span<const Parcel> posted() const { return {many ? many : first, count}; }
  };
  struct EffectValue {
    Id happening = 0;
    std::uint32_t complaint = 0;
    std::vector<std::uint32_t> parcels = {};
    bool operator==(const EffectValue&) const = default;
  };
  // What a process does with an input.
  struct Step {
    Id local = 0;
    Id effect = 0;
  };
  using Memo = boost::unordered_flat_map<std::uint64_t, std::uint32_t>;
  // What one worker has met, so that it need not ask for the lock again.
  struct Worker {
    Memo ages;
    std::vector<Memo> renames;  // of locals, letters' inboxes, judges, by permutation
    Draft state;
    Draft best;  // by other names
    Draft other;
  };
  class Expansion;
  template <bool labelled, std::uint32_t nodes>
  class Calm;
  static constexpr std::uint32_t most_nodes = 24;

  // Budgets, as they are packed into one number.
  struct Spent {
    std::uint32_t bits = 0;
    struct Field {
      unsigned shift;
      std::uint32_t mask;
    };
    static constexpr Field crashes{0, 15}, recoveries{4, 15}, losses{8, 15}, duplications{12, 15},
        partitions{16, 15}, tells{20, 15}, timeouts{24, 255};
    std::uint32_t of(Field f) const { return bits >> f.shift & f.mask; }
    Spent with_one_more(Field f) const { return {bits + (1u << f.shift)}; }
  };
  // The round and who begins it next; the set that is cut off.
  struct Phase {
    std::uint32_t bits = 0;
    std::uint32_t round() const { return bits & 0xffff; }
    std::uint32_t next() const { return bits >> 16 & 0xff; }  // nodes(): all have begun
    std::uint32_t cut() const { return bits >> 24; }
    static Phase of(std::uint32_t round, std::uint32_t next, std::uint32_t cut) {
      return {round | next << 16 | cut << 24};
    }
  };

  static std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }
  static std::uint32_t question(Input input, std::uint32_t argument) {
    return static_cast<std::uint32_t>(input) << 28 | argument;
  }
  Step step(Id local, Input input, std::uint32_t argument) {
    return step(steps_.of(local), local, input, argument);
  }
  Step step(const Remembered<Step>::Answers& answers, Id local, Input input, std::uint32_t argument) {
    const Step* const known = answers.to(question(input, argument));
    return known ? *known : new_step(local, input, argument);
  }
  Step new_step(Id local, Input input, std::uint32_t argument);
  // The inbox with one more letter.
  Id post(Id inbox, Id letter) { return post(facts_[inbox], inbox, letter); }
  Id post(const InboxFacts& facts, Id inbox, Id letter) {
    for (const auto& slot : facts.posts) {
      const std::uint64_t known = slot.load(std::memory_order_acquire);
      if (known >> 32 == letter + 1) return static_cast<Id>(known);
    }
    const Id* const known = posts_.find(inbox, letter);
    return known ? *known : new_post(inbox, letter);
  }
  Id new_post(Id inbox, Id letter);
  Id judged(Id judge, Id happening) {
    const Id* const known = judgements_.find(judge, happening);
    return known ? *known : new_judgement(judge, happening);
  }
  Id new_judgement(Id judge, Id happening);
  Look expand_calmly(const Id* state, const Sleep& sleep, Worker& worker, Successors& out);
  Id aged(Worker& worker, Id inbox, std::uint32_t cut);
  Id intern(Inbox inbox);
  Id post_locked(Id inbox, Id letter);
  Id renamed_inbox(Id inbox, std::uint32_t permutation);
  std::uint32_t lane(Id letter) const;
  bool keeps_order(Id letter) const;
  bool holds_back(std::uint32_t cut, std::uint32_t a, std::uint32_t b) const {
    return ((cut >> a ^ cut >> b) & 1) != 0;
  }
  Spent spent(const Id* state) const { return {spent_at_ ? state[spent_at_] : 0}; }
  Phase phase(const Id* state) const { return {phase_at_ ? state[phase_at_] : 0}; }
  // By what the numbers stand for: the same whoever met it first.
  Fingerprint fingerprint(const Id* state) const;
  Fingerprint extra_print(const Id* state) const;
  trace::Directions last_words(const Id* before, const Move& move) const;

  Locals& locals_;
  Rules rules_;
  std::uint32_t n_ = 0;
  std::uint32_t width_ = 0;
  std::uint32_t judge_at_ = 0;
  std::uint32_t spent_at_ = 0;  // 0: there is no such number
  std::uint32_t phase_at_ = 0;
  bool labels_fit_ = false;
  bool calm_ = false;  // nothing goes wrong, and no time passes
  bool invariants_ = false;
  trace::Directions prologue_;
  std::vector<std::unique_ptr<Worker>> workers_;

  // What is written while others read what stands before has lines of the cache of its own.
  alignas(64) mutable PatientMutex lock_;
  Remembered<Step> steps_;
  Interner<EffectValue> effect_values_;
  Segmented<Effect> effects_;
  Remembered<Id> posts_;  // what does not stand with the inbox
  Remembered<Id> judgements_;
  Arena arena_;
  Segmented<InboxFacts> facts_;
  Segmented<Fingerprint> inbox_prints_;
  Segmented<Inbox> inboxes_;
  boost::unordered_flat_map<Fingerprint, Id, HashFingerprint> known_inboxes_;
};

}  // namespace conclave::check
