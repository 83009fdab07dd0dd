// A replicated log as its users see it: everybody may propose commands, and every node is told the same
// sequence of them, one place after the other. One statement of the problem covers every algorithm of this
// family. What only some of them can do (reads without an entry, snapshots, other members, another leader) is
// asked of all; the others note that they cannot.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "core/bulk.hpp"
#include "core/codec.hpp"
#include "core/ensure.hpp"
#include "core/node_id.hpp"
#include "core/node_set.hpp"
#include "core/payload.hpp"

namespace conclave::log {

// A command, with who proposed it and as which of its own. A proposal may be repeated on the way; by its
// serial number the log takes it once.
struct Entry {
  NodeId client = {};
  std::uint64_t serial = 0;  // from 1, growing
  std::uint64_t value = 0;
  Payload bytes = {};  // what a state machine makes of it
  bool operator==(const Entry&) const = default;
};

struct Propose {
  std::uint64_t serial = 0;
  std::uint64_t value = 0;
  Payload bytes = {};
  bool operator==(const Propose&) const = default;
};
// Up to which place has the log to be known here, so that nothing committed before this question is missed?
struct Read {
  std::uint64_t serial = 0;
  bool operator==(const Read&) const = default;
};
// The state after all that was announced is about to be saved …
struct Capture {
  bool operator==(const Capture&) const = default;
};
// … and is this: entries up to there are not needed any more.
struct Compact {
  Bulk state = {};
  bool operator==(const Compact&) const = default;
};
// Who decides from now on, and who only listens.
struct Reconfigure {
  NodeSet voters = {};
  NodeSet learners = {};
  bool operator==(const Reconfigure&) const = default;
};
struct Transfer {  // the lead
  NodeId to = {};
  bool operator==(const Transfer&) const = default;
};
struct Suspect {  // there is reason to believe that this node is down
  NodeId node = {};
  bool operator==(const Suspect&) const = default;
};

// The log has this at this place, for ever. Every node announces the places 1, 2, 3, … in this order, and
// again from 1, or from where its snapshot ends, after a crash.
struct Committed {
  std::uint64_t index = 0;
  std::optional<Entry> entry = {};  // none: the place is void, or repeats a command of an earlier place
  bool operator==(const Committed&) const = default;
};
struct Leading {  // this node takes the lead
  std::uint64_t term = 0;
  bool operator==(const Leading&) const = default;
};
struct Readable {  // the answer to a Read, when everything up to there has been announced here
  std::uint64_t serial = 0;
  std::uint64_t index = 0;
  bool operator==(const Readable&) const = default;
};
struct Restored {  // instead of the places up to there, the state that they lead to
  std::uint64_t index = 0;
  Bulk state = {};
  bool operator==(const Restored&) const = default;
};

struct Taken {  // our proposals up to this one are among those places; what came of them nobody here knows
  std::uint64_t serial = 0;
  bool operator==(const Taken&) const = default;
};

struct Members {  // who decides and who listens, as of the place announced last
  NodeSet voters = {};
  NodeSet learners = {};
  bool operator==(const Members&) const = default;
};

// The state machine of runs that have no other: it cannot tell two logs apart only if they are alike.
struct Digest {
  std::uint64_t sum = 0;
  bool operator==(const Digest&) const = default;

  void apply(const Committed& committed) {
    sum = (sum ^ committed.index) * 0x9e3779b97f4a7c15u;
    if (committed.entry)
      sum = (sum ^ committed.entry->client.value ^ committed.entry->serial << 32) * 0xd6e8feb86659fd93u;
  }
  Payload save() const { return Payload(encode(*this)); }
  static Digest load(const Bulk& state) { return decode<Digest>(state.whole().bytes()).value_or(Digest{}); }
};

struct Spec {
  using Command = std::variant<Propose, Read, Capture, Compact, Reconfigure, Transfer, Suspect>;
  using Event = std::variant<Committed, Leading, Readable, Restored, Taken, Members>;

  struct Client {
    // How it behaves. It may have chores beside its wishes, one after so many proposals of its own or places.
    struct Habits {
      std::uint32_t width = 1;           // proposals under way at most
      std::uint32_t reads_each = 0;      // questions for each proposal
      std::uint32_t captures_every = 0;  // places of the log
      std::uint32_t changes_every = 0;
      std::uint32_t transfers_every = 0;
      NodeSet everybody = {};  // who may be a member
      bool operator==(const Habits&) const = default;
    };

    NodeId self = {};
    Habits habits = {};
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;  // proposals made so far; the serial number of the last
    std::uint32_t answered = 0;  // … of the last that was seen in the log
    std::uint32_t reads = 0;     // questions asked so far, each after as many proposals
    bool reading = false;
    std::uint32_t changes = 0;
    NodeSet absent = {};  // who is no member, as far as it was told
    std::uint32_t transfers = 0;
    // The machine.
    std::uint64_t applied = 0;
    Digest digest = {};
    std::uint64_t captured = 0;           // the last place of the last snapshot
    std::optional<Payload> capture = {};  // what is being saved
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool waiting() const { return answered < requests; }
    bool content() const { return !waiting() && !reading && wishes == 0; }
    // Whatever is to be done beside what it wishes for.
    std::optional<Command> chore() const {
      if (capture) return Compact{*capture};
      if (due(habits.captures_every, applied, captured)) return Capture{};
      if (!reading && reads < std::uint64_t{requests} * habits.reads_each) return Read{reads + 1ull};
      if (change_is_due()) return other_members();
      if (due(habits.transfers_every, requests, std::uint64_t{transfers} * habits.transfers_every))
        return Transfer{other_leader()};
      if (takes_them_back()) return Reconfigure{.voters = habits.everybody};
      return std::nullopt;
    }
    std::optional<Command> next() const {
      if (auto chores = chore()) return chores;
      if (requests - answered >= habits.width || wishes == 0) return std::nullopt;
      const std::uint64_t serial = requests + 1ull;
      return Propose{serial, 1000ull * self.value + serial, {}};
    }
    bool may(const Command& command) const {
      if (std::holds_alternative<Read>(command)) return !reading;
      return !std::holds_alternative<Propose>(command) || requests - answered < habits.width;
    }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      ensure(may(command), "a client waits for its turn");
      if (std::holds_alternative<Propose>(command)) {
        ++requests;
        if (wishes > 0) --wishes;
      }
      if (std::holds_alternative<Read>(command)) {
        ++reads;
        reading = true;
      }
      if (std::holds_alternative<Capture>(command)) {
        capture = digest.save();
        captured = applied;
      }
      if (std::holds_alternative<Compact>(command)) capture.reset();
      if (std::holds_alternative<Reconfigure>(command) && change_is_due()) ++changes;
      if (std::holds_alternative<Transfer>(command)) ++transfers;
    }
    // Nobody is left who waits for the proposals; the log may take them all the same.
    void crash() {
      answered = requests;
      reading = false;
      applied = 0;
      digest = {};
      captured = 0;
      capture.reset();
      absent = {};
    }
    void see(const Event& event) {
      if (const auto* committed = std::get_if<Committed>(&event)) {
        applied = committed->index;
        digest.apply(*committed);
        if (committed->entry && committed->entry->client == self) see_answer(committed->entry->serial);
      } else if (const auto* restored = std::get_if<Restored>(&event)) {
        applied = captured = restored->index;
        digest = Digest::load(restored->state);
        capture.reset();
      } else if (const auto* taken = std::get_if<Taken>(&event)) {
        see_answer(taken->serial);
      } else if (const auto* members = std::get_if<Members>(&event)) {
        absent = {};
        for (NodeId node : habits.everybody) {
          if (!members->voters.contains(node) && !members->learners.contains(node)) absent.insert(node);
        }
      } else if (std::holds_alternative<Readable>(event)) {
        reading = false;
      }
    }
    void see_answer(std::uint64_t serial) {
      if (serial > answered && serial <= requests) answered = static_cast<std::uint32_t>(serial);
    }

   private:
    static bool due(std::uint64_t every, std::uint64_t done, std::uint64_t before) {
      return every > 0 && done >= before + every;
    }
    // Half of them vote, and the others listen or are no members at all; then everybody votes again, with
    // the disk that it had. Which half is different each time, so the majorities of one and of the next may
    // have nobody in common.
    Reconfigure other_members() const {
      if (changes % 2 == 1 || habits.everybody.size() < 3) return {.voters = habits.everybody};
      const std::uint64_t half = (habits.everybody.size() + 1) / 2;
      Reconfigure wish;
      for (std::uint64_t i = 0; i < habits.everybody.size(); ++i) {
        const NodeId node = nth(self.value + changes + i);
        const bool removed = (self.value + changes / 2 + i) % 2 == 0 && node != habits.everybody.min();
        if (i < half) {
          wish.voters.insert(node);
        } else if (!removed) {
          wish.learners.insert(node);
        }
      }
      return wish;
    }
    // Who is no member gets no answers until somebody takes it back. The first of them sees to that, and is
    // never removed; it asks again from time to time until it is told that everybody is a member.
    bool takes_them_back() const { return !absent.empty() && self == habits.everybody.min(); }
    bool change_is_due() const {
      return due(habits.changes_every, requests, std::uint64_t{changes} * habits.changes_every);
    }
    NodeId other_leader() const { return nth(self.value + transfers + 1); }
    NodeId nth(std::uint64_t n) const {
      auto node = habits.everybody.begin();
      for (n %= habits.everybody.size(); n > 0; --n) ++node;
      return *node;
    }
  };
};

}  // namespace conclave::log
