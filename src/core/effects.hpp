// What one step of a protocol asks of the world. A handler cannot reach the world; it fills this buffer,
// and the driver owns what happens next. The driver reuses the buffer, so a step allocates nothing once
// the vectors have grown.
//
// The order that every driver keeps: what a step persists is durable before what it sends leaves. Only what
// it sends at once may leave earlier; who does so learns from `on_synced` when its disk has the rest.
#pragma once
#include <concepts>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/node_id.hpp"
#include "core/node_set.hpp"
#include "core/ticks.hpp"

namespace conclave {

// For protocols without timers, durable state or parameters.
enum class NoTimer {};
struct NoSetup {
  bool operator==(const NoSetup&) const = default;
};
struct NoDurable {
  bool operator==(const NoDurable&) const = default;
};

template <class P>
struct DurableOf {
  using type = NoDurable;
};
template <class P>
  requires requires { typename P::Durable; }
struct DurableOf<P> {
  using type = typename P::Durable;
};

// What a step adds to the disk: all that is durable, anew; or, of a protocol that names its writes, only the
// change, which `Durable::take` makes.
template <class P>
struct WriteOf {
  using type = typename DurableOf<P>::type;
};
template <class P>
  requires requires { typename P::Write; }
struct WriteOf<P> {
  using type = typename P::Write;
};

// The disk after a write; what was there before the first is nothing.
template <class P>
void take_write(std::optional<typename DurableOf<P>::type>& disk, typename WriteOf<P>::type write) {
  if constexpr (std::same_as<typename WriteOf<P>::type, typename DurableOf<P>::type>) {
    disk = std::move(write);
  } else {
    if (!disk) disk.emplace();
    disk->take(std::move(write));
  }
}

template <class P>
struct Effects {
  using Message = typename P::Message;
  using Timer = typename P::Timer;
  using Event = typename P::Spec::Event;
  using Write = typename WriteOf<P>::type;

  struct Send {
    NodeId to;
    Message message;
  };
  struct Arm {
    Timer timer;
    TickRange after;  // sim and live draw from it, check tries all
  };

  std::vector<Send> sends;
  std::vector<Send> early;  // those that need not wait for the disk
  std::vector<Arm> armed;
  std::vector<Timer> disarmed;
  std::vector<Event> events;            // what the client sees
  std::vector<std::string_view> notes;  // why nothing happened
  std::vector<unsigned> choices;        // numbers of faces of coins to toss
  std::vector<Write> writes;            // what it persists, one after the other
  bool more = false;                    // than sends: most steps only send, and are not asked about the rest

  // Templates, so that a message is built where it will stand.
  template <class M>
  void send(NodeId to, M&& message) {
    sends.emplace_back(to, std::forward<M>(message));
  }
  template <class M>
  void broadcast(const NodeSet& to, const M& message) {
    for (NodeId node : to) sends.emplace_back(node, message);
  }
  template <class M>
  void send_at_once(NodeId to, M&& message) {
    more = true;
    early.emplace_back(to, std::forward<M>(message));
  }
  // Arming a timer that runs already starts it anew.
  void arm(Timer timer, TickRange after) {
    more = true;
    armed.push_back({timer, after});
  }
  void disarm(Timer timer) {
    more = true;
    disarmed.push_back(timer);
  }
  void announce(Event event) {
    more = true;
    events.push_back(std::move(event));
  }
  void note(std::string_view why) {
    more = true;
    notes.push_back(why);
  }
  // The answer comes as on_choice(out, face), 0 <= face < faces.
  void choose(unsigned faces) {
    more = true;
    choices.push_back(faces);
  }
  void persist(Write write) {
    more = true;
    if constexpr (std::same_as<Write, typename DurableOf<P>::type>) writes.clear();  // the last says it all
    writes.push_back(std::move(write));
  }

  void clear() {
    sends.clear();
    if (!std::exchange(more, false)) return;
    armed.clear();
    disarmed.clear();
    events.clear();
    notes.clear();
    choices.clear();
    writes.clear();
    early.clear();
  }
};

}  // namespace conclave
