// The simulated world of shared memory: processes take turns at their instructions, as a seeded scheduler
// decides. One instruction takes one tick; thinking and holding are counted in ticks too. Same options, same
// run.
//
// Who waits here spins, so a deadlock does not show as silence. When nobody has entered for long, the world
// asks whether anybody ever would if all took turns: it goes round and round in a copy until somebody enters
// or the copy has come back to a state it was in. The latter is a deadlock, and ends the run as quiet.
#pragma once
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "sim/options.hpp"
#include "sim/register_stage.hpp"
#include "sim/schedule.hpp"

namespace conclave::sim {

template <Program P>
class RegisterWorld {
 public:
  using Setup = typename P::Setup;
  using Client = typename P::Spec::Client;

  RegisterWorld(const Options& options, const Setup& setup, Registers kind, Schedule schedule,
                trace::Observer* observer)
      : options_(options),
        stage_(NodeSet::range({1}, options.nodes), setup, kind, options.seed, observer),
        scheduler_(std::move(schedule), options.seed),
        processes_(options.nodes) {
    // A round of the slowest kind, everybody looking at everybody else, many times over.
    patience_ = 64ull * options.nodes * P::steps_alone(options.nodes, setup);
  }

  void set_header(trace::Header header) {
    header_ = std::move(header);
    header_.nodes = stage_.all();
  }

  Report run() {
    try {
      begin();
      run_steps();
    } catch (const InvariantViolation& violation) {
      report_.broken = violation.what();
    }
    return finish();
  }

  const RegisterMachine<P>& machine() const { return stage_.machine(); }

 private:
  struct Process {
    Client client = {};
    std::deque<std::uint64_t> holds = {};  // of scripted requests
    bool paused = false;
    bool asleep = true;        // thinking, holding, or wanting nothing
    bool woke_paused = false;  // it is time for the client to speak, but it stands still
  };
  struct Happening {
    bool action = false;      // else: a client wakes
    std::uint32_t index = 0;  // of the action, or of the process
  };

  void begin() {
    if (stage_.observer()) stage_.observer()->begin(header_);
    stage_.start(now_);
    if (options_.script) {
      actions_ = *options_.script;
      for (const Action& action : actions_) report_.window = std::max(report_.window, action.at);
    } else if (options_.faults.any()) {
      report_.window = fault_window(options_);
      actions_ = plan_faults(options_.faults, stage_.all(), report_.window, options_.seed);
    }
    for (std::uint32_t i = 0; i < actions_.size(); ++i)
      agenda_.emplace(actions_[i].at.count, Happening{true, i});
    if (options_.script) return;
    for (const std::uint32_t i : starters()) {
      for (std::uint32_t wish = 0; wish < options_.entries; ++wish) processes_[i].client.wish();
      plan_client(i);
    }
  }

  // Those that act by themselves.
  std::vector<std::uint32_t> starters() const {
    std::vector<std::uint32_t> some(stage_.size());
    std::iota(some.begin(), some.end(), 0);
    if (options_.starters == 0 || options_.starters >= some.size()) return some;
    const auto lot = [&](std::uint32_t i) { return Draw(options_.seed, Purpose::plan, 7, i).bits(); };
    std::ranges::sort(some, {}, lot);
    some.resize(options_.starters);
    std::ranges::sort(some);
    return some;
  }

  void run_steps() {
    while (report_.steps < options_.step_limit) {
      while (!agenda_.empty() && agenda_.begin()->first <= now_.count) {
        const Happening happening = agenda_.begin()->second;
        agenda_.erase(agenda_.begin());
        happen(happening);
      }
      if (runnable_.empty()) {
        if (agenda_.empty()) return;
        now_ = {agenda_.begin()->first};
        continue;
      }
      step(scheduler_.pick(runnable_));
      now_ = now_ + Ticks{1};
      if (++fruitless_ >= patience_) {
        fruitless_ = 0;
        if (agenda_.empty() && deadlocked()) {
          stuck_ = true;
          return;
        }
      }
    }
  }

  void happen(const Happening& happening) {
    if (!happening.action) return wake(happening.index);
    const Action& action = actions_[happening.index];
    const std::uint32_t i = action.node.value - 1;
    const bool known = action.what == Action::What::wish || action.what == Action::What::pause ||
                       action.what == Action::What::resume;
    if (!known || i >= processes_.size()) return;  // links and clocks do not exist here
    if (options_.record && action.what != Action::What::wish) report_.done.push_back(action);
    Process& process = processes_[i];
    switch (action.what) {
      case Action::What::wish:
        process.holds.push_back(static_cast<std::uint64_t>(std::max<std::int64_t>(0, action.amount)));
        process.client.wish();
        if (process.asleep && !process.client.holding() && stage_.machine().idle(i)) plan_client(i);
        return;
      case Action::What::pause: return pause(i);
      default: return resume(i);
    }
  }

  void pause(std::uint32_t i) {
    if (std::exchange(processes_[i].paused, true)) return;
    std::erase(runnable_, i);
    stage_.befall(trace::Kind::pause, i, now_);
  }

  void resume(std::uint32_t i) {
    Process& process = processes_[i];
    if (!std::exchange(process.paused, false)) return;
    stage_.befall(trace::Kind::resume, i, now_);
    if (!process.asleep) runnable_.push_back(i);
    if (std::exchange(process.woke_paused, false)) wake(i);
  }

  void plan_client(std::uint32_t i) {
    Process& process = processes_[i];
    Client& client = process.client;
    if (!client.next()) return;
    std::uint64_t pause = 0;
    if (client.holding()) {
      if (process.holds.empty()) {
        pause = hold_of(i, client.requests);
      } else {
        pause = process.holds.front();
        process.holds.pop_front();
      }
    } else if (!options_.script) {
      pause = options_.think.sample(Draw(options_.seed, Purpose::think, i, client.requests));
    }
    agenda_.emplace(now_.count + pause, Happening{false, i});
  }

  std::uint64_t hold_of(std::uint32_t i, std::uint32_t request) const {
    return options_.hold.sample(Draw(options_.seed, Purpose::hold, i, request));
  }

  void wake(std::uint32_t i) {
    Process& process = processes_[i];
    if (process.paused) {
      process.woke_paused = true;
      return;
    }
    const auto command = process.client.next();
    if (!command || !process.asleep) return;
    if (options_.record && !process.client.holding())
      report_.done.push_back({.what = Action::What::wish,
                              .at = now_,
                              .node = stage_.id(i),
                              .amount = static_cast<std::int64_t>(hold_of(i, process.client.requests + 1))});
    process.client.issue(*command);
    stage_.command(i, now_, *command);
    process.asleep = false;
    runnable_.push_back(i);
    fruitless_ = 0;
  }

  void step(std::uint32_t i) {
    ++report_.steps;
    Process& process = processes_[i];
    if (const auto event = stage_.step(i, now_)) {
      process.client.see(*event);
      fruitless_ = 0;
    }
    if (!stage_.machine().idle(i)) return;
    process.asleep = true;
    std::erase(runnable_, i);
    plan_client(i);
  }

  bool deadlocked() const {
    RegisterMachine<P> runner = stage_.machine();
    for (std::size_t i = 0; i < runner.programs.size(); ++i) runner.flush(i);
    for (std::size_t i = 0; i < runner.programs.size(); ++i) {
      if (runner.writing[i] && enters(runner, i)) return false;
    }
    // Brent's cycle detection: the mark moves up at powers of two.
    RegisterMachine<P> mark = runner;
    std::uint64_t power = 1;
    for (std::uint64_t round = 1, lap = 0; round <= patience_; ++round) {
      for (std::size_t i = 0; i < runner.programs.size(); ++i) {
        if (!runner.idle(i) && enters(runner, i)) return false;
      }
      if (runner == mark) return true;
      if (++lap == power) {
        mark = runner;
        power *= 2;
        lap = 0;
      }
    }
    return false;
  }

  // One instruction, of which a write may already have begun; whether it lets the process in.
  static bool enters(RegisterMachine<P>& machine, std::size_t i) {
    if (machine.writing[i]) {
      machine.writing[i] = 0;
      --machine.writers[machine.programs[i].next()->place];
    }
    machine.step(i);
    return machine.programs[i].inside();
  }

  Report finish() {
    report_.end = now_;
    report_.quiet = report_.broken.empty() && (stuck_ || (runnable_.empty() && agenda_.empty()));
    report_.content =
        std::ranges::all_of(processes_, [](const Process& process) { return process.client.content(); });
    report_.sent["read"] = stage_.reads();
    report_.sent["write"] = stage_.writes();
    if (stage_.observer())
      stage_.observer()->end({.at = now_, .quiet = report_.quiet, .broken = report_.broken});
    return std::move(report_);
  }

  Options options_;
  RegisterStage<P> stage_;
  Scheduler scheduler_;
  trace::Header header_;
  Ticks now_ = {};
  std::vector<Process> processes_;
  std::vector<std::uint32_t> runnable_;
  std::multimap<std::uint64_t, Happening> agenda_;  // by time; at one time, in the order of planning
  Script actions_;
  std::uint64_t patience_ = 0;
  std::uint64_t fruitless_ = 0;  // instructions since somebody last asked, passed the doorway or entered
  bool stuck_ = false;
  Report report_;
};

}  // namespace conclave::sim
