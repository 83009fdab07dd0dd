// Whatever a peer says, a Raft server objects or goes on: none of its invariants breaks, neither now nor when
// it comes back from its disk and is elected. The first byte chooses what the server is; then come messages,
// each with its sender, its length (2 bytes) and its bytes, and between them timers.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "core/codec.hpp"
#include "protocols/raft/objection.hpp"

namespace {

using namespace conclave;
using raft::Raft;

constexpr NodeId self = {1};
const NodeSet everybody = NodeSet::range({1}, 3);
// What a snapshot may have here: the fuzzer has no gigabytes to send.
constexpr raft::ObjectionLimits limits = {.snapshot_bytes = 1 << 16, .members = 64};

struct Server {
  Raft node = {};
  Raft::Durable disk = {};
  Raft::Out out = {};

  template <class Step>
  void take(Step&& step) {
    out.clear();
    step();
    hear_of_writes(node, out);
    for (const raft::Write& write : out.writes) disk.take(write);
  }
  void start() {
    take([&] { node = Raft::start(self, everybody, {.most_entries = 4}, out); });
  }
  void come_back() {
    take([&] { node = Raft::recover(self, everybody, {.most_entries = 4}, disk, out); });
  }
  void hear(NodeId from, const Raft::Message& message) {
    if (!raft::objection(node, from, message, limits).empty()) return;
    take([&] { std::visit([&](const auto& which) { node.on_message(out, from, which); }, message); });
  }
  void fire(Raft::Timer timer) {
    take([&] { node.on_timer(out, timer); });
  }
  void command(const conclave::log::Spec::Command& command) {
    take([&] { std::visit([&](const auto& which) { node.on_command(out, which); }, command); });
  }
  void be_elected() {
    fire(Raft::Timer::election);
    for (const NodeId voter : {NodeId{2}, NodeId{3}}) {
      hear(voter, Raft::PreVoteReply{node.next_term(), true});
      hear(voter, raft::VoteReply{node.ballot.term, true, node.log.last()});
    }
  }
};

// A follower with a snapshot, a candidate, a leader, or one that has just begun.
void prepare(Server& server, std::uint8_t what) {
  server.start();
  if (what % 4 == 0) return;
  const raft::Entry entry = {{1}, raft::Command{{2}, 1, 7, {}}, {}};
  server.hear({2}, Raft::Append{.term = {1}, .entries = {{{1}, {}, {}}, entry, entry}, .committed = {2}});
  server.command(conclave::log::Capture{});
  server.command(conclave::log::Compact{Payload(Bytes{1, 2, 3})});
  if (what % 4 == 1) return;
  server.fire(Raft::Timer::election);
  if (what % 4 == 2) return;
  server.be_elected();
  server.command(conclave::log::Propose{1, 1, {}});
  server.command(conclave::log::Read{1});
}

void act(Server& server, std::uint8_t what) {
  switch (what % 9) {
    case 0: return server.fire(Raft::Timer::election);
    case 1: return server.fire(Raft::Timer::heartbeat);
    case 2: return server.fire(Raft::Timer::quorum);
    case 3: return server.fire(Raft::Timer::retry);
    case 4: return server.command(conclave::log::Propose{server.node.wanted.size() + 2, 1, {}});
    case 5: return server.command(conclave::log::Capture{});
    case 6:
      if (server.node.capture) server.command(conclave::log::Compact{Payload(Bytes{4})});
      return;
    case 7: return server.come_back();
    default: return server.be_elected();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Server server;
  try {
    prepare(server, data[0]);
    std::span<const std::uint8_t> rest(data + 1, size - 1);
    while (rest.size() >= 3) {
      const std::uint8_t who = rest[0];
      if (who >= 0x80) {
        act(server, who);
        rest = rest.subspan(1);
        continue;
      }
      const std::size_t length = std::min<std::size_t>(rest[1] + 256u * rest[2], rest.size() - 3);
      if (const auto message = decode<Raft::Message>(rest.subspan(3, length)))
        server.hear({2u + who % 3u}, *message);
      rest = rest.subspan(3 + length);
    }
    server.be_elected();
    server.come_back();
    server.be_elected();
  } catch (const std::exception& broken) {
    std::fprintf(stderr, "%s\n", broken.what());
    std::abort();
  }
  return 0;
}
