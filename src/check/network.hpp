// The space of processes that send messages: the state of a run is what each process knows, what is under way
// to each of them, what the judge remembers, and what has been spent of the budgets.
#pragma once
#include <deque>
#include <memory>
#include <mutex>

#include "check/locals.hpp"
#include "check/space.hpp"
#include "check/table.hpp"

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
  void prefetch(const Id* state) const override;
  Fingerprint fingerprint(const Id* state) const override;
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
    Fingerprint rest_print = {};
  };
  struct Inbox {
    std::vector<Id> letters;  // FIFO: lane by lane, each in its order; else sorted by fingerprint
    std::uint32_t receiver = 0;
    bool operator==(const Inbox&) const = default;
  };
  // The first options stand in place: most inboxes have no more.
  struct InboxFacts {
    Fingerprint print = {};
    std::uint32_t count = 0;
    bool due = false;    // something must have arrived by now
    bool young = false;  // something may take longer
    Option first[2] = {};
    std::vector<Option> many = {};
    std::span<const Option> options() const { return {many.empty() ? first : many.data(), count}; }
  };
  // What a process does with an input; likewise.
  struct alignas(64) Step {
    std::uint64_t key = 0;
    Id local = 0;
    Id happening = 0;
    std::uint32_t complaint = 0;
    std::uint32_t count = 0;
    Fingerprint print = {};
    Posted first[2] = {};
    const Posted* many = nullptr;
    std::span<const Posted> posted() const { return {many ? many : first, count}; }
  };
  struct Post {
    std::uint64_t key = 0;
    Id inbox = 0;
    Fingerprint print = {};
  };
  using Memo = boost::unordered_flat_map<std::uint64_t, std::uint32_t>;
  // What one worker has met, so that it need not ask for the lock again.
  struct Worker {
    Table<Step> steps;
    Table<Post> posts;
    Memo judges;
    Memo ages;
    std::deque<std::vector<Posted>> kept;  // of steps that post much
    std::vector<Memo> renames;             // of locals, letters' inboxes, judges, by permutation
    std::vector<Id> state;                 // under construction
  };
  class Expansion;

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

  static std::uint64_t step_key(Id local, Input input, std::uint32_t argument) {
    return std::uint64_t{local + 1} << 32 | static_cast<std::uint32_t>(input) << 28 | argument;
  }
  const Step& step(Worker& worker, Id local, Input input, std::uint32_t argument);
  const Post& post(Worker& worker, Id inbox, Id letter);
  Id judged(Worker& worker, Id judge, Id happening);
  Id aged(Worker& worker, Id inbox, std::uint32_t cut);
  Id intern(Inbox inbox);
  Id post_locked(Id inbox, Id letter);
  Id renamed_inbox(Id inbox, std::uint32_t permutation);
  std::uint32_t lane(Id letter) const;
  bool holds_back(std::uint32_t cut, std::uint32_t a, std::uint32_t b) const {
    return ((cut >> a ^ cut >> b) & 1) != 0;
  }
  Spent spent(const Id* state) const { return {spent_at_ ? state[spent_at_] : 0}; }
  Phase phase(const Id* state) const { return {phase_at_ ? state[phase_at_] : 0}; }
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
  bool invariants_ = false;
  trace::Directions prologue_;

  mutable std::mutex lock_;
  Segmented<InboxFacts> facts_;
  Segmented<Inbox> inboxes_;
  boost::unordered_flat_map<Fingerprint, Id, HashFingerprint> known_inboxes_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace conclave::check
