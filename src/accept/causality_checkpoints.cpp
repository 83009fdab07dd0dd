#include <fmt/format.h>

#include <algorithm>

#include "accept/causality_diagram.hpp"
#include "causality/recovery.hpp"

namespace conclave::accept {
namespace {

using causality::Checkpoints;
using causality::Cut;
using causality::DenseClock;
using causality::EventId;
using causality::History;

bool is_vector(const Json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const Json& entry) { return entry.is_number_unsigned(); });
}

// A set given by the vector times of its checkpoints, the i-th of process i.
bool is_set_of_vectors(const Json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, is_vector) &&
         std::ranges::all_of(value, [&](const Json& time) { return time.size() == value.size(); });
}

bool fit_together(const Json& times) {
  std::vector<DenseClock> clocks;
  for (const Json& time : times) clocks.emplace_back(time.get<std::vector<std::uint32_t>>());
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    for (std::size_t j = i + 1; j < clocks.size(); ++j) {
      if (!causality::share_a_frontier(i, clocks[i], j, clocks[j])) return false;
    }
  }
  return true;
}

// What the vector gives under one of these names, in its inputs or its configuration.
const Json* given(const Vector& vector, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const Json* where : {&vector.inputs, &vector.config}) {
      if (where->contains(name)) return &(*where)[name];
    }
  }
  return nullptr;
}

const Json* candidate_sets(const Vector& vector) {
  return given(vector, {"sets", "candidates", "candidate_sets", "checkpoint_sets", "global_checkpoints",
                        "cuts", "lines"});
}

class CheckpointAnswers {
 public:
  explicit CheckpointAnswers(const Vector& vector)
      : vector_(vector), drawn_(vector.config), history_(drawn_.diagram.history()) {
    sets_ = candidate_sets(vector);
    saved_.resize(history_.processes());
    if (const Json* listed = given(vector, {"checkpoints"})) read_checkpoints(*listed);
    survivors_.resize(history_.processes());
    if (const Json* failed = given(vector, {"failed", "crashed"})) {
      survivors_.assign(survivors_.size(), true);
      const Json list = failed->is_array() ? *failed : Json::array({*failed});
      for (const Json& process : list)
        survivors_[drawn_.process(process.is_string() ? process.get<std::string>() : process.dump())] = false;
    }
  }

  std::optional<Json> answer(const std::string& key) const {
    const Json& sample = vector_.expected[key];
    if (key == "consistent" || key == "inconsistent") return judged(key == "consistent");
    if (key == "inconsistent_pairs" || key == "offending_pairs") return contradicting_pairs(sample);
    if (key == "offending_messages") return offending(sample);
    if (key == "recovery_line" || key == "latest_consistent" || key == "maximal" || key == "greatest")
      return drawn_.written_like(sample, line().line);
    if (key == "rolled_back" || key == "rollback" || key == "rollbacks" || key == "rolled_back_checkpoints")
      return drawn_.written_like(sample, line().rolled_back);
    if (key == "lost_events") return drawn_.written_like(sample, line().lost);
    if (key == "domino" || key == "domino_effect") return line().domino();
    if (key == "consistent_sets" || key == "consistent_global_checkpoints") return all_consistent(sample);
    if (key == "consistent_sets_count" || key == "count" || key == "number_of_consistent_sets")
      return chosen_from_listed().size();
    if (key == "useless" || key == "useless_checkpoints") return useless(sample);
    if (key == "V") return times();
    return std::nullopt;
  }

 private:
  // {"1": [2, 5]}, [[2, 5], [3]], ["1.2", "1.5", "2.3"], or named sets of one per process.
  void read_checkpoints(const Json& listed) {
    const auto add = [&](const Json& text) {
      const EventId event = drawn_.event(text);
      saved_[event.process].push_back(event.number);
    };
    const auto of_one_process = [&](const Json& list) {
      return std::ranges::all_of(list, [&](const Json& member) {
        return !member.is_string() || drawn_.event(member).process == drawn_.event(list.front()).process;
      });
    };
    std::uint32_t position = 0;
    for (const auto& [name, member] : listed.items()) {
      const bool by_process = listed.is_object() ? name.find_first_not_of("p0123456789") == std::string::npos
                                                 : !sets_ || sets_ != &listed;
      if (member.is_string()) {
        add(member);
      } else if (member.is_array() && by_process && of_one_process(member)) {
        for (const Json& checkpoint : member) {
          if (checkpoint.is_string()) {
            add(checkpoint);
          } else {
            saved_.at(listed.is_object() ? drawn_.process(name) : position)
                .push_back(checkpoint.get<std::uint32_t>());
          }
        }
      } else if (member.is_structured()) {
        sets_ = &listed;  // these are the sets to judge, and what they choose from
        const Cut cut = drawn_.cut(member);
        for (std::uint32_t process = 0; process < cut.size(); ++process)
          saved_[process].push_back(cut[process]);
      }
      ++position;
    }
    for (std::uint32_t process = 0; process < saved_.size(); ++process) {
      std::ranges::sort(saved_[process]);
      const auto doubled = std::ranges::unique(saved_[process]);
      saved_[process].erase(doubled.begin(), doubled.end());
      if (!saved_[process].empty() && saved_[process].back() > history_.events_of(process))
        throw CannotPlay(fmt::format("a checkpoint of process {} follows no event", process + 1));
    }
  }

  Json judged(bool consistent) const {
    if (!sets_) throw CannotPlay("no sets of checkpoints to judge");
    return each_of(*sets_, [&](const Json& set) {
      const bool fits =
          is_set_of_vectors(set) ? fit_together(set) : causality::consistent(history_, drawn_.cut(set));
      return Json(fits == consistent);
    });
  }

  Json pairs_of(const Cut& cut) const {
    Json pairs = Json::array();
    for (std::uint32_t i = 0; i < cut.size(); ++i) {
      for (std::uint32_t j = i + 1; j < cut.size(); ++j) {
        if (!causality::share_a_frontier(i, history_.clock({i, cut[i]}), j, history_.clock({j, cut[j]})))
          pairs.push_back({drawn_.text({i, cut[i]}), drawn_.text({j, cut[j]})});
      }
    }
    return pairs;
  }

  // One answer per set, or of the only set that is not consistent.
  template <class Answer>
  Json for_sets(const Json& sample, Answer answer) const {
    if (!sets_) throw CannotPlay("no sets of checkpoints to judge");
    if (sample.is_object()) {
      Json answers = Json::object();
      for (const auto& [name, member] : sample.items()) answers[name] = answer(drawn_.cut(sets_->at(name)));
      return answers;
    }
    return each_of(*sets_, [&](const Json& set) { return answer(drawn_.cut(set)); });
  }

  Json contradicting_pairs(const Json& sample) const {
    return for_sets(sample, [&](const Cut& cut) { return pairs_of(cut); });
  }

  Json offending(const Json& sample) const {
    return for_sets(sample, [&](const Cut& cut) {
      Json messages = Json::array();
      for (const auto& message : causality::offending_messages(drawn_.diagram, cut))
        messages.push_back({drawn_.text(message.sent), drawn_.text(message.received)});
      return messages;
    });
  }

  causality::RecoveryLine line() const { return causality::recovery_line(history_, saved_, survivors_); }

  // Initial states count only where they are listed.
  std::vector<Cut> chosen_from_listed() const {
    auto all = causality::consistent_global_checkpoints(history_, saved_);
    std::erase_if(all, [&](const Cut& cut) {
      for (std::uint32_t process = 0; process < cut.size(); ++process) {
        if (std::ranges::find(saved_[process], cut[process]) == saved_[process].end()) return true;
      }
      return false;
    });
    return all;
  }

  Json all_consistent(const Json& sample) const {
    Json sets = Json::array();
    for (const Cut& cut : chosen_from_listed())
      sets.push_back(drawn_.written_like(sample.empty() ? Json() : sample.front(), cut));
    return in_the_order_of(sample, std::move(sets));
  }

  // In no consistent global checkpoint at all, initial states included.
  Json useless(const Json& sample) const {
    const auto all = causality::consistent_global_checkpoints(history_, saved_);
    Json list = Json::array();
    for (std::uint32_t process = 0; process < saved_.size(); ++process) {
      for (const std::uint32_t number : saved_[process]) {
        if (std::ranges::none_of(all, [&](const Cut& cut) { return cut[process] == number; }))
          list.push_back(drawn_.text({process, number}));
      }
    }
    return in_the_order_of(sample, std::move(list));
  }

  Json times() const {
    Json object = Json::object();
    for (const auto& [name, expected] : vector_.expected["V"].items())
      object[name] = history_.clock(drawn_.event(name)).counts;
    return object;
  }

  const Vector& vector_;
  DrawnDiagram drawn_;
  History history_;
  const Json* sets_ = nullptr;
  Checkpoints saved_;
  std::vector<bool> survivors_;
};

}  // namespace

Json checkpoint_answers(const Vector& vector) {
  const CheckpointAnswers about(vector);
  Json got = Json::object();
  for (const auto& [key, expected] : vector.expected.items()) {
    if (auto answer = about.answer(key)) got[key] = std::move(*answer);
  }
  return got;
}

}  // namespace conclave::accept
