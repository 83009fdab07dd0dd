#include "ns3_loop.hpp"

#include <ns3/object-factory.h>
#include <ns3/simulator.h>

#include "core/ensure.hpp"
#include "tiny_nodes.hpp"

namespace conclave::bench {
namespace {

// TimeStep takes ns-3's own unit, which spares it the conversion that NanoSeconds would cost.
ns3::Time after(std::uint64_t ticks) { return ns3::TimeStep(ticks); }

struct RingOnNs3 {
  TinyRing ring;
  std::uint64_t messages;
  std::uint64_t delivered = 0;

  void start() {
    ring.start([this](std::uint32_t to) { post(to); });
  }
  void post(std::uint32_t to) {
    if (delivered < messages) ns3::Simulator::Schedule(after(fixed_delay), &RingOnNs3::arrive, this, to);
  }
  void arrive(std::uint32_t node) {
    ++delivered;
    ring.on_token(node, [this](std::uint32_t to) { post(to); });
  }
};

template <class Delays>
struct BurstOnNs3 {
  TinyBurst burst;
  Delays delays;
  std::uint64_t delivered = 0;

  void start() {
    burst.start([this](std::uint32_t from, std::uint32_t to, Letter letter) { post(from, to, letter); });
  }
  void post(std::uint32_t from, std::uint32_t to, Letter letter) {
    ns3::Simulator::Schedule(after(delays.next(from)), &BurstOnNs3::arrive, this, to, from, letter);
  }
  void arrive(std::uint32_t node, std::uint32_t from, Letter letter) {
    ++delivered;
    burst.on_letter(node, from, letter,
                    [this](std::uint32_t a, std::uint32_t b, Letter answer) { post(a, b, answer); });
  }
};

template <class Model>
Outcome run(Model& model, std::string_view scheduler) {
  ns3::ObjectFactory factory;
  factory.SetTypeId(std::string(scheduler));
  ns3::Simulator::SetScheduler(factory);
  const Stopwatch watch;
  model.start();
  ns3::Simulator::Run();
  const double seconds = watch.seconds();
  ns3::Simulator::Destroy();
  return {model.delivered, seconds};
}

template <class Delays>
Outcome run_burst(const Workload& workload, std::string_view scheduler) {
  BurstOnNs3<Delays> model = {TinyBurst(workload.nodes), Delays(workload)};
  const Outcome outcome = run(model, scheduler);
  ensure(model.burst.entries == workload.nodes, "everybody enters once");
  return outcome;
}

}  // namespace

std::vector<std::string_view> ns3_schedulers(const Workload& workload) {
  std::vector<std::string_view> names = {"ns3::MapScheduler", "ns3::HeapScheduler",
                                         "ns3::PriorityQueueScheduler"};
  // The calendar keeps the events of one tick in a list that it searches from the front: a burst makes it
  // quadratic.
  if (workload.kind == Workload::Kind::ring) names.push_back("ns3::CalendarScheduler");
  return names;
}

Outcome run_ns3(const Workload& workload, std::string_view scheduler) {
  if (workload.kind == Workload::Kind::ring) {
    RingOnNs3 model = {TinyRing(workload.nodes), workload.messages};
    return run(model, scheduler);
  }
  return workload.spread ? run_burst<SpreadDelays>(workload, scheduler)
                         : run_burst<FixedDelays>(workload, scheduler);
}

}  // namespace conclave::bench
