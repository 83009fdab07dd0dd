// One server of an algorithm with a disk among real ones, with the client that the simulator gives it; and
// its part of the trace.
#pragma once
#include <csignal>

#include "live/replica.hpp"
#include "live/troupe.hpp"

namespace conclave::live {

template <Protocol P>
  requires KeptInSegments<P> && NeverRests<P>
class ReplicaPlayer final : public Role {
 public:
  using Client = typename P::Spec::Client;

  ReplicaPlayer(const Casting& casting, typename P::Setup setup, trace::Header header,
                trace::Observer& observer)
      : casting_(casting),
        setup_(std::move(setup)),
        page_{.header = std::move(header), .reader = &observer},
        troupe_(casting, page_.header.protocol) {
    if constexpr (PreparesClients<P>) client_ = P::client(casting.self, setup_);
    client_.wishes = casting.entries;
  }

  Played play() {
    Played played;
    std::string broken;
    try {
      played.problem = troupe_.play(*this);
    } catch (const InvariantViolation& violation) {
      broken = violation.what();
      played.problem = "it broke its own rule: " + broken;
    }
    if (replica_) replica_->end_trace(std::move(broken));
    return played;
  }

  void begin() override {
    auto opened =
        Replica<P>::open(troupe_.loop(),
                         {.self = casting_.self,
                          .members = page_.header.nodes,
                          .data = casting_.data,
                          .seed = casting_.seed * 1'000'003 + casting_.self.value},
                         setup_,
                         {.send =
                              [this](NodeId to, ByteView bytes) {
                                const auto numbers = numbers_of(bytes);
                                troupe_.send(to, {numbers.begin(), numbers.end()});
                              },
                          .event = [this](const typename P::Spec::Event& event) { see(event); },
                          .failed = [this](const storage::Failure& why) { troupe_.give_up(why.text); },
                          .trace = [this](bool) -> std::expected<Page, std::string> { return page_; }});
    if (!opened) return troupe_.give_up(opened.error().text);
    replica_ = std::move(*opened);
    plan();
  }
  void hear(NodeId from, ByteView bytes) override {
    if (replica_ && !replica_->deliver(from, bytes))
      troupe_.give_up("a message of p" + std::to_string(from.value) + " cannot be read");
  }
  void fire(std::uint32_t) override {
    planned_ = false;
    const auto command = client_.next();
    if (!command) return;
    client_.issue(*command);
    replica_->command(*command);
    plan();
  }
  void told(NodeId, bool) override {}  // who misses a leader finds out by itself

  bool done() const override { return client_.content(); }
  bool never_rests() const override { return true; }

 private:
  static constexpr std::uint32_t client_wakes = 0;

  void see(const typename P::Spec::Event& event) {
    client_.see(event);
    die_in_time();
    plan();
  }
  // Whoever has something in mind already is woken for that.
  void plan() {
    if (planned_ || !client_.next()) return;
    planned_ = true;
    troupe_.arm(client_wakes, casting_.think);
  }
  // Killed for good, with what it wrote on its disk, and no word of farewell.
  void die_in_time() {
    if (casting_.dies_after && !client_.waiting() && client_.requests >= *casting_.dies_after)
      std::raise(SIGKILL);
  }

  const Casting& casting_;
  typename P::Setup setup_;
  Page page_;
  Troupe troupe_;
  Client client_ = {};
  bool planned_ = false;  // the client will be woken
  std::unique_ptr<Replica<P>> replica_;
};

}  // namespace conclave::live
