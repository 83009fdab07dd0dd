#include "ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace conclave::broken {
namespace {

using catalogue::CheckPlan;
using catalogue::Entry;

std::uint32_t number(const std::string& text) {
  std::size_t read = 0;
  const unsigned long value = std::stoul(text, &read);
  if (read != text.size() || value > 1000) throw std::invalid_argument(text + " is no small number");
  return static_cast<std::uint32_t>(value);
}

std::vector<std::uint32_t> numbers(const std::string& text) {
  std::vector<std::uint32_t> all;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one, ',');) all.push_back(number(one));
  return all;
}

// --- In words ----------------------------------------------------------------------------------------------

std::string words_for(const CheckPlan& plan, const Entry& entry) {
  const check::Options& options = plan.options;
  std::string words = fmt::format("N={}", options.nodes);
  if (options.entries_of.empty()) {
    words += fmt::format(" entries={}", options.entries);
  } else {
    std::vector<std::uint32_t> each;
    for (const NodeId node : plan.setting.members) {
      const auto some = options.entries_of.find(node);
      each.push_back(some == options.entries_of.end() ? options.entries : some->second);
    }
    words += fmt::format(" entries={}", fmt::join(each, ","));
  }
  const check::Budget& budget = options.budget;
  const auto say = [&](const char* name, std::uint32_t count) {
    if (count > 0) words += fmt::format(" {}={}", name, count);
  };
  say("crashes", budget.crashes);
  say("recoveries", budget.recoveries);
  say("losses", budget.losses);
  say("duplications", budget.duplications);
  say("timeouts", budget.timeouts);
  say("partitions", budget.partitions);
  say("tells", budget.tells);
  const std::string usual = catalogue::usual_check(entry).setting.variant;
  if (plan.setting.variant != usual) words += " " + plan.setting.variant;
  if (options.fifo) words += *options.fifo ? " fifo" : " unordered";
  if (plan.setting.seed != 1) words += fmt::format(" seed={}", plan.setting.seed);
  return words;
}

// --- As named ----------------------------------------------------------------------------------------------

std::uint8_t* budget_field(check::Budget& budget, const std::string& name) {
  if (name == "crashes") return &budget.crashes;
  if (name == "recoveries") return &budget.recoveries;
  if (name == "losses") return &budget.losses;
  if (name == "duplications") return &budget.duplications;
  if (name == "timeouts") return &budget.timeouts;
  if (name == "partitions") return &budget.partitions;
  if (name == "tells") return &budget.tells;
  return nullptr;
}

void set_entries(CheckPlan& plan, const std::string& value) {
  const auto each = numbers(value);
  plan.options.entries_of.clear();
  if (each.size() == 1) {
    plan.options.entries = each.front();
    return;
  }
  std::size_t i = 0;
  for (const NodeId node : plan.setting.members) plan.options.entries_of[node] = each.at(i++ % each.size());
}

class Reader {
 public:
  explicit Reader(const Entry& entry) : entry_(entry) {}

  std::vector<Configuration> read(const std::string& text) {
    begin(catalogue::usual_check(entry_));
    std::istringstream in(text);
    for (std::string word; in >> word;) {
      if (word.starts_with("messages<=")) {
        most_messages_ = number(word.substr(10));
        plan_.options.count_messages = true;
        continue;
      }
      const auto equals = word.find('=', word.starts_with("set:") ? 4 : 0);
      if (equals == std::string::npos) throw std::invalid_argument("'" + word + "' is not NAME=VALUE");
      set(word.substr(0, equals), word.substr(equals + 1));
    }
    std::vector<Configuration> all;
    for (std::uint32_t i = 0; i < seeds_; ++i) {
      all.push_back({plan_, most_messages_, words_for(plan_, entry_)});
      ++plan_.setting.seed;
    }
    return all;
  }

 private:
  void begin(CheckPlan usual) {
    plan_ = std::move(usual);
    plan_.options.budget = {};
  }
  void set(const std::string& name, const std::string& value) {
    if (std::uint8_t* field = budget_field(plan_.options.budget, name)) {
      *field = static_cast<std::uint8_t>(number(value));
    } else if (name == "nodes") {
      begin(catalogue::usual_check(entry_, number(value)));
    } else if (name == "entries") {
      set_entries(plan_, value);
    } else if (name == "variant") {
      plan_.setting.variant = value;
    } else if (name == "opening") {
      for (const std::uint32_t node : numbers(value)) plan_.options.opening.push_back({node});
    } else if (name == "seed") {
      plan_.setting.seed = number(value);
    } else if (name == "seeds") {
      seeds_ = number(value);
    } else if (name == "fifo") {
      plan_.options.fifo = number(value) > 0;
    } else if (name == "starvation") {
      plan_.options.starvation = number(value) > 0;
    } else if (name.starts_with("set:")) {
      plan_.setting.parameters[name.substr(4)] = value;
    } else {
      throw std::invalid_argument("a twin cannot need '" + name + "'");
    }
  }

  const Entry& entry_;
  CheckPlan plan_;
  std::uint32_t seeds_ = 1;
  std::optional<std::uint64_t> most_messages_;
};

// --- By the ladder -----------------------------------------------------------------------------------------

std::vector<check::Budget> budgets(const Entry& entry, const check::Budget& usual) {
  std::vector<check::Budget> all = {{.timeouts = usual.timeouts}};
  const auto add = [&](const check::Budget& budget) {
    if (std::ranges::find(all, budget) == all.end()) all.push_back(budget);
  };
  check::Budget more = usual;
  if (entry.claims_property("EM3")) more.tells = 1;
  add(usual);
  add(more);
  if (entry.assumes.crashes != Crashes::none) more.crashes = std::max<std::uint8_t>(more.crashes, 1);
  if (entry.assumes.crashes == Crashes::recover) more.recoveries = std::max<std::uint8_t>(more.recoveries, 1);
  add(more);
  if (entry.assumes.links == Links::lossy) {
    if (entry.assumes.timing == Timing::asynchronous) ++more.timeouts;
    add(more);
    more.duplications = 1;
    add(more);
  }
  return all;
}

std::vector<Configuration> ladder(const Entry& entry) {
  struct Size {
    std::uint32_t nodes, entries;
  };
  std::vector<Configuration> all;
  for (const Size size :
       {Size{2, 1}, Size{2, 2}, Size{3, 1}, Size{2, 3}, Size{3, 2}, Size{4, 1}, Size{3, 3}}) {
    if (size.nodes < entry.least_nodes) continue;
    CheckPlan plan = catalogue::usual_check(entry, size.nodes);
    plan.options.entries = size.entries;
    const check::Budget usual = plan.options.budget;
    for (const check::Budget& budget : budgets(entry, usual)) {
      plan.options.budget = budget;
      all.push_back({plan, std::nullopt, words_for(plan, entry)});
    }
  }
  return all;
}

}  // namespace

std::vector<Configuration> configurations(const Twin& twin) {
  return twin.needs.empty() ? ladder(twin.entry) : Reader(twin.entry).read(twin.needs);
}

}  // namespace conclave::broken
