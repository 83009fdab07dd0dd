#include "catalogue/raft/elections.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "protocols/raft/raft.hpp"
#include "sim/seeds.hpp"
#include "sim/world.hpp"

namespace conclave::catalogue {
namespace {

constexpr NodeId leader = {1};
constexpr NodeId bereft = {2};  // whose client wants something as soon as nobody leads

// As in the paper of 2014. Whoever waits between p + h and 2p + h ticks, as the parameters have it, waits
// between any two numbers of which the second is at most twice the first.
raft::Raft::Setup setup_of(const LeaderCrash& crash) {
  const std::uint64_t range = crash.most.count - crash.least.count;
  return {.heartbeat_ticks = crash.least.count / 2,
          .patience_ticks = range,
          .handicap_ticks = crash.least.count - range,
          .pre_vote = false,
          .check_quorum = false};
}

sim::DelayModel delays_of(const LeaderCrash& crash) {
  const auto fixed = [](Ticks delay) {
    return sim::Delay{sim::Delay::Shape::fixed, delay.count, delay.count};
  };
  sim::DelayModel delays = {.usual = fixed(crash.request)};
  const NodeSet all = sim::members_for<raft::Raft>(crash.servers);
  for (NodeId from : all) {
    for (NodeId to : all) {
      for (const char* type : {"VoteReply", "AppendReply"})
        delays.per_message[{type, from, to}] = fixed(crash.answer);
    }
  }
  return delays;
}

// What is done to the cluster, and when.
struct Play {
  sim::Script script = {};
  Ticks crash = {};
};

// The first server is elected, because its clock runs ahead and the others' are set back until it leads.
// While some servers are cut off it appends an entry, which they lack from then on: they hear their leader,
// which does not hear that they refuse its heartbeats. Some heartbeats later it crashes.
Play play_of(const LeaderCrash& crash) {
  using What = sim::Action::What;
  Play play;
  const auto act = [&](std::uint64_t at, sim::Action action) {
    action.at = {at};
    play.script.push_back(std::move(action));
  };
  const NodeSet all = sim::members_for<raft::Raft>(crash.servers);
  const NodeSet stale = NodeSet::range({crash.servers - crash.stale + 1}, crash.stale);
  const std::uint64_t round_trip = crash.request.count + crash.answer.count;
  const std::uint64_t heartbeat = crash.least.count / 2;
  const auto long_time = static_cast<std::int64_t>(2 * (crash.most.count + round_trip));

  act(1, {.what = What::jump, .node = leader, .amount = long_time});
  act(2, {.what = What::jump, .node = leader, .amount = -long_time});
  for (NodeId other : all.without(leader))
    act(crash.request.count + 2, {.what = What::jump, .node = other, .amount = -long_time});
  const std::uint64_t elected = 1 + round_trip;

  // Right after a heartbeat, so that nobody misses one.
  const std::uint64_t heartbeats_per_trip = round_trip / heartbeat + 1;
  const std::uint64_t appended = elected + 2 * heartbeats_per_trip * heartbeat + 1;
  if (crash.stale > 0) act(appended, {.what = What::partition, .group = stale});
  act(appended + 1, {.what = What::wish, .node = leader});
  if (crash.stale > 0) {
    act(appended + 2, {.what = What::heal});
    act(appended + 3, {.what = What::partition, .cut = sim::Action::Cut::one_way, .group = stale});
  }

  const std::uint64_t last_heartbeat = elected + 4 * heartbeats_per_trip * heartbeat;
  play.crash = {last_heartbeat + sim::Draw(crash.seed, sim::Purpose::plan, 0, 0).between(1, heartbeat)};
  act(play.crash.count, {.what = What::crash, .node = leader, .forever = true});
  act(play.crash.count, {.what = What::heal});
  act(play.crash.count, {.what = What::wish, .node = bereft});
  return play;
}

// Notes who takes the lead, and in which term.
class Watch : public trace::Observer {
 public:
  explicit Watch(Ticks crash) : crash_(crash) {}
  void look_into(const sim::Cluster<raft::Raft>& cluster) { cluster_ = &cluster; }

  void see(const trace::Step& step) override {
    if (successor_ || std::ranges::find(step.events, "Leading", &trace::Item::type) == step.events.end())
      return;
    const raft::Raft& node = cluster_->node(cluster_->index(*step.node));
    if (step.at <= crash_) {
      ensure(*step.node == leader && !first_term_, "nobody disturbs the leader before it crashes");
      first_term_ = node.ballot.term;
    } else {
      successor_ = {.took = step.at - crash_,
                    .by = *step.node,
                    .first_try = node.ballot.term.value == first_term_->value + 1};
    }
  }
  bool wants_vectors() const override { return false; }

  Succession succession() const {
    ensure(first_term_.has_value(), "somebody leads before it crashes");
    return successor_.value_or(Succession{});
  }

 private:
  Ticks crash_;
  const sim::Cluster<raft::Raft>* cluster_ = nullptr;
  std::optional<raft::Term> first_term_;
  std::optional<Succession> successor_;
};

// The figure.

constexpr std::uint64_t ticks_per_ms = 1000;
constexpr std::uint64_t give_up_ms = 30'000;

struct Line {
  std::uint64_t least_ms = 0;
  std::uint64_t most_ms = 0;
  // What the text of the paper says of it.
  std::optional<double> median = {};
  std::optional<double> mean = {};
  std::optional<double> worst = {};
  bool published_is_least = false;

  bool is_random() const { return least_ms < most_ms; }
  std::string name() const { return std::to_string(least_ms) + "-" + std::to_string(most_ms) + " ms"; }
  // Without randomness nothing differs from trial to trial but the moment of the crash: the paper has a
  // tenth of the trials there.
  std::uint64_t trials(const FigureWish& wish) const {
    return is_random() ? wish.trials : std::max<std::uint64_t>(1, wish.trials / 10);
  }
};

const std::vector<Line>& lines() {
  static const std::vector<Line> all = {{150, 150, 10'000, {}, {}, true},
                                        {150, 151},
                                        {150, 155, 287},
                                        {150, 175},
                                        {150, 200, {}, {}, 513},
                                        {150, 300},
                                        {12, 24, {}, 35, 152},
                                        {25, 50},
                                        {50, 100},
                                        {100, 200}};
  return all;
}

LeaderCrash crash_of(const Line& line, const FigureWish& wish) {
  const PaperFigure figure = elections_figure();
  const auto set = [&](const char* name) { return static_cast<std::uint64_t>(figure.number(wish, name)); };
  return {.least = {line.least_ms * ticks_per_ms},
          .most = {line.most_ms * ticks_per_ms},
          .request = {set("request")},
          .answer = {set("answer")},
          .servers = static_cast<std::uint32_t>(set("servers")),
          .stale = static_cast<std::uint32_t>(set("stale")),
          .give_up = {give_up_ms * ticks_per_ms}};
}

// The successions of every line, in threads.
std::vector<std::vector<Succession>> try_all(const FigureWish& wish) {
  std::vector<std::vector<Succession>> tried;
  std::vector<LeaderCrash> crashes;
  std::vector<std::pair<std::size_t, std::size_t>> trials;  // line, and which of its trials
  for (const Line& line : lines()) {
    for (std::uint64_t nth = 0; nth < line.trials(wish); ++nth) trials.emplace_back(tried.size(), nth);
    tried.emplace_back(line.trials(wish));
    crashes.push_back(crash_of(line, wish));
  }
  const auto try_one = [&](std::uint64_t i) -> std::optional<std::string> {
    const auto [line, nth] = trials[i];
    LeaderCrash crash = crashes[line];
    crash.seed = sim::Draw(wish.seed, sim::Purpose::plan, line, nth).bits();
    try {
      tried[line][nth] = crash_leader(crash);
    } catch (const InvariantViolation& violation) {
      return violation.what();
    }
    return std::nullopt;
  };
  const auto progress = [&](std::uint64_t done) {
    if (wish.progress) wish.progress(done, trials.size());
  };
  const auto outcome = sim::run_seeds(0, trials.size(), wish.jobs, try_one, progress);
  if (outcome.failure) ensure(false, outcome.failure->why.c_str());
  return tried;
}

// How long it took, the shortest first. Where nobody led in the end: until everybody gave up.
class Times {
 public:
  explicit Times(const std::vector<Succession>& tried) {
    for (const Succession& one : tried) {
      if (one.took) sorted_.push_back(static_cast<double>(one.took->count) / ticks_per_ms);
    }
    std::ranges::sort(sorted_);
    served_ = sorted_.size();
    sorted_.resize(tried.size(), give_up_ms);
  }

  // The least time within which that share of the trials had a leader.
  FigureNumber within(const char* name, double share) const {
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted_.size())));
    const std::size_t at = std::max<std::size_t>(1, rank) - 1;
    return number(name, sorted_[at], at >= served_);
  }
  FigureNumber mean() const {
    const double sum = std::accumulate(sorted_.begin(), sorted_.end(), 0.0);
    return number("mean", sum / static_cast<double>(sorted_.size()), served_ < sorted_.size());
  }
  // Percent of the trials that had a leader, over time. More points than this nobody could tell apart.
  std::vector<FigureRow::Point> distribution(double from, double until) const {
    constexpr std::size_t most_points = 400;
    const std::size_t stride = 1 + sorted_.size() / most_points;
    std::vector<FigureRow::Point> points = {{from, 0}};
    if (served_ > 0) points.push_back({sorted_[0], 0});
    for (std::size_t i = 0; i < served_; i += stride) points.push_back({sorted_[i], percent(i + 1)});
    if (served_ > 0) points.push_back({sorted_[served_ - 1], percent(served_)});
    points.push_back({until, percent(served_)});
    return points;
  }

 private:
  static FigureNumber number(const char* name, double ms, bool is_least) {
    return {.name = name, .unit = "ms", .decimals = 0, .measured = ms, .is_least = is_least};
  }
  double percent(std::size_t trials) const {
    return 100.0 * static_cast<double>(trials) / static_cast<double>(sorted_.size());
  }

  std::vector<double> sorted_;
  std::size_t served_ = 0;
};

FigureRow row_of(const Line& line, const LeaderCrash& crash, const std::vector<Succession>& tried,
                 const FigurePanel& panel) {
  const Times times(tried);
  const auto published = [&](FigureNumber number, const std::optional<double>& there) {
    number.published = there;
    number.published_is_least = there && line.published_is_least;
    return number;
  };
  const auto first_tries = static_cast<double>(std::ranges::count(tried, true, &Succession::first_try));
  return {.name = line.name(),
          .trials = tried.size(),
          .numbers = {published(times.within("median", 0.5), line.median),
                      published(times.mean(), line.mean),
                      times.within("p99", 0.99),
                      published(times.within("worst", 1), line.worst),
                      {.name = "first try",
                       .decimals = 3,
                       .measured = first_tries / static_cast<double>(tried.size())},
                      {.name = "foretold", .decimals = 3, .measured = first_try_chance(crash)}},
          .curve = times.distribution(panel.x_least, panel.x_most)};
}

std::vector<FigurePanel> measure(const FigureWish& wish) {
  const auto tried = try_all(wish);
  const char* const x = "time without a leader (ms)";
  const char* const y = "trials with a new leader (%)";
  std::vector<FigurePanel> panels = {
      {"The more the time-outs differ, the sooner somebody leads", "time-outs", x, y, 50, give_up_ms},
      {"The shorter the time-outs, the sooner somebody leads", "time-outs", x, y, 10, 1000}};
  for (std::size_t i = 0; i < lines().size(); ++i) {
    const Line& line = lines()[i];
    const bool full_range = line.most_ms == 2 * line.least_ms;
    for (FigurePanel& panel : panels) {
      const bool belongs = &panel == &panels.front() ? line.least_ms == 150 : full_range;
      if (belongs) panel.lines.push_back(row_of(line, crash_of(line, wish), tried[i], panel));
    }
  }
  std::ranges::rotate(panels[1].lines, panels[1].lines.begin() + 1);  // 150-300 is the longest
  return panels;
}

std::optional<std::string> refuse(const FigureWish& wish) {
  const PaperFigure figure = elections_figure();
  const std::int64_t servers = figure.number(wish, "servers");
  if (figure.number(wish, "stale") + 2 <= servers) return std::nullopt;
  return "stale: of " + std::to_string(servers) + " servers at most " + std::to_string(servers - 2) +
         " can be stale, or nobody can be elected when the leader is gone";
}

}  // namespace

Succession crash_leader(const LeaderCrash& crash) {
  ensure(crash.least <= crash.most && crash.most.count <= 2 * crash.least.count,
         "time-outs differ by less than the shortest");
  ensure(crash.servers >= 3 && crash.stale + 2 <= crash.servers, "somebody is left who can be elected");
  Play play = play_of(crash);
  const sim::Options options = {.nodes = crash.servers,
                                .delay = delays_of(crash),
                                .seed = crash.seed,
                                .script = std::move(play.script),
                                .patience = crash.give_up};
  Watch watch(play.crash);
  const auto world = std::make_unique<sim::World<raft::Raft>>(options, setup_of(crash), &watch);
  watch.look_into(world->cluster());
  ensure(world->run().broken.empty(), "Raft keeps its own rules");
  return watch.succession();
}

double split_vote_chance(std::uint32_t up, std::uint32_t cluster, double latency) {
  ensure(up > cluster / 2, "a majority is up");
  const double l = std::min(latency, 1.0);
  double chance = 0;
  // So many stand beside the first that not even all others are a majority with it.
  for (std::uint32_t others = up - cluster / 2; others <= up; ++others) {
    double ways = 1;
    for (std::uint32_t i = 1; i <= others; ++i) ways = ways * (up - others + i) / i;
    chance += ways * std::pow(l, others) * std::pow(1 - l, up - others);
  }
  return chance;
}

std::optional<double> first_try_chance(const LeaderCrash& crash) {
  const std::uint32_t up = crash.servers - 1;
  const std::uint32_t fresh = up - crash.stale;
  // Those who can be elected must not be able to elect one of them without the others, who vote for whoever
  // asks first: then the first to stand wins the term, or nobody does.
  if (crash.stale > 0 && fresh > crash.servers / 2) return std::nullopt;
  const auto range = static_cast<double>(crash.most.count - crash.least.count);
  const double latency = range > 0 ? static_cast<double>(crash.request.count) / range : 1;
  // Whose own time-out ends before the answers are there stands again.
  const auto round_trip = static_cast<double>(crash.request.count + crash.answer.count);
  const double slack = static_cast<double>(crash.most.count) - round_trip;
  const double waits = range > 0 ? std::clamp(slack / range, 0.0, 1.0) : slack > 0 ? 1.0 : 0.0;
  return fresh * 1.0 / up * (1 - split_vote_chance(up, crash.servers, latency)) * waits;
}

PaperFigure elections_figure() {
  return {.name = "elections",
          .row = "raft",
          .title = "time to detect and replace a crashed leader",
          .paper = "Ongaro and Ousterhout, USENIX ATC, 2014, figure 16",
          .what = "from the crash of the leader until another server has the votes of a majority",
          .notes =
              "first try: share of the trials in which the first term after the crash had a leader\n"
              "foretold: that share by the closed form of Ongaro's thesis, 9.2",
          .usual_trials = 1000,
          .most_trials = 1'000'000,
          .parameters = {{"request", "microseconds that a message takes to a server", "2500", 1, 100'000},
                         {"answer", "microseconds that the answer takes, the disk's write included", "12500",
                          1, 100'000},
                         {"servers", "of the cluster, the leader included", "5", 3, 99},
                         {"stale", "followers that lack the last entry and cannot be elected", "2", 0, 97}},
          .refuse = refuse,
          .measure = measure};
}

}  // namespace conclave::catalogue
