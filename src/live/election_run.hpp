// One election among the members of a group, over links: feeds a protocol its messages and timers, and its
// client what the links' failure detector says.
//
//   live::ElectionRun<P> run(loop, links, setup, came_back, [](std::optional<NodeId> leader) { … }, log);
//   run.open();
#pragma once
#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>

#include "core/codec.hpp"
#include "core/protocol.hpp"
#include "core/visit.hpp"
#include "live/links.hpp"
#include "live/timers.hpp"

namespace conclave::live {

template <Protocol P>
class ElectionRun {
 public:
  using Setup = typename P::Setup;
  using Leader = std::function<void(std::optional<NodeId>)>;

  // Who starts afresh calls an election at a moment of its own; who came back does what the protocol says.
  ElectionRun(boost::asio::io_context& loop, LinkOptions links, Setup setup, bool came_back, Leader leader,
              Log log)
      : loop_(loop),
        options_(std::move(links)),
        setup_(std::move(setup)),
        came_back_(came_back),
        leader_(std::move(leader)),
        log_(std::move(log)),
        timers_(loop, fresh_incarnation(), [this](const Timer& timer) { fire(timer); }),
        wishes_(loop, fresh_incarnation() + 1, [this](int) { wish(); }) {}

  std::expected<void, std::string> open() {
    NodeSet all;
    for (const Peer& member : options_.members) all.insert(member.id);
    const NodeId self = options_.self;
    auto opened =
        Links::open(loop_, options_,
                    {.message = [this](NodeId from, ByteView bytes) { take(from, bytes); },
                     .up = [this](NodeId peer, std::uint64_t incarnation) { on_up(peer, incarnation); },
                     .down = [this](NodeId peer) { on_down(peer); },
                     .broken_promise = [](NodeId, const std::string&) {}},  // `up` tells of the new process
                    log_);
    if (!opened) return std::unexpected(opened.error());
    links_ = std::move(*opened);
    step([&] { node_ = began(self, all); });
    if (!came_back_) wishes_.arm(0, {{0}, {1'000}});
    return {};
  }

  std::optional<NodeId> leader() const { return client_.leader; }
  // Calls an election although nobody failed.
  void wish() {
    client_.wish();
    react();
  }

 private:
  using Timer = typename P::Timer;
  using Message = typename P::Message;
  using Client = typename P::Spec::Client;

  P began(NodeId self, const NodeSet& all) {
    if constexpr (Restarts<P>) {
      if (came_back_) return P::restart(self, all, setup_, out_);
    }
    return P::start(self, all, setup_, out_);
  }

  void take(NodeId from, ByteView bytes) {
    const auto message = decode<Message>(numbers_of(bytes));
    if (!message)
      return log_(LogLevel::warning,
                  fmt::format("peer={} sent no message of ours: {}", from.value, describe(message.error())));
    step([&] { visit_in_place(*message, [&](const auto& which) { node_.on_message(out_, from, which); }); });
  }

  void fire(const Timer& timer) {
    step([&] { node_.on_timer(out_, timer); });
  }

  // A new process in the place of one that was not missed yet: that one has died all the same.
  void on_up(NodeId peer, std::uint64_t incarnation) {
    std::uint64_t& met = met_[peer];
    if (met != 0 && met != incarnation && !client_.down.contains(peer)) on_down(peer);
    met = incarnation;
    client_.told_up(peer);
    react();
  }
  void on_down(NodeId peer) {
    client_.told_down(peer);
    react();
  }

  void react() {
    while (const auto command = client_.next()) {
      client_.issue(*command);
      step([&] { visit_in_place(*command, [&](const auto& which) { node_.on_command(out_, which); }); });
    }
  }

  template <class Handler>
  void step(Handler&& handler) {
    out_.clear();
    handler();
    for (const auto& one : out_.sends) {
      // A process that is down gets nothing: what waited for its successor would be out of date.
      if (!client_.down.contains(one.to)) links_->send(one.to, bytes_of(encode(one.message)));
    }
    for (const Timer timer : out_.disarmed) timers_.disarm(timer);
    for (const auto& arm : out_.armed) timers_.arm(arm.timer, arm.after);
    const auto events = std::move(out_.events);
    out_.events.clear();
    const std::optional<NodeId> before = client_.leader;
    for (const auto& event : events) client_.see(event);
    if (client_.leader != before) leader_(client_.leader);
    if (!events.empty()) react();
  }

  boost::asio::io_context& loop_;
  LinkOptions options_;
  Setup setup_;
  bool came_back_;
  Leader leader_;
  Log log_;
  Timers<Timer> timers_;
  Timers<int> wishes_;
  std::unique_ptr<Links> links_;
  P node_ = {};
  Client client_ = {};
  Effects<P> out_;
  std::map<NodeId, std::uint64_t> met_;  // incarnations
};

}  // namespace conclave::live
