// Programs over shared registers as real locks: the very types that the simulator runs, over std::atomic.
//
//   live::RegisterMutex<registers::Bakery> lock(4);   // for up to four threads
//   auto mine = lock.join();                          // each thread its own; says why if there is no place
//   std::scoped_lock guard(*mine);
//
// A participant is one process of the paper. It is Lockable, so std::unique_lock and std::scoped_lock take
// it, and belongs to one thread at a time. Waiting is spinning, then yielding: there is no sleep, and a
// thread that is gone for good while it waits or holds blocks the others. Between processes, whose deaths the
// kernel reports, see register_file.hpp.
#pragma once
#include <atomic>
#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/ensure.hpp"
#include "core/program.hpp"

namespace conclave::live {

// One register on a cache line of its own, so that two processes do not fight over a line without sharing a
// register.
struct alignas(64) RegisterCell {
  std::atomic<Word> word = 0;
};
static_assert(std::atomic<Word>::is_always_lock_free, "only lock-free words work between processes");

// Keeps later reads from being served before earlier writes are visible. The thread sanitiser does not follow
// fences, and g++ warns of that; it need not here, since what one holder hands to the next goes by release
// and acquire.
inline void full_fence() {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
  std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
}

// Carries out one access with the weakest order that its program allows.
inline Word perform(RegisterCell* cells, const Access& access) {
  std::atomic<Word>& word = cells[access.place].word;
  switch (access.kind) {
    case Access::Kind::local: return 0;
    case Access::Kind::read:
      return word.load(access.order == Order::acquire ? std::memory_order_acquire
                                                      : std::memory_order_relaxed);
    case Access::Kind::write:
      word.store(access.value,
                 access.order == Order::relaxed ? std::memory_order_relaxed : std::memory_order_release);
      if (access.order == Order::fenced) full_fence();
      return 0;
    case Access::Kind::read_via: break;
  }
  ensure(false, "no hardware reads two registers at once");
  return 0;
}

// How a waiting process passes its time: at first it tries again at once, then with pauses, and in the end
// gives up the processor, which whoever is inside may need.
class Backoff {
 public:
  explicit Backoff(std::uint32_t steps_alone) : eager_(2 * steps_alone) {}

  // After every instruction; true from time to time, when it has been waiting for long.
  bool spent_one() {
    if (++steps_ <= eager_) return false;
    if (steps_ <= eager_ + spinning) {
      pause();
      return false;
    }
    if (steps_ % 32 != 0) return false;
    std::this_thread::yield();
    return steps_ % 32'768 == 0;
  }

 private:
  static constexpr std::uint64_t spinning = 1'000;
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  std::uint64_t eager_;
  std::uint64_t steps_ = 0;
};

// A process of the program, in the place it holds; `Seat` says where the registers are and what else the
// place wants to know.
template <Withdraws P, class Seat>
class Participant {
 public:
  Participant(Seat seat, NodeId self, const NodeSet& all, const typename P::Setup& setup)
      : seat_(std::move(seat)),
        program_(P::start(self, all, setup)),
        steps_alone_(P::steps_alone(all.size(), setup)) {}

  // Flattened, and on a copy: the compiler then keeps the program in registers of the processor, which makes
  // an entry twice as fast.
  [[gnu::flatten]] void lock() {
    P program = program_;
    program.on_command(typename P::Spec::Acquire{});
    Backoff backoff(steps_alone_);
    while (!enters(program)) {
      if (backoff.spent_one()) seat_.waits_long();
    }
    program_ = program;
    seat_.went_inside();
  }

  // Gives up where it would wait. May fail although nobody is inside, if another is on its way in or out.
  bool try_lock() {
    program_.on_command(typename P::Spec::Acquire{});
    for (std::uint32_t step = 0; step < steps_alone_; ++step) {
      if (enters(program_)) {
        seat_.went_inside();
        return true;
      }
    }
    give_up();
    return false;
  }

  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    program_.on_command(typename P::Spec::Acquire{});
    Backoff backoff(steps_alone_);
    for (std::uint64_t step = 1; !enters(program_); ++step) {
      if (backoff.spent_one()) seat_.waits_long();
      if (step % 256 != 0 || Clock::now() < deadline) continue;
      give_up();
      return false;
    }
    seat_.went_inside();
    return true;
  }
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& patience) {
    return try_lock_until(std::chrono::steady_clock::now() + patience);
  }

  [[gnu::flatten]] void unlock() {
    program_.on_command(typename P::Spec::Release{});
    seat_.goes_outside();
    run_out();
  }

  // Of the last entry: greater than that of every entry before it.
  std::uint64_t fence() const { return fence_; }
  NodeId id() const { return program_.self; }
  Seat& seat() { return seat_; }

 private:
  // One instruction; whether it lets us in.
  bool enters(P& program) {
    const std::optional<Access> access = program.next();
    const auto event = program.step(perform(seat_.cells(), *access));
    if (!event) return false;
    const auto* granted = std::get_if<typename P::Spec::Granted>(&*event);
    if (!granted) return false;
    fence_ = granted->fence.value;
    return true;
  }

  void run_out() {
    while (const std::optional<Access> access = program_.next())
      program_.step(perform(seat_.cells(), *access));
  }

  void give_up() {
    program_.withdraw();
    run_out();
  }

  Seat seat_;
  P program_;
  std::uint32_t steps_alone_;
  std::uint64_t fence_ = 0;
};

// Between the threads of one process. Outlives its participants.
template <Withdraws P>
class RegisterMutex {
 public:
  class Seat {
   public:
    Seat(RegisterCell* cells, std::atomic<bool>* taken) : cells_(cells), taken_(taken) {}
    Seat(Seat&& other) noexcept : cells_(other.cells_), taken_(std::exchange(other.taken_, nullptr)) {}
    Seat& operator=(Seat&&) = delete;
    ~Seat() {
      if (taken_) taken_->store(false, std::memory_order_release);
    }
    RegisterCell* cells() const { return cells_; }
    void went_inside() {}
    void goes_outside() {}
    void waits_long() {}

   private:
    RegisterCell* cells_;
    std::atomic<bool>* taken_;
  };
  using Member = Participant<P, Seat>;

  explicit RegisterMutex(std::uint32_t participants, const typename P::Setup& setup = P::on_hardware())
      : all_(NodeSet::range({1}, participants)),
        setup_(setup),
        taken_(new std::atomic<bool>[participants]()) {
    ensure(participants > 0, "a lock is for somebody");
    const std::vector<Register> registers = P::registers(all_, setup_);
    cells_.reset(new RegisterCell[registers.size()]);
    for (std::size_t i = 0; i < registers.size(); ++i)
      cells_[i].word.store(registers[i].initial, std::memory_order_relaxed);
  }

  // A place for the calling thread; given back when the participant is destroyed, which must be outside.
  std::expected<Member, std::string> join() {
    for (NodeId id : all_) {
      std::atomic<bool>& taken = taken_[id.value - 1];
      if (taken.exchange(true, std::memory_order_acquire)) continue;
      return Member(Seat(cells_.get(), &taken), id, all_, setup_);
    }
    return std::unexpected("all " + std::to_string(all_.size()) + " places of the lock are taken");
  }

 private:
  NodeSet all_;
  typename P::Setup setup_;
  std::unique_ptr<RegisterCell[]> cells_;
  std::unique_ptr<std::atomic<bool>[]> taken_;
};

}  // namespace conclave::live
