// A process of protocol P for the live world: takes its steps, and carries out what they ask for.
//
// A protocol with a server has one process more than members: it runs beside the process of the greatest
// member, which is whom a bully election would make coordinator. What these two say to each other stays
// inside.
#pragma once
#include <deque>
#include <map>
#include <utility>

#include "core/codec.hpp"
#include "core/protocol.hpp"
#include "core/visit.hpp"
#include "live/process.hpp"

namespace conclave::live {

// A protocol that can tell without whose messages it cannot go on.
template <class P>
concept NamesWhomItWaitsFor = requires(const P& p) {
  { p.waits_for() } -> std::same_as<NodeSet>;
};

template <Protocol P>
class ProcessOf final : public Process {
 public:
  using Message = typename P::Message;
  using Command = typename P::Spec::Command;
  using Event = typename P::Spec::Event;
  using Client = typename P::Spec::Client;
  static constexpr NodeId server_id = {0};

  ProcessOf(NodeId self, NodeSet members, typename P::Setup setup, Surroundings& around)
      : self_(self), members_(std::move(members)), setup_(std::move(setup)), around_(around) {
    ensure(!members_.contains(server_id), "members are numbered from 1");
  }

  void end_trace() override {
    for (auto* scribe : {&scribe_, &server_scribe_}) {
      if (*scribe) (*scribe)->end(false);
      scribe->reset();
    }
  }

  void start(bool again) override {
    const NodeSet all = HasServer<P> ? members_.with(server_id) : members_;
    if constexpr (HasServer<P>) {
      if (self_ == members_.max()) {
        open_scribe(server_scribe_, all, true);
        server_.emplace();
        step(true, [&](auto& how) {
          how.start(*server_, [&] { *server_ = P::start(server_id, all, setup_, out_); });
        });
      }
    }
    open_scribe(scribe_, all, false);
    process_.emplace();
    step(false, [&](auto& how) {
      how.start(*process_, [&] {
        if constexpr (Restarts<P>) {
          if (again) {
            *process_ = P::restart(self_, all, setup_, out_);
            return;
          }
        }
        *process_ = P::start(self_, all, setup_, out_);
      });
    });
    drain();
  }

  bool deliver(NodeId from, bool from_server, ByteView bytes, std::optional<Stamp> stamp) override {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    Decoder decoder({data, bytes.size()});
    walk(decoder, received_);
    if (!decoder.failed()) decoder.finish();
    if (decoder.failed()) return false;
    const bool at_server = HasServer<P> && !from_server;
    if (at_server && !server_) return false;
    take(from_server ? server_id : from, at_server, received_, std::move(stamp));
    drain();
    return true;
  }

  void fire(std::uint32_t timer) override {
    if constexpr (HasTimers<P>) {
      const auto which = static_cast<typename P::Timer>(timer);
      step(false, [&](auto& how) {
        how.fire(*process_, which, causes_[timer], [&] { process_->on_timer(out_, which); });
      });
      drain();
    }
  }

  void wish() override {
    client_.wish();
    act();
  }

  void release() override {
    const std::optional<Command> command = client_.next();
    ensure(client_.holding() && command, "only who is inside leaves");
    issue(*command);
    drain();
  }

  void told_down(NodeId node) override {
    if constexpr (HearsOfCrashes<Client>) {
      client_.told_down(node);
      act();
    }
  }
  void told_up(NodeId node) override {
    if constexpr (HearsOfCrashes<Client>) client_.told_up(node);
  }

  NodeSet waits_for() const override {
    if constexpr (NamesWhomItWaitsFor<P>) {
      NodeSet result;
      for (NodeId node : process_->waits_for())
        result.insert(HasServer<P> && node == server_id ? members_.max() : node);
      return result;
    }
    return {};
  }

 private:
  struct Local {
    bool to_server;
    Message message;
    std::optional<Stamp> stamp;
  };

  // How a step is taken: written down, or plainly. The same names, so that a step is said once.
  struct Plainly {
    Effects<P>& out;
    void start(P&, auto&& handler) { run(handler); }
    void command(P&, const Command&, auto&& handler) { run(handler); }
    void deliver(P&, NodeId, const Message&, const std::optional<Stamp>&, auto&& handler) { run(handler); }
    void fire(P&, typename P::Timer, std::uint64_t, auto&& handler) { run(handler); }
    void toss(P&, unsigned, auto&& handler) { run(handler); }
    void run(auto&& handler) {
      out.clear();
      handler();
    }
  };
  struct WrittenDown {
    Effects<P>& out;
    Scribe<P>& scribe;
    void start(P& node, auto&& handler) { scribe.start(node, out, handler); }
    void command(P& node, const Command& command, auto&& handler) {
      scribe.command(node, out, command, handler);
    }
    void deliver(P& node, NodeId from, const Message& message, const std::optional<Stamp>& stamp,
                 auto&& handler) {
      scribe.deliver(node, out, from, message, stamp, handler);
    }
    void fire(P& node, typename P::Timer timer, std::uint64_t cause, auto&& handler) {
      scribe.fire(node, out, timer, cause, handler);
    }
    void toss(P& node, unsigned face, auto&& handler) { scribe.toss(node, out, face, handler); }
  };

  void open_scribe(std::optional<Scribe<P>>& scribe, const NodeSet& all, bool of_server) {
    trace::Observer* reader = around_.reader(of_server);
    if (!reader) return;
    trace::Header header = around_.header();
    header.nodes = all;
    scribe.emplace(std::move(header), of_server ? server_id : self_, *reader);
  }

  template <class Act>
  void step(bool at_server, Act&& act) {
    std::optional<Scribe<P>>& scribe = at_server ? server_scribe_ : scribe_;
    if (scribe) {
      WrittenDown how{out_, *scribe};
      act(how);
    } else {
      Plainly how{out_};
      act(how);
    }
    settle(at_server);
  }

  // Whatever the client wants to do by itself, except to leave.
  void act() {
    while (!client_.holding()) {
      const std::optional<Command> command = client_.next();
      if (!command) break;
      issue(*command);
    }
    drain();
  }

  void issue(const Command& command) {
    client_.issue(command);
    step(false, [&](auto& how) {
      how.command(*process_, command, [&] {
        visit_in_place(command, [&](const auto& which) { process_->on_command(out_, which); });
      });
    });
  }

  void take(NodeId from, bool at_server, const Message& message, std::optional<Stamp> stamp) {
    P& node = at_server ? *server_ : *process_;
    const auto& scribe = at_server ? server_scribe_ : scribe_;
    if (stamp && (!scribe || !scribe->wrong_with(from, *stamp).empty())) stamp.reset();
    step(at_server, [&](auto& how) {
      how.deliver(node, from, message, stamp, [&] {
        visit_in_place(message, [&](const auto& which) { node.on_message(out_, from, which); });
      });
    });
  }

  // What the process and the server beside it say to each other, and what either says to itself. Taken one by
  // one by the outermost call.
  void drain() {
    if (draining_) return;
    draining_ = true;
    while (!local_.empty()) {
      Local next = std::move(local_.front());
      local_.pop_front();
      const NodeId from = HasServer<P> && !next.to_server ? server_id : self_;
      take(from, next.to_server, next.message, std::move(next.stamp));
    }
    draining_ = false;
  }

  void settle(bool by_server) {
    const auto& scribe = by_server ? server_scribe_ : scribe_;
    for (std::size_t i = 0; i < out_.sends.size(); ++i) {
      std::optional<Stamp> stamp;
      if (scribe) stamp = scribe->stamp(i);
      route(by_server, out_.sends[i].to, out_.sends[i].message, std::move(stamp));
    }
    if (!out_.more) return;
    if constexpr (HasTimers<P>) {
      for (const auto timer : out_.disarmed) around_.disarm(static_cast<std::uint32_t>(timer));
      for (const auto& arm : out_.armed) {
        if (scribe) causes_[static_cast<std::uint32_t>(arm.timer)] = scribe->last_step();
        around_.arm(static_cast<std::uint32_t>(arm.timer), arm.after);
      }
    }
    if constexpr (TossesCoins<P>) {
      const std::vector<Event> told = std::exchange(out_.events, {});
      for (const unsigned faces : std::exchange(out_.choices, {})) {
        const auto face = static_cast<unsigned>(around_.draw(faces));
        step(by_server,
             [&](auto& how) { how.toss(*process_, face, [&] { process_->on_choice(out_, face); }); });
      }
      for (const Event& event : told) see(event);
    } else if (!by_server) {
      tell(out_.events);
    }
  }

  void route(bool by_server, NodeId to, Message& message, std::optional<Stamp> stamp) {
    const bool to_server = HasServer<P> && to == server_id;
    const NodeId member = to_server ? members_.max() : to;
    if (member == self_) return local_.push_back({to_server, std::move(message), std::move(stamp)});
    bytes_.clear();
    encode(message, bytes_);
    around_.send(member, by_server, std::as_bytes(std::span(bytes_)), stamp);
  }

  // The client may answer at once, with another step: the effects of this one are out of the way by then.
  void tell(std::vector<Event>& told) {
    if (told.empty()) return;
    std::vector<Event> events = std::exchange(spare_, {});
    events.swap(told);
    for (const Event& event : events) see(event);
    events.clear();
    spare_ = std::move(events);
  }

  void see(const Event& event) {
    client_.see(event);
    visit_in_place(event, [&](const auto& which) {
      if constexpr (requires { which.fence; }) around_.granted(which.fence.value);
    });
    if constexpr (requires { client_.leader; }) {
      if (std::exchange(leader_, client_.leader) != client_.leader) around_.elected(client_.leader);
    }
  }

  NodeId self_;
  NodeSet members_;
  typename P::Setup setup_;
  Surroundings& around_;
  std::optional<P> process_;
  std::optional<P> server_;
  Client client_ = {};
  std::optional<NodeId> leader_;
  Effects<P> out_;
  Message received_ = {};
  Bytes bytes_;
  std::vector<Event> spare_;
  std::deque<Local> local_;
  bool draining_ = false;
  // While somebody reads along.
  std::optional<Scribe<P>> scribe_;
  std::optional<Scribe<P>> server_scribe_;
  std::map<std::uint32_t, std::uint64_t> causes_;  // the steps that armed the timers
};

}  // namespace conclave::live
