// Vectors on logical clocks, cuts and checkpoints.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "accept/causality_diagram.hpp"
#include "accept/families.hpp"
#include "causality/lattice.hpp"

namespace conclave::accept {
namespace {

using causality::Cut;
using causality::DenseClock;
using causality::Diagram;
using causality::EventId;
using causality::History;

// What a diagram says, under the names that vectors use: "C_a", "a_lt_b", "path_2_1_to_3_6".
class Answers {
 public:
  Answers(const Vector& vector, const DrawnDiagram& drawn)
      : vector_(vector),
        drawn_(drawn),
        history_(drawn.diagram.history()),
        step_(number_or(vector.config, "d", 1)),
        scalar_(drawn.diagram.scalar_times(step_)),
        vector_times_(drawn.diagram.vector_times(static_cast<std::uint32_t>(step_))) {}

  // None: no such question is known.
  std::optional<Json> answer(const std::string& key) const {
    if (key == "C") return by_event([&](EventId event) { return Json(scalar(event)); });
    if (key == "V") return by_event([&](EventId event) { return Json(time(event).counts); });
    if (key == "predecessors")
      return by_event([&](EventId event) { return Json(history_.clock(event).predecessors()); });
    if (key == "concurrent_pairs") return concurrent_pairs();
    if (key == "concurrent_pairs_count") return history_.concurrent_pairs();
    if (key == "happened_before")
      return those_that_hold(key, [&](EventId a, EventId b) { return before(a, b); });
    if (key == "not_happened_before")
      return those_that_hold(key, [&](EventId a, EventId b) { return !before(a, b); });
    if (key == "concurrent")
      return those_that_hold(key, [&](EventId a, EventId b) { return concurrent(a, b); });
    if (key == "strongly_consistent") return strongly_consistent();
    if (key == "total_order") return total_order();
    if (key == "longest_chain") return history_.longest_chain();
    if (key == "consistent_cuts_including_empty" || key == "consistent_cuts") return number_of_cuts();
    if (key == "consistent") return consistent_cuts();
    return about_names(key);
  }

 private:
  std::uint64_t scalar(EventId event) const { return scalar_[event.process][event.number - 1]; }
  const DenseClock& time(EventId event) const { return vector_times_[event.process][event.number - 1]; }
  bool before(EventId a, EventId b) const { return time(a).before(time(b)); }
  bool concurrent(EventId a, EventId b) const { return time(a).concurrent(time(b)); }
  std::vector<EventId> events() const {
    std::vector<EventId> all = drawn_.diagram.in_causal_order();
    std::ranges::sort(all);
    return all;
  }

  template <class Value>
  Json by_event(Value value) const {
    Json object = Json::object();
    for (const EventId event : events()) object[drawn_.text(event)] = value(event);
    return object;
  }

  Json concurrent_pairs() const {
    Json pairs = Json::array();
    const auto all = events();
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = i + 1; j < all.size(); ++j) {
        if (concurrent(all[i], all[j])) pairs.push_back({drawn_.text(all[i]), drawn_.text(all[j])});
      }
    }
    return in_the_order_of(vector_.expected["concurrent_pairs"], std::move(pairs));
  }

  // Vectors list some of the pairs of which it is true, not all.
  template <class Relation>
  Json those_that_hold(const std::string& key, Relation holds) const {
    Json pairs = Json::array();
    for (const Json& pair : vector_.expected[key]) {
      if (holds(drawn_.event(pair.at(0)), drawn_.event(pair.at(1)))) pairs.push_back(pair);
    }
    return pairs;
  }

  // Scalar clocks are if no two events have times in an order that causality does not give them.
  Json strongly_consistent() const {
    const bool by_vectors = vector_.algorithm == "vector_clock";
    for (const EventId a : events()) {
      for (const EventId b : events()) {
        const bool earlier = by_vectors ? time(a).before(time(b)) : scalar(a) < scalar(b);
        if (earlier && !drawn_.diagram.reaches(a, b)) return false;
      }
    }
    return true;
  }

  Json total_order() const {
    auto all = events();
    std::ranges::stable_sort(all, {}, [&](EventId event) { return std::pair(scalar(event), event.process); });
    Json order = Json::array();
    for (const EventId event : all) order.push_back(drawn_.text(event));
    return order;
  }

  Json number_of_cuts() const {
    const auto count = causality::Lattice(history_).count();
    if (!count) throw CannotPlay("too many consistent cuts to count");
    return *count;
  }

  // By messages and by vector times; both must agree.
  bool is_consistent(const Cut& cut) const {
    const bool by_messages = causality::offending_messages(drawn_.diagram, cut).empty();
    if (by_messages != causality::consistent(history_, cut))
      throw CannotPlay("messages and vector times disagree about a cut");
    return by_messages;
  }

  Json consistent_cuts() const {
    if (!vector_.inputs.contains("cuts")) {  // of clocks: e → f implies C(e) < C(f)
      for (const EventId a : events()) {
        for (const EventId b : events()) {
          if (drawn_.diagram.reaches(a, b) && scalar(a) >= scalar(b)) return false;
        }
      }
      return true;
    }
    return each_of(vector_.inputs["cuts"],
                   [&](const Json& cut) { return Json(is_consistent(drawn_.cut(cut))); });
  }

  Json offending(const Cut& cut) const {
    Json messages = Json::array();
    for (const auto& message : causality::offending_messages(drawn_.diagram, cut))
      messages.push_back({drawn_.text(message.sent), drawn_.text(message.received)});
    return messages;
  }

  Json path(EventId a, EventId b) const {
    Json events = Json::array();
    for (const causality::Stretch& stretch : history_.path(a, b)) {
      for (std::uint32_t number = stretch.first; number <= stretch.last; ++number)
        events.push_back(drawn_.text({stretch.process, number}));
    }
    return events;
  }

  std::optional<Json> about_names(const std::string& key) const {
    const auto rest_after = [&](std::string_view prefix) -> std::optional<std::string> {
      if (!key.starts_with(prefix)) return std::nullopt;
      return key.substr(prefix.size());
    };
    if (const auto rest = rest_after("path_")) {
      const std::size_t to = rest->find("_to_");
      if (to == std::string::npos) return std::nullopt;
      return path(named(rest->substr(0, to)), named(rest->substr(to + 4)));
    }
    if (const auto rest = rest_after("longest_chain_before_")) return history_.chain(named(*rest)) - 1;
    if (const auto rest = rest_after("predecessors_of_")) return history_.clock(named(*rest)).predecessors();
    if (const auto rest = rest_after("C_")) return scalar(named(*rest));
    if (const auto rest = rest_after("V_")) {
      if (drawn_.find(*rest)) return time(named(*rest)).counts;
      const std::size_t entry = rest->rfind('_');
      if (entry == std::string::npos) return std::nullopt;
      const EventId event = named(rest->substr(0, entry));
      return time(event)[drawn_.process(rest->substr(entry + 1))];
    }
    if (auto found = about_pairs(key)) return found;
    return about_cuts(key);
  }

  std::optional<Json> about_pairs(const std::string& key) const {
    const auto split = [&](std::string_view by) -> std::optional<std::pair<EventId, EventId>> {
      const std::size_t at = key.find(by);
      if (at == std::string::npos) return std::nullopt;
      return std::pair(named(key.substr(0, at)), named(key.substr(at + by.size())));
    };
    if (const auto pair = split("_happened_before_"))
      return drawn_.diagram.reaches(pair->first, pair->second);
    if (const auto pair = split("_concurrent_")) return concurrent(pair->first, pair->second);
    if (const auto pair = split("_lt_"))
      return vector_.algorithm == "lamport_clock" ? scalar(pair->first) < scalar(pair->second)
                                                  : before(pair->first, pair->second);
    return std::nullopt;
  }

  std::optional<Json> about_cuts(const std::string& key) const {
    if (!vector_.inputs.contains("cuts")) return std::nullopt;
    for (const auto& [name, value] : vector_.inputs["cuts"].items()) {
      if (!key.starts_with(name + "_")) continue;
      const Cut cut = drawn_.cut(value);
      const std::string what = key.substr(name.size() + 1);
      if (what == "offending_messages") return in_the_order_of(vector_.expected[key], offending(cut));
      if (what == "consistent") return is_consistent(cut);
      if (what.starts_with("least_consistent")) return causality::least_consistent_containing(history_, cut);
      if (what.starts_with("greatest_consistent"))
        return causality::greatest_consistent_inside(history_, cut);
    }
    return std::nullopt;
  }

  EventId named(const std::string& name) const {
    if (const auto event = drawn_.find(name)) return *event;
    throw CannotPlay(fmt::format("'{}' names no event", name));
  }

  const Vector& vector_;
  const DrawnDiagram& drawn_;
  History history_;
  std::uint64_t step_;
  std::vector<std::vector<std::uint64_t>> scalar_;
  std::vector<std::vector<DenseClock>> vector_times_;
};

// Where two events may lie whose vector times are given: on which processes, and which of their events.
// Two events of different processes know of each other's process no more than happened there; the later of
// two of the same process, or of two that are related, knows all that the earlier knew.
Json possible_placements(const Vector& vector) {
  const auto a = DenseClock(vector.inputs.at("V_a").get<std::vector<std::uint32_t>>());
  const auto b = DenseClock(vector.inputs.at("V_b").get<std::vector<std::uint32_t>>());
  Json placements = Json::array();
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (a[i] == 0 || b[j] == 0) continue;
      // Whoever knows an event knows what it knew; on one process the later event knows the earlier.
      const bool a_known = b[i] >= a[i];
      const bool b_known = a[j] >= b[j];
      const bool fits = i == j && a[i] == b[j]
                            ? a == b
                            : (a_known ? a.before(b) : true) && (b_known ? b.before(a) : true) &&
                                  (i != j || a_known || b_known);
      if (fits) placements.push_back({fmt::format("{}.{}", i + 1, a[i]), fmt::format("{}.{}", j + 1, b[j])});
    }
  }
  return placements;
}

Json pairwise(const Vector& vector) {
  Json inconsistent = Json::array();
  Json consistent = Json::array();
  for (const Json& pair : vector.inputs["pairs"]) {
    const auto i = pair.at("i").get<std::size_t>();
    const auto j = pair.at("j").get<std::size_t>();
    const auto of_i = DenseClock(pair.at("Vi").get<std::vector<std::uint32_t>>());
    const auto of_j = DenseClock(pair.at("Vj").get<std::vector<std::uint32_t>>());
    if (i < 1 || j < 1 || std::max(i, j) > std::min(of_i.size(), of_j.size()))
      throw CannotPlay("a pair names a process that its vectors do not have");
    const bool share = causality::share_a_frontier(i - 1, of_i, j - 1, of_j);
    consistent.push_back(share);
    inconsistent.push_back(!share);
  }
  return {{"inconsistent", inconsistent}, {"consistent", consistent}};
}

Json answers(const Vector& vector) {
  if (vector.inputs.contains("pairs")) return pairwise(vector);
  if (vector.inputs.contains("V_a") && !vector.config.contains("messages"))
    return {{"possible_placements", possible_placements(vector)}};
  const DrawnDiagram drawn(vector.config);
  const Answers about(vector, drawn);
  Json got = Json::object();
  for (const auto& [key, expected] : vector.expected.items()) {
    if (auto answer = about.answer(key)) got[key] = std::move(*answer);
  }
  return got;
}

}  // namespace

std::optional<Result> run_causality(const Vector& vector) {
  const bool clocks = vector.algorithm == "lamport_clock" || vector.algorithm == "vector_clock" ||
                      vector.algorithm == "consistent_cut";
  if (vector.algorithm.starts_with("checkpoint") || vector.algorithm == "consistent_checkpoint" ||
      vector.algorithm == "recovery_line" || (clocks && vector.name.starts_with("checkpoint")))
    return answered(vector, [&] { return checkpoint_answers(vector); });
  if (!clocks) return std::nullopt;
  return answered(vector, [&] { return answers(vector); });
}

}  // namespace conclave::accept
