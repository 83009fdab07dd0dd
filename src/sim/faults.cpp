#include "sim/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sim/random.hpp"

namespace conclave::sim {
namespace {

constexpr double usual_rate = 0.05;

struct Named {
  const char* name;
  bool Faults::*flag;
  double Faults::*rate;
};

constexpr Named table[] = {
    {"pause", &Faults::pause, nullptr},       {"partition", &Faults::partition, nullptr},
    {"crash", &Faults::crash, nullptr},       {"drift", &Faults::drift, nullptr},
    {"jump", &Faults::jump, nullptr},         {"jitter", &Faults::jitter, nullptr},
    {"unsynced", &Faults::unsynced, nullptr}, {"stall", &Faults::stall, nullptr},
    {"loss", nullptr, &Faults::loss},         {"duplicate", nullptr, &Faults::duplicate},
    {"slow", nullptr, &Faults::slow},         {"reorder", nullptr, &Faults::reorder},
};

bool present(const Faults& faults, const Named& named) {
  return named.flag ? faults.*named.flag : faults.*named.rate > 0;
}

}  // namespace

Faults Faults::everything() {
  return {.pause = true,
          .partition = true,
          .crash = true,
          .drift = true,
          .jump = true,
          .jitter = true,
          .unsynced = true,
          .stall = true,
          .loss = usual_rate,
          .duplicate = usual_rate,
          .slow = usual_rate,
          .reorder = usual_rate};
}

Faults Faults::allowed_by(const Assumptions& assumes) {
  Faults faults;
  if (assumes.timing == Timing::asynchronous) {
    // Without bounds a standing process, a cut that heals and a wrong clock are only slowness: over
    // reliable links what a cut holds back arrives when it heals.
    faults.pause = true;
    if (assumes.links != Links::none) {
      faults.partition = faults.drift = faults.jump = faults.jitter = true;
      faults.slow = usual_rate;
    }
  }
  if (assumes.links == Links::reliable_unordered || assumes.links == Links::lossy)
    faults.reorder = usual_rate;
  if (assumes.links == Links::lossy) faults.loss = faults.duplicate = usual_rate;
  if (assumes.crashes != Crashes::none) faults.crash = true;
  if (assumes.crashes == Crashes::recover) faults.unsynced = true;
  // A disk that stands still is slowness too, of a process that has one.
  faults.stall = faults.unsynced && assumes.timing == Timing::asynchronous;
  return faults;
}

std::string Faults::to_string() const {
  std::string out;
  for (const Named& named : table) {
    if (!present(*this, named)) continue;
    if (!out.empty()) out += ',';
    out += named.flag ? std::string(named.name) : fmt::format("{}={}", named.name, this->*named.rate);
  }
  return out.empty() ? "none" : out;
}

std::vector<std::string> Faults::beyond(const Assumptions& assumes) const {
  const Faults allowed = allowed_by(assumes);
  std::vector<std::string> names;
  for (const Named& named : table) {
    if (present(*this, named) && !present(allowed, named)) names.emplace_back(named.name);
  }
  return names;
}

std::expected<Faults, std::string> Faults::parse(std::string_view text, const Assumptions& assumes,
                                                 bool beyond_assumptions) {
  if (text == "none" || text.empty()) return Faults{};
  if (text == "all") return beyond_assumptions ? everything() : allowed_by(assumes);
  Faults faults;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    if (text.ends_with(',')) return std::unexpected("a fault is missing after the last comma");
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string_view name = part.substr(0, part.find('='));
    const auto found = std::ranges::find_if(table, [&](const Named& named) { return named.name == name; });
    if (found == std::end(table)) {
      std::string known;
      for (const Named& named : table) known += fmt::format(", {}", named.name);
      return std::unexpected(
          fmt::format("unknown fault '{}'; write none, all, or some of {}", name, known.substr(2)));
    }
    if (found->flag) {
      if (name.size() != part.size()) return std::unexpected(fmt::format("fault '{}' takes no rate", name));
      faults.*found->flag = true;
      continue;
    }
    double rate = usual_rate;
    if (name.size() != part.size()) {
      const std::string_view number = part.substr(name.size() + 1);
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rate);
      if (error != std::errc{} || end != number.data() + number.size() || !(rate > 0 && rate <= 1))
        return std::unexpected(fmt::format("'{}' is no rate for {}; write a number in (0, 1]", number, name));
    }
    faults.*found->rate = rate;
  }
  if (const auto names = faults.beyond(assumes); !names.empty() && !beyond_assumptions)
    return std::unexpected(
        fmt::format("the algorithm assumes that there is no '{}'; add --beyond-assumptions to "
                    "inject it all the same",
                    names.front()));
  return faults;
}

namespace {

// What survives of the writes under way when a disk loses its power: often none, else the first few.
std::int64_t surviving_writes(std::uint64_t seed, std::uint64_t nth_crash) {
  constexpr std::uint64_t most = 6;
  const Draw draw(seed, Purpose::tail, 0, nth_crash);
  return draw.below(2) == 0
             ? 0
             : static_cast<std::int64_t>(Draw(~seed, Purpose::tail, 0, nth_crash).between(1, most));
}

// What a clock does while its node is down, if anything. Machines that start from one image show the same at
// each start; a clock that runs out of power stands still; and somebody sets it to whatever he takes for the
// time. Drawn apart, so that the other faults of a seed stay what they were.
std::optional<std::int64_t> jump_while_down(std::uint64_t seed, std::uint64_t nth_crash, Ticks down,
                                            Ticks back, Ticks window) {
  enum class Kind : std::uint8_t { nothing, starts_anew, stood_still, was_set };
  const auto draw = [&](std::uint64_t nth) { return Draw(~seed, Purpose::clock, nth_crash, nth); };
  switch (static_cast<Kind>(draw(0).below(4))) {
    case Kind::nothing: return std::nullopt;
    case Kind::starts_anew: return -static_cast<std::int64_t>(back.count);
    case Kind::stood_still: return -static_cast<std::int64_t>((back - down).count);
    case Kind::was_set:
      return static_cast<std::int64_t>(draw(1).below(2 * window.count + 1)) -
             static_cast<std::int64_t>(window.count);
  }
  return std::nullopt;
}

}  // namespace

Script plan_faults(const Faults& faults, const NodeSet& members, Ticks window, std::uint64_t seed,
                   CrashPlan crashes) {
  Script plan;
  if (window.count < 4) return plan;
  const std::vector<NodeId> nodes(members.begin(), members.end());
  std::uint64_t drawn = 0;
  const auto draw = [&] { return Draw(seed, Purpose::plan, 0, drawn++); };
  const auto some_node = [&] { return nodes[draw().below(nodes.size())]; };
  // A stretch of trouble: it begins in the window and ends in it.
  const auto stretch = [&](Action begin, Action end) {
    const std::uint64_t start = draw().below(window.count - 2);
    const std::uint64_t longest = std::max<std::uint64_t>(1, window.count / 4);
    begin.at = {start};
    end.at = {std::min(window.count - 1, start + draw().between(1, longest))};
    plan.push_back(begin);
    plan.push_back(end);
  };
  const auto times = [&](std::uint64_t most) { return draw().between(0, most); };

  if (faults.pause) {
    for (std::uint64_t i = times(3); i > 0; --i) {
      const NodeId node = some_node();
      stretch({.what = Action::What::pause, .node = node}, {.what = Action::What::resume, .node = node});
    }
  }
  if (faults.partition && nodes.size() > 1) {
    for (std::uint64_t i = times(2); i > 0; --i) {
      Action cut = {.what = Action::What::partition, .cut = static_cast<Action::Cut>(draw().below(3))};
      for (NodeId node : nodes) {
        if (draw().below(2) == 0) cut.group.insert(node);
      }
      if (cut.group.empty()) cut.group.insert(nodes.front());
      if (cut.group.size() == nodes.size()) cut.group.erase(nodes.back());
      if (cut.cut == Action::Cut::bridge) cut.node = some_node();
      stretch(cut, {.what = Action::What::heal});
    }
  }
  if (faults.crash && crashes.for_good) {
    const std::uint64_t most = std::min<std::uint64_t>(crashes.most > 0 ? crashes.most : 2, nodes.size() - 1);
    NodeSet down;
    for (std::uint64_t i = times(most); i > 0; --i) {
      Action crash = {.what = Action::What::crash,
                      .at = {draw().below(window.count)},
                      .node = some_node(),
                      .forever = true,
                      .dying = draw().below(2) == 0};
      if (down.contains(crash.node)) continue;
      down.insert(crash.node);
      if (crash.dying) {
        for (NodeId node : nodes) {
          if (node != crash.node && draw().below(2) == 0) crash.group.insert(node);
        }
      }
      plan.push_back(crash);
    }
  } else if (faults.crash) {
    for (std::uint64_t i = times(2); i > 0; --i) {
      const NodeId node = some_node();
      stretch({.what = Action::What::crash,
               .node = node,
               .amount = faults.unsynced ? surviving_writes(seed, i) : 0,
               .durable = !faults.unsynced},
              {.what = Action::What::recover, .node = node});
      const Ticks down = plan[plan.size() - 2].at;
      const Ticks back = plan.back().at - Ticks{1};
      const auto by = faults.jump ? jump_while_down(seed, i, down, back, window) : std::nullopt;
      if (by) plan.push_back({.what = Action::What::jump, .at = back, .node = node, .amount = *by});
    }
  }
  if (faults.drift) {
    for (NodeId node : nodes) {
      if (draw().below(2) == 0) continue;
      const auto ppm = static_cast<std::int64_t>(draw().below(200'001)) - 100'000;
      plan.push_back(
          {.what = Action::What::drift, .at = {draw().below(window.count)}, .node = node, .amount = ppm});
    }
  }
  if (faults.jump) {
    for (std::uint64_t i = times(2); i > 0; --i) {
      const auto by = static_cast<std::int64_t>(draw().below(window.count + 1)) -
                      static_cast<std::int64_t>(window.count / 2);
      plan.push_back({.what = Action::What::jump,
                      .at = {draw().below(window.count)},
                      .node = some_node(),
                      .amount = by});
    }
  }
  // Drawn apart, so that the other faults of a seed stay what they were.
  const auto trouble = [&](Purpose purpose, std::uint64_t most, const auto& add) {
    std::uint64_t nth = 0;
    const auto lot = [&] { return Draw(seed, purpose, 0, nth++); };
    for (std::uint64_t i = lot().between(0, most); i > 0; --i) {
      const NodeId node = nodes[lot().below(nodes.size())];
      const std::uint64_t start = lot().below(window.count - 2);
      add(node, Ticks{start}, Ticks{lot().between(start + 1, window.count - 1)}, lot());
    }
  };
  if (faults.stall) {
    trouble(Purpose::stall, 2, [&](NodeId node, Ticks from, Ticks until, Draw) {
      plan.push_back({.what = Action::What::stall, .at = from, .node = node});
      plan.push_back({.what = Action::What::flush, .at = until, .node = node});
    });
  }
  if (faults.jitter) {
    constexpr std::uint64_t most_percent = 60;
    trouble(Purpose::jitter, 2, [&](NodeId node, Ticks from, Ticks until, Draw chance) {
      const auto percent = static_cast<std::int64_t>(chance.between(1, most_percent));
      plan.push_back({.what = Action::What::jitter, .at = from, .node = node, .amount = percent});
      plan.push_back({.what = Action::What::jitter, .at = until, .node = node, .amount = 0});
    });
  }
  std::ranges::stable_sort(plan, {}, &Action::at);
  return plan;
}

}  // namespace conclave::sim
