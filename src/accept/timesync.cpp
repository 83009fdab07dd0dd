#include <fmt/format.h>

#include <cmath>

#include "accept/families.hpp"
#include "protocols/timesync/clock_compensation.hpp"
#include "protocols/timesync/fault_tolerant_average.hpp"
#include "protocols/timesync/physical_clock.hpp"
#include "protocols/timesync/round_trip.hpp"

namespace conclave::accept {
namespace {

using timesync::Line;
using timesync::Rational;

// Whole numbers are numbers, fractions are "p/q".
Json shown(const Rational& value) {
  if (value.whole()) return value.numerator;
  return value.to_string();
}

Rational rational(const Json& value, const std::string& name) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const auto parsed = Rational::parse(text);
  if (!parsed) throw CannotPlay(fmt::format("{} = {} is no number", name, text));
  return *parsed;
}

Rational input(const Vector& vector, const std::string& name) {
  if (vector.inputs.contains(name)) return rational(vector.inputs[name], name);
  if (vector.config.contains(name)) return rational(vector.config[name], name);
  throw CannotPlay(fmt::format("\"{}\" is missing from the inputs", name));
}
Rational input_or(const Vector& vector, const std::string& name, const Rational& otherwise) {
  const bool given = vector.inputs.contains(name) || vector.config.contains(name);
  return given ? input(vector, name) : otherwise;
}

// As many decimal places as the vector states: its figures are rounded, and so must ours be.
Json rounded_like(const Json& stated, double value) {
  const std::string text = stated.dump();
  const std::size_t point = text.find('.');
  const auto places = static_cast<int>(point == std::string::npos ? 0 : text.size() - point - 1);
  const double scale = std::pow(10.0, places);
  return std::round(value * scale) / scale;
}

// In whole ticks where the numbers are whole, as a clock that runs would: whether it is refused.
bool refused(const Rational& h, const Rational& rl, const Rational& t, const Rational& n) {
  if (h.whole() && rl.whole() && t.whole() && n.whole())
    return !timesync::Compensation::adjust(h.numerator, rl.numerator, t.numerator, n.numerator);
  return n <= Rational{0} || n <= rl - t;
}

// The values at the readings of H that the vector lists.
Json values_of(const Line& line, const Line& after, const Rational& end, const Json& listed) {
  Json values = Json::array();
  for (const Json& pair : listed) {
    if (!pair.is_array() || pair.empty()) throw CannotPlay("\"S\" lists pairs of H and S(H)");
    const Rational at = rational(pair[0], "H");
    values.push_back({pair[0], shown((at > end ? after : line).at(at))});
  }
  return values;
}

Json compensation(const Vector& vector) {
  const Rational h = input(vector, "h");
  const Rational rl = input(vector, "Rl");
  const Rational t = input(vector, "T");
  const Rational n = input(vector, "N");
  if (n == Rational{0}) return {{"must_reject", true}};
  const bool literal = vector.variant == "literal-eq5";
  const Line as_printed = timesync::literal_line(h, rl, t, n);
  const Line corrected = timesync::compensation_line(h, rl, t, n);
  const Line line = literal ? as_printed : corrected;
  const Line after = timesync::line_after(h, t);
  return {{"a", shown(line.a)},
          {"b", shown(line.b)},
          {"rate", shown(line.rate())},
          {"S", values_of(line, after, h + n, vector.expected.value("S", Json::array()))},
          {"S_at_h", shown(line.at(h))},
          {"S_at_h_plus_N", shown(line.at(h + n))},
          {"S_at_end_equals_T_plus_N", shown(line.at(h + n))},
          {"monotonic", line.monotonic()},
          {"after_end", {{"a", shown(after.a)}, {"b", shown(after.b)}, {"rate", shown(after.rate())}}},
          {"must_reject", refused(h, rl, t, n)},
          {"a_from_eq5", shown(as_printed.a)},
          {"a_from_eq6", shown(corrected.a)}};
}

Json physical_clock(const Vector& vector) {
  Json got;
  for (const timesync::TimeSource& source : timesync::time_sources)
    got[std::string(source.name)] = source.accuracy_ms.approximate();
  got["oscillations_per_second"] = timesync::caesium_oscillations_per_second;
  const bool drifts = vector.inputs.contains("rate") || vector.inputs.contains("drift");
  if (!drifts) return got;
  const Rational drift = input(vector, vector.inputs.contains("rate") ? "rate" : "drift");
  if (drift <= Rational{0}) throw CannotPlay("a drift is positive");
  const Rational seconds = timesync::seconds_per_second_of_error(drift);
  got["seconds_per_second_of_error"] = shown(seconds);
  const std::pair<const char*, std::int64_t> units[] = {
      {"hours", 3'600}, {"days", timesync::seconds_per_day}, {"years", timesync::seconds_per_year}};
  for (const auto& [unit, length] : units) {
    for (const auto& [key, stated] : vector.expected.items()) {
      if (key.starts_with(unit))
        got[key] = rounded_like(stated, seconds.approximate() / static_cast<double>(length));
    }
  }
  return got;
}

Json cristian(const Vector& vector) {
  const Rational t0 = input(vector, "T0");
  const Rational t1 = input(vector, "T1");
  const Rational c_utc = input(vector, "C_utc");
  const auto mentions = [&](const Json& where, std::initializer_list<const char*> names) {
    return std::ranges::any_of(names, [&](const char* name) { return where.contains(name); });
  };
  // The first approximation is all there is to compute where nothing is said of the way.
  const bool first = vector.variant == "first-approximation" ||
                     (!mentions(vector.inputs, {"I", "min"}) &&
                      !mentions(vector.expected, {"one_way", "error_bound", "target"}));
  const auto estimate =
      timesync::exact_estimate(t0, t1, c_utc, input_or(vector, "I", {0}), input_or(vector, "min", {0}));
  const Rational target = first ? c_utc : estimate.time;
  const Rational local = input_or(vector, "local_at_T1", t1);
  const Rational h = input_or(vector, "H_at_T1", t1);
  const bool ahead = target < local;  // our clock, and it must not be set back
  Json got = {{"one_way", shown(estimate.one_way)},
              {"error_bound", shown(estimate.error)},
              {"target", shown(target)},
              {"step_back_forbidden", ahead},
              {"new_clock", shown(ahead ? local : target)},
              {"round_trip", shown(t1 - t0)}};
  const char* const interval =
      vector.config.contains("slew_N") || vector.inputs.contains("slew_N") ? "slew_N" : "N";
  const Rational n = input_or(vector, interval, {0});
  if (n > Rational{0}) {
    const Line line = timesync::compensation_line(h, local, target, n);
    got.update({{"a", shown(line.a)},
                {"b", shown(line.b)},
                {"rate", shown(line.rate())},
                {"monotonic", line.monotonic()},
                {"must_reject", refused(h, local, target, n)},
                {"clock_after_N_ticks", shown(line.at(h + n))}});
  }
  return got;
}

// Clocks as a list, the coordinator first, or by id with `coordinator` naming its own; round trips likewise.
Json berkeley(const Vector& vector) {
  std::map<NodeId, Rational> clocks;
  std::map<NodeId, Rational> trips;
  const auto collect = [&](const char* name, std::map<NodeId, Rational>& into) {
    if (!vector.inputs.contains(name)) return;
    std::uint32_t position = 0;
    for (const auto& [key, value] : vector.inputs[name].items()) {
      const bool by_id = vector.inputs[name].is_object();
      into[{by_id ? static_cast<std::uint32_t>(std::stoul(key)) : position}] = rational(value, name);
      ++position;
    }
  };
  collect("clocks", clocks);
  collect("round_trips", trips);
  if (clocks.empty()) throw CannotPlay("\"clocks\" is missing from the inputs");
  const auto named = [&](const char* name) {
    return vector.inputs.contains(name) || vector.config.contains(name);
  };
  const char* const role = named("master") ? "master" : "coordinator";
  const NodeId master = {
      static_cast<std::uint32_t>(input_or(vector, role, {clocks.begin()->first.value}).floor())};
  const bool limited = named("max_round_trip");
  std::vector<timesync::MeasuredClock> measured;
  NodeSet discarded;
  std::map<NodeId, Rational> corrected;
  for (const auto& [node, time] : clocks) {
    const Rational trip = trips.contains(node) ? trips[node] : Rational{0};
    if (limited && trip > input(vector, "max_round_trip")) {
      discarded.insert(node);
      continue;
    }
    corrected[node] = time + trip / Rational{2};
    measured.push_back({.node = node, .difference = corrected[node].floor(), .own = node == master});
  }
  const std::int64_t gamma = input_or(vector, "gamma", {INT64_MAX}).floor();
  const auto average = timesync::fault_tolerant_average(measured, gamma);
  Rational sum = {};
  for (NodeId node : average.counted) sum = sum + corrected[node];
  const Rational mean = sum / Rational{static_cast<std::int64_t>(average.counted.size())};
  const bool as_list = vector.inputs["clocks"].is_array();
  Json offsets = as_list ? Json::array() : Json::object();
  for (const auto& [node, time] : corrected) {
    if (!average.counted.contains(node)) discarded.insert(node);
    if (as_list) {
      offsets.push_back(shown(mean - time));
    } else {
      offsets[std::to_string(node.value)] = shown(mean - time);
    }
  }
  Json out = Json::array();
  for (NodeId node : discarded) out.push_back(node.value);
  return {{"average", shown(mean)}, {"mean", shown(mean)}, {"offsets", offsets}, {"discarded", out}};
}

}  // namespace

std::optional<Result> run_timesync(const Vector& vector) {
  const std::pair<const char*, Json (*)(const Vector&)> known[] = {{"clock_compensation", compensation},
                                                                   {"physical_clock", physical_clock},
                                                                   {"cristian", cristian},
                                                                   {"berkeley", berkeley}};
  for (const auto& [algorithm, compute] : known) {
    if (vector.algorithm == algorithm)
      return answered(vector, [&, compute = compute] { return compute(vector); });
  }
  return std::nullopt;
}

}  // namespace conclave::accept
