// The space of programs that share registers: the state of a run is where each program stands, what the
// registers hold, and what the judge remembers. One access is one step; on safe registers a write takes two,
// and a read in between returns anything.
#pragma once
#include <memory>
#include <mutex>

#include "check/arena.hpp"
#include "check/locals.hpp"
#include "check/remembered.hpp"
#include "check/space.hpp"
#include "core/describe.hpp"
#include "core/program.hpp"

namespace conclave::check {

// Programs by number, and what each of them does next.
class Programs : public Locals {
 public:
  // The argument of an access that only begins a write; else it is the value read.
  static constexpr std::uint32_t beginning_of_write = (1u << 28) - 1;
  // Kind::local with `waits` set: it is the client's turn.
  struct Next {
    Access access = {};
    bool waits = false;
    bool writing = false;  // in the midst of a write to a safe register
  };
  const Next& next(Id local) const { return nexts_[local]; }
  virtual const std::vector<Register>& registers() const = 0;

  // Programs have no letters, no timers, and do not fail.
  Id aged(Id letter) override { return letter; }
  Id notice(std::uint32_t, bool) override { return 0; }
  std::optional<Id> returned(Id, std::uint32_t) override { return std::nullopt; }
  bool tells_of_crashes() const override { return false; }
  bool returns() const override { return false; }
  bool is_server(std::uint32_t) const override { return false; }
  std::pair<std::string, std::string> describe_reaction(Id, Id) const override { return {}; }
  std::pair<std::string, std::string> describe_letter(Id) const override { return {}; }
  std::string describe_timer(std::uint32_t) const override { return {}; }
  bool has_durable(Id) const override { return false; }
  std::span<const std::vector<std::uint32_t>> permutations() const override { return {}; }
  Id renamed(Id local, std::uint32_t) override { return local; }
  Id renamed_letter(Id letter, std::uint32_t) override { return letter; }
  Id renamed_judge(Id judge, std::uint32_t) override { return judge; }

 protected:
  Segmented<Next> nexts_;
};

class RegisterSpace final : public Space {
 public:
  // What a read of a safe register without a greatest value may return at most.
  RegisterSpace(Programs& programs, Registers kind, Word most);

  std::uint32_t width() const override { return n_ + 2; }
  std::vector<Id> initial() override;
  void set_workers(unsigned workers) override {
    workers_.assign(workers, {});
    for (Worker& worker : workers_) worker.state = blank_draft(width());
  }
  Look expand(const Id* state, Sleep sleep, unsigned worker, Successors& out) override;
  bool is_wrong(const Id* state) const override { return programs_.is_wrong(state[n_ + 1]); }
  std::vector<Wrong> wrongs(const Id* state) const override { return programs_.wrongs(state[n_ + 1]); }
  std::vector<Wrong> wrongs_at_end(const Id* state) const override {
    return programs_.wrongs_at_end(state[n_ + 1], {state, n_});
  }
  std::string outcome_of(const Id* state) const override {
    return programs_.outcome_of(state[n_ + 1], {state, n_});
  }
  std::uint64_t sent(const Id*) const override { return 0; }
  std::uint32_t waiting(const Id* state) const override;
  std::uint32_t holding(const Id* state) const override;
  trace::Directions directions(const Id* before, const Move& move) const override;
  std::uint32_t nodes() const override { return n_; }
  NodeId name(std::uint32_t node) const override { return programs_.name(node); }
  std::map<std::string, bool> sometimes() const override { return programs_.sometimes(); }
  std::map<std::string, std::uint64_t> figures() const override;
  std::uint64_t bytes() const override;

 private:
  struct Memory {
    std::vector<Word> words = {};
    std::vector<std::uint8_t> writers = {};  // per register, writes under way; safe registers only
    bool operator==(const Memory&) const = default;
  };
  struct MemoryFacts {
    const Word* words = nullptr;
    const std::uint8_t* writers = nullptr;
  };
  // What a program does on reading a value.
  struct Step {
    Id local = 0;
    Id happening = 0;
    std::uint32_t complaint = 0;
  };
  struct Worker {
    Draft state = {};
  };

  static std::uint32_t question(Input input, std::uint32_t argument) {
    return static_cast<std::uint32_t>(input) << 28 | argument;
  }
  Step step(Id local, Input input, Word value) {
    ensure(value <= Programs::beginning_of_write, "values can be numbered");
    const auto argument = static_cast<std::uint32_t>(value);
    const Step* const known = steps_.find(local, question(input, argument));
    return known ? *known : new_step(local, input, argument);
  }
  Step new_step(Id local, Input input, std::uint32_t argument);
  // What the registers hold after `change`; remembered under a key.
  template <class How>
  Id changed(Id memory, std::uint32_t write, How&& how);
  Id judged(Id judge, Id happening) {
    const Id* const known = judgements_.find(judge, happening);
    return known ? *known : new_judgement(judge, happening);
  }
  Id new_judgement(Id judge, Id happening);
  Id intern(Memory memory);
  class Expansion;

  Programs& programs_;
  Registers kind_;
  Word most_;
  std::uint32_t n_;
  std::vector<Worker> workers_;
  // What is written while others read what stands before has lines of the cache of its own.
  alignas(64) std::mutex lock_;
  Interner<Memory> memories_;
  Segmented<MemoryFacts> facts_;
  Remembered<Step> steps_;
  Remembered<Id> changes_;
  Remembered<Id> judgements_;
  Arena arena_;
  Word greatest_ = 0;
};

template <Program P, FamilyJudge J>
class ProgramMachine final : public Programs {
 public:
  using Command = typename P::Spec::Command;
  using Event = typename P::Spec::Event;
  using Client = typename P::Spec::Client;

  ProgramMachine(const NodeSet& all, typename P::Setup setup, const Options& options, J judge)
      : all_(all),
        setup_(std::move(setup)),
        entries_(options.entries),
        entries_of_(options.entries_of),
        for_ever_(options.for_ever),
        registers_(P::registers(all, setup_)) {
    for (NodeId node : all) names_.push_back(node);
    first_judge_ = intern(std::move(judge));
  }

  const std::vector<Register>& registers() const override { return registers_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(names_.size()); }
  NodeId name(std::uint32_t node) const override { return names_[node]; }

  Outcome start(std::uint32_t node) override {
    Local local = {.index = node, .program = P::start(names_[node], all_, setup_)};
    const auto some = entries_of_.find(names_[node]);
    local.client.wishes = some == entries_of_.end() ? entries_ : some->second;
    return {.local = intern(std::move(local))};
  }

  Outcome apply(Id id, Input input, std::uint32_t argument) override {
    Local local = locals_[id];
    Happening happening = {.index = local.index};
    Outcome outcome;
    try {
      if (input == Input::command) {
        happening.command = speak(local);
      } else if (argument == beginning_of_write) {
        local.writing = true;
      } else {
        local.writing = false;
        if (const auto event = local.program.step(argument)) {
          local.client.see(*event);
          happening.events.push_back(*event);
        }
      }
    } catch (const InvariantViolation& violation) {
      complaints_.push_back(violation.what());
      return {.complaint = static_cast<std::uint32_t>(complaints_.size())};
    }
    if (happening.command || !happening.events.empty())
      outcome.happening = happenings_.intern(std::move(happening)).first + 1;
    outcome.local = intern(std::move(local));
    return outcome;
  }

  Id first_judge() override { return first_judge_; }
  Id judge(Id before, Id number) override {
    J after = judges_[before];
    const Happening& what = happenings_[number - 1];
    if (what.command) after.on_command(names_[what.index], *what.command, {});
    for (const Event& event : what.events) after.on_event(names_[what.index], event);
    return intern(std::move(after));
  }
  std::vector<Wrong> wrongs(Id judge) const override { return judges_[judge].wrong(); }
  std::vector<Wrong> wrongs_at_end(Id judge, std::span<const Id> locals) const override {
    std::vector<Last<Client>> last;
    for (const Id id : locals) last.push_back({names_[locals_[id].index], true, &locals_[id].client});
    return judges_[judge].at_end(last);
  }
  std::string outcome_of(Id judge, std::span<const Id>) const override {
    if constexpr (requires { judges_[judge].outcome(); }) return judges_[judge].outcome();
    return {};
  }
  std::string complaint(std::uint32_t number) const override { return complaints_[number - 1]; }
  std::map<std::string, bool> sometimes() const override {
    std::map<std::string, bool> all;
    std::uint32_t bit = 0;
    for (const std::string_view what : J::sometimes()) all[std::string(what)] = (seen_ >> bit++ & 1) != 0;
    return all;
  }
  std::uint64_t bytes() const override {
    return locals_.bytes() + judges_.bytes() + happenings_.bytes() + facts_.bytes() + nexts_.bytes();
  }
  std::pair<std::string, std::string> describe_command(Id local) const override {
    const auto command = locals_[local].client.next();
    if (!command) return {};
    return std::visit(
        []<class A>(const A& which) { return std::pair(std::string(type_name<A>), describe_json(which)); },
        *command);
  }

 private:
  struct Local {
    std::uint32_t index = 0;
    bool writing = false;
    P program = {};
    Client client = {};
    bool operator==(const Local&) const = default;
  };
  struct Happening {
    std::uint32_t index = 0;
    std::optional<Command> command = {};
    std::vector<Event> events = {};
    bool operator==(const Happening&) const = default;
  };

  Command speak(Local& local) {
    const auto command = local.client.next();
    ensure(command.has_value(), "a client that speaks has something to say");
    local.client.issue(*command);
    if (for_ever_) {
      local.client.wishes = 1;
      local.client.requests = 0;
    }
    std::visit([&](const auto& which) { local.program.on_command(which); }, *command);
    return *command;
  }

  Id intern(Local local) {
    const auto [id, fresh] = locals_.intern(std::move(local));
    if (!fresh) return id;
    const Local& mine = locals_[id];
    const auto access = mine.program.next();
    nexts_.push_back({access.value_or(Access{}), !access, mine.writing});
    const auto command = access ? std::nullopt : mine.client.next();
    const Face face = {.wants = command.has_value(),
                       .presses = command.has_value() && mine.client.holding(),
                       .content = mine.client.content() && !access,
                       .waiting = mine.client.phase == Client::Phase::waiting,
                       .holding = mine.client.holding()};
    const Fingerprint plain = fingerprint(mine);
    facts_.emplace_back(salted(1, plain.high, plain.low), face);
    return id;
  }
  Id intern(J judge) {
    const auto [id, fresh] = judges_.intern(std::move(judge));
    if (!fresh) return id;
    seen_ |= judges_[id].seen();
    judges_wrong_.push_back(judges_[id].wrong().empty() ? 0 : 1);
    const Fingerprint plain = fingerprint(judges_[id]);
    judge_prints_.push_back(salted(3, plain.high, plain.low));
    return id;
  }

  NodeSet all_;
  typename P::Setup setup_;
  std::uint32_t entries_;
  std::map<NodeId, std::uint32_t> entries_of_;
  bool for_ever_;
  std::vector<Register> registers_;
  std::vector<NodeId> names_;
  Interner<Local> locals_;
  Interner<J> judges_;
  Interner<Happening> happenings_;
  std::vector<std::string> complaints_;
  Id first_judge_ = 0;
  std::uint32_t seen_ = 0;
};

Report explore_registers(Programs& programs, Registers kind, const Options& options);

template <Program P, FamilyJudge J>
Report explore_program(const Options& options, const NodeSet& all, const typename P::Setup& setup,
                       Registers kind, const J& judge) {
  ProgramMachine<P, J> programs(all, setup, options, judge);
  return explore_registers(programs, kind, options);
}

}  // namespace conclave::check
