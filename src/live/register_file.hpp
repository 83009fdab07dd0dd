// Programs over shared registers as locks between the processes of one machine, by a file that all map.
//
//   auto mine = live::open_register_lock<registers::Bakery>("/dev/shm/printer.lock", 8);
//   if (!mine) return complain(mine.error());
//   std::scoped_lock guard(*mine);
//
// Opening claims one of the places; the kernel gives it back when the process closes the file or dies. Who
// died outside or while it waited is in nobody's way for long: a process that waits clears what it left in
// the registers, as if it had withdrawn (Lamport's own assumption on failures). Who died inside may have left
// what the lock protects half changed: then everybody waits, until somebody who knows better says
// clear_dead_holder.
//
// The file is local to one machine: not for network file systems. After fork only the parent may use its
// participants, and a child that does not exec keeps their places taken as long as it lives.
#pragma once
#include <sys/types.h>

#include "core/names.hpp"
#include "live/register_mutex.hpp"

namespace conclave::live {

// The mapped file: a header, one cell per place that says what its holder does, one cell per register.
class RegisterFile {
 public:
  enum class State : Word { free, outside, inside };

  // Creates the file if it is not there. What is there must be a lock of the same program for the same number
  // of participants.
  static std::expected<std::unique_ptr<RegisterFile>, std::string> open(
      const std::string& path, std::string_view program, std::uint32_t participants,
      const std::vector<Register>& registers);
  ~RegisterFile();
  RegisterFile(const RegisterFile&) = delete;
  RegisterFile& operator=(const RegisterFile&) = delete;

  RegisterCell* registers() const { return cells_ + 1 + participants_; }
  std::uint32_t participants() const { return participants_; }

  // A place is claimed by a lock on one byte of the file, which the kernel drops with the process. False if
  // somebody alive has it.
  bool claim(NodeId place);
  void give_back(NodeId place);

  State state(NodeId place) const {
    return static_cast<State>(cells_[place.value].word.load(std::memory_order_acquire));
  }
  void set_state(NodeId place, State state) {
    cells_[place.value].word.store(static_cast<Word>(state), std::memory_order_release);
  }

 private:
  RegisterFile(int file, RegisterCell* cells, std::size_t bytes, std::uint32_t participants)
      : file_(file), cells_(cells), bytes_(bytes), participants_(participants) {}

  int file_;
  RegisterCell* cells_;  // the header first
  std::size_t bytes_;
  std::uint32_t participants_;
};

template <Withdraws P>
class ProcessSeat {
 public:
  ProcessSeat(std::unique_ptr<RegisterFile> file, NodeId self, typename P::Setup setup)
      : file_(std::move(file)), self_(self), setup_(std::move(setup)) {}
  ProcessSeat(ProcessSeat&&) = default;
  ProcessSeat& operator=(ProcessSeat&&) = delete;
  ~ProcessSeat() {
    // Who goes away inside is a dead holder to the others.
    if (file_ && file_->state(self_) == RegisterFile::State::outside)
      file_->set_state(self_, RegisterFile::State::free);
  }

  RegisterCell* cells() const { return file_->registers(); }

  // A kill comes between two instructions: it is enough that the compiler keeps the mark on the right side of
  // what is done inside.
  void went_inside() {
    file_->set_state(self_, RegisterFile::State::inside);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void goes_outside() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    file_->set_state(self_, RegisterFile::State::outside);
  }
  void waits_long() { clear_the_dead(RegisterFile::State::outside); }

  // The place whose process died inside, if there is one.
  std::optional<NodeId> dead_holder() {
    for (NodeId place : everybody()) {
      if (!dead_in(place, RegisterFile::State::inside)) continue;
      file_->give_back(place);
      return place;
    }
    return std::nullopt;
  }
  // Lets the others in although a holder died: only for callers who know that what the lock protects is
  // whole. True if there was one.
  bool clear_dead_holder() { return clear_the_dead(RegisterFile::State::inside); }

  // Undoes what a process at an unknown label may have left in its registers.
  static void clear(RegisterFile& file, NodeId place, const NodeSet& all, const typename P::Setup& setup) {
    P program = P::abandoned(place, all, setup);
    while (const std::optional<Access> access = program.next())
      program.step(perform(file.registers(), *access));
  }

 private:
  NodeSet everybody() const { return NodeSet::range({1}, file_->participants()); }

  // Whether that place is in that state and its process gone; then the place is claimed.
  bool dead_in(NodeId place, RegisterFile::State state) {
    if (place == self_ || file_->state(place) != state || !file_->claim(place)) return false;
    if (file_->state(place) == state) return true;
    file_->give_back(place);
    return false;
  }

  bool clear_the_dead(RegisterFile::State state) {
    bool any = false;
    for (NodeId place : everybody()) {
      if (!dead_in(place, state)) continue;
      clear(*file_, place, everybody(), setup_);
      file_->set_state(place, RegisterFile::State::free);
      file_->give_back(place);
      any = true;
    }
    return any;
  }

  std::unique_ptr<RegisterFile> file_;
  NodeId self_;
  typename P::Setup setup_;
};

template <Withdraws P>
using ProcessParticipant = Participant<P, ProcessSeat<P>>;

// Joins the lock in the file at `path`, or says in one sentence why not.
template <Withdraws P>
std::expected<ProcessParticipant<P>, std::string> open_register_lock(const std::string& path,
                                                                     std::uint32_t participants) {
  const typename P::Setup setup = P::on_hardware();
  if (participants == 0) return std::unexpected(path + ": a lock is for at least one participant");
  const NodeSet all = NodeSet::range({1}, participants);
  auto file = RegisterFile::open(path, type_name<P>, participants, P::registers(all, setup));
  if (!file) return std::unexpected(file.error());
  std::string dead;
  for (NodeId place : all) {
    if (!(*file)->claim(place)) continue;
    if ((*file)->state(place) == RegisterFile::State::inside) {
      (*file)->give_back(place);
      dead = "; the process in place " + std::to_string(place.value) + " died inside";
      continue;
    }
    ProcessSeat<P>::clear(**file, place, all, setup);
    (*file)->set_state(place, RegisterFile::State::outside);
    return ProcessParticipant<P>(ProcessSeat<P>(std::move(*file), place, setup), place, all, setup);
  }
  return std::unexpected(path + ": all " + std::to_string(participants) + " places of the lock are taken" +
                         dead);
}

}  // namespace conclave::live
