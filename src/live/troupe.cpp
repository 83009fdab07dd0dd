#include "live/troupe.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <set>
#include <variant>

#include "core/codec.hpp"
#include "live/links.hpp"
#include "live/timers.hpp"

namespace conclave::live {
namespace {

using namespace std::chrono_literals;

// What processes tell each other beside the algorithm.
struct Probe {
  std::uint64_t round = 0;
};
struct Report {
  std::uint64_t round = 0;
  bool done = false;
  NodeSet down = {};
  std::map<NodeId, std::uint64_t> sent = {};
  std::map<NodeId, std::uint64_t> received = {};
  bool operator==(const Report&) const = default;
};
struct Stop {
  bool now = true;  // a message takes at least one byte
};
struct Ready {  // has met everybody
  bool now = true;
};
using Control = std::variant<Probe, Report, Stop, Ready>;

enum class Tag : std::uint8_t { algorithm, control };

constexpr auto probe_every = 10ms;
// After the end, until the last acknowledgements have left; and until those of others have come, at most.
constexpr auto linger_least = 60ms;
constexpr auto linger_most = 1s;

ByteView view(const Bytes& bytes) { return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}; }

}  // namespace

struct Troupe::Inside {
  using Alarm = boost::asio::steady_timer;
  using Time = std::chrono::steady_clock::time_point;

  const Casting& casting;
  std::string algorithm;
  Role* role = nullptr;
  boost::asio::io_context loop = {};
  std::unique_ptr<Links> links = {};
  Timers<std::uint32_t> timers;
  Alarm alarm{loop};
  Time started = std::chrono::steady_clock::now();
  NodeSet peers = {};
  NodeSet met = {};
  NodeSet ready = {};
  NodeSet down = {};
  bool playing = false;
  std::optional<Time> over = {};  // since when
  std::string problem = {};
  std::vector<std::pair<NodeId, Bytes>> early = {};  // what came before everybody was there
  std::map<NodeId, std::uint64_t> sent = {};
  std::map<NodeId, std::uint64_t> received = {};
  std::uint64_t round = 0;
  bool asking = false;                    // until all have answered
  std::map<NodeId, Report> reports = {};  // of this round
  std::map<NodeId, Report> before = {};   // of the one before, if it was a good one

  Inside(const Casting& c, std::string name)
      : casting(c),
        algorithm(std::move(name)),
        timers(loop, c.seed * 1'000'003 + c.self.value, [this](std::uint32_t timer) {
          if (!over) role->fire(timer);
        }) {
    for (const Peer& member : c.members) {
      if (member.id != c.self) peers.insert(member.id);
    }
  }

  std::string open() {
    LinkOptions options = {.self = casting.self,
                           .members = casting.members,
                           .group = "play",
                           .algorithm = algorithm,
                           .key = "only for runs that one person starts on one machine"};
    Links::Events events = {
        .message = [this](NodeId from, ByteView bytes) { hear(from, bytes); },
        .up = [this](NodeId peer, std::uint64_t) { meet(peer); },
        .down = [this](NodeId peer) { miss(peer); },
        .broken_promise =
            [this](NodeId peer, const std::string& why) {
              if (!casting.others_die)
                give_up(fmt::format("messages of or to p{} are lost: {}", peer.value, why));
            }};
    auto opened = Links::open(loop, std::move(options), std::move(events), {});
    if (!opened) return opened.error();
    links = std::move(*opened);
    return {};
  }

  void give_up(std::string why) {
    if (problem.empty() && !over) problem = std::move(why);
    loop.stop();
  }

  // --- Others ----------------------------------------------------------------------------------------------

  void meet(NodeId peer) {
    met.insert(peer);
    if (down.contains(peer)) {
      down.erase(peer);
      if (playing && !over) role->told(peer, false);
    }
    if (met == peers) {
      for (NodeId other : peers) say(other, Ready{});
    }
  }

  void miss(NodeId peer) {
    down.insert(peer);
    asking = false;
    before.clear();
    if (playing && !over) role->told(peer, true);
  }

  void begin() {
    playing = true;
    role->begin();
    for (NodeId gone : NodeSet(down)) role->told(gone, true);
    for (const auto& [from, bytes] : std::exchange(early, {})) {
      ++received[from];
      role->hear(from, view(bytes));
    }
  }

  void hear(NodeId from, ByteView bytes) {
    if (over || bytes.empty()) return;
    const ByteView rest = bytes.subspan(1);
    if (bytes.front() == std::byte{static_cast<std::uint8_t>(Tag::control)}) return hear_control(from, rest);
    if (!playing) {
      const auto* first = reinterpret_cast<const std::uint8_t*>(rest.data());
      early.emplace_back(from, Bytes(first, first + rest.size()));
      return;
    }
    ++received[from];
    role->hear(from, rest);
  }

  // --- The end ---------------------------------------------------------------------------------------------

  void say(NodeId to, const Control& control) {
    Bytes bytes = {static_cast<std::uint8_t>(Tag::control)};
    encode(control, bytes);
    links->send(to, view(bytes));
  }

  void hear_control(NodeId from, ByteView bytes) {
    const auto control = decode<Control>({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (!control) return give_up(fmt::format("p{} says what nobody understands", from.value));
    if (const auto* probe = std::get_if<Probe>(&*control)) {
      say(from, report(probe->round));
    } else if (const auto* report = std::get_if<Report>(&*control)) {
      if (!asking || report->round != round) return;
      reports[from] = *report;
      consider();
    } else if (std::holds_alternative<Ready>(*control)) {
      ready.insert(from);
    } else {
      stop();
    }
  }

  Report report(std::uint64_t of_round) const {
    return {of_round, playing && role->done(), down, sent, received};
  }

  NodeSet present() const {
    NodeSet all = peers;
    for (NodeId gone : down) all.erase(gone);
    return all;
  }

  void probe() {
    const NodeSet others = present();
    if (!playing || (!others.empty() && others.min() < casting.self)) return;
    if (others.empty()) {
      if (role->done()) stop();
      return;
    }
    if (asking) return;  // this round is not over
    asking = true;
    ++round;
    reports.clear();
    for (NodeId peer : others) say(peer, Probe{round});
  }

  void consider() {
    const NodeSet others = present();
    if (reports.size() < others.size()) return;
    asking = false;
    auto all = std::exchange(reports, {});
    all[casting.self] = report(round);
    const bool good = std::ranges::all_of(all, [&](const auto& one) { return agrees(one.first, all); });
    for (auto& [node, one] : all) one.round = 0;
    if (good && (role->never_rests() || all == before)) {
      for (NodeId peer : others) say(peer, Stop{});
      return stop();
    }
    before = good ? std::move(all) : std::map<NodeId, Report>{};
  }

  // Whether the process has nothing to do, and all that it was sent has arrived.
  bool agrees(NodeId node, const std::map<NodeId, Report>& all) const {
    const Report& mine = all.at(node);
    if (!mine.done || mine.down != down) return false;
    if (role->never_rests()) return true;
    const auto count = [](const auto& counts, NodeId whom) {
      const auto found = counts.find(whom);
      return found == counts.end() ? 0 : found->second;
    };
    return std::ranges::all_of(all, [&](const auto& other) {
      return count(mine.sent, other.first) == count(other.second.received, node);
    });
  }

  void stop() { over = std::chrono::steady_clock::now(); }

  bool all_left() const {
    return std::ranges::all_of(present(),
                               [&](NodeId peer) { return links->status(peer).queued_messages == 0; });
  }

  void beat() {
    const Time now = std::chrono::steady_clock::now();
    if (over) {
      if (now - *over >= linger_most || (now - *over >= linger_least && all_left())) return loop.stop();
    } else if (now - started >= casting.patience) {
      return give_up(
          playing ? fmt::format("p{} is not done after {} ms", casting.self.value, casting.patience.count())
                  : fmt::format("p{} has not met all others", casting.self.value));
    } else {
      // Not as soon as the last one is ready: what we said ourselves has to leave, should we die at once.
      if (!playing && met == peers && ready == peers) begin();
      probe();
    }
    alarm.expires_after(probe_every);
    alarm.async_wait([this](const boost::system::error_code& error) {
      if (!error) beat();
    });
  }
};

Troupe::Troupe(const Casting& casting, std::string algorithm)
    : inside_(std::make_unique<Inside>(casting, std::move(algorithm))) {}
Troupe::~Troupe() = default;

std::string Troupe::play(Role& role) {
  inside_->role = &role;
  if (std::string wrong = inside_->open(); !wrong.empty()) return wrong;
  inside_->beat();
  inside_->loop.run();
  return inside_->problem;
}

void Troupe::send(NodeId to, const Bytes& message) {
  Bytes bytes = {static_cast<std::uint8_t>(Tag::algorithm)};
  bytes.insert(bytes.end(), message.begin(), message.end());
  ++inside_->sent[to];
  inside_->links->send(to, view(bytes));
}

void Troupe::arm(std::uint32_t timer, TickRange after) { inside_->timers.arm(timer, after); }
void Troupe::disarm(std::uint32_t timer) { inside_->timers.disarm(timer); }
boost::asio::io_context& Troupe::loop() { return inside_->loop; }
void Troupe::give_up(std::string why) { inside_->give_up(std::move(why)); }

}  // namespace conclave::live
