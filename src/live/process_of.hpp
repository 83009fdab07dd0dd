// A process of protocol P for the live world: takes its steps, and carries out what they ask for.
//
// A protocol with a server has one process more than members: it runs beside the process of the greatest
// member, which is whom a bully election would make coordinator. What these two say to each other stays
// inside.
#pragma once
#include <deque>
#include <utility>

#include "core/codec.hpp"
#include "core/describe.hpp"
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

  void start(bool again) override {
    const NodeSet all = HasServer<P> ? members_.with(server_id) : members_;
    if constexpr (HasServer<P>) {
      if (self_ == members_.max()) {
        out_.clear();
        server_.emplace(P::start(server_id, all, setup_, out_));
        settle(true);
      }
    }
    out_.clear();
    if constexpr (Restarts<P>) {
      process_.emplace(again ? P::restart(self_, all, setup_, out_) : P::start(self_, all, setup_, out_));
    } else {
      process_.emplace(P::start(self_, all, setup_, out_));
    }
    settle(false);
    drain();
  }

  bool deliver(NodeId from, bool from_server, ByteView bytes) override {
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
    Decoder decoder({data, bytes.size()});
    walk(decoder, received_);
    if (!decoder.failed()) decoder.finish();
    if (decoder.failed()) return false;
    if (HasServer<P> && !from_server && !server_) return false;
    take(from_server ? server_id : from, HasServer<P> && !from_server, received_);
    drain();
    return true;
  }

  void fire(std::uint32_t timer) override {
    if constexpr (HasTimers<P>) {
      out_.clear();
      process_->on_timer(out_, static_cast<typename P::Timer>(timer));
      settle(false);
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
    if constexpr (requires { client_.told_down(node); }) {
      client_.told_down(node);
      act();
    }
  }
  void told_up(NodeId node) override {
    if constexpr (requires { client_.told_up(node); }) client_.told_up(node);
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
  std::string state() const override { return describe_json(*process_); }

 private:
  struct Local {
    bool to_server;
    Message message;
  };

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
    out_.clear();
    visit_in_place(command, [&](const auto& which) { process_->on_command(out_, which); });
    settle(false);
  }

  void take(NodeId from, bool at_server, const Message& message) {
    out_.clear();
    P& node = at_server ? *server_ : *process_;
    visit_in_place(message, [&](const auto& which) { node.on_message(out_, from, which); });
    settle(at_server);
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
      take(from, next.to_server, next.message);
    }
    draining_ = false;
  }

  void settle(bool by_server) {
    for (auto& send : out_.sends) route(by_server, send.to, send.message);
    if (!out_.more) return;
    if constexpr (HasTimers<P>) {
      for (const auto timer : out_.disarmed) around_.disarm(static_cast<std::uint32_t>(timer));
      for (const auto& arm : out_.armed) around_.arm(static_cast<std::uint32_t>(arm.timer), arm.after);
    }
    if (!by_server) tell(out_.events);
    if constexpr (TossesCoins<P>) {
      std::vector<unsigned> faces;
      faces.swap(out_.choices);
      for (const unsigned count : faces) {
        out_.clear();
        process_->on_choice(out_, static_cast<unsigned>(around_.draw(count)));
        settle(by_server);
      }
    }
  }

  void route(bool by_server, NodeId to, Message& message) {
    const bool to_server = HasServer<P> && to == server_id;
    const NodeId member = to_server ? members_.max() : to;
    if (member == self_) return local_.push_back({to_server, std::move(message)});
    bytes_.clear();
    encode(message, bytes_);
    around_.send(member, by_server, std::as_bytes(std::span(bytes_)));
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
};

}  // namespace conclave::live
