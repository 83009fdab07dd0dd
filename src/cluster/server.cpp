#include "cluster/server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "live/replica.hpp"
#include "protocols/raft/raft.hpp"

namespace conclave::cluster {
namespace {

using raft::Raft;
using Error = std::unexpected<std::string>;

raft::Raft::Setup setup_of(const ServerOptions& options) {
  const auto ticks = [](std::chrono::milliseconds time) { return static_cast<std::uint64_t>(time.count()); };
  return {.heartbeat_ticks = ticks(options.heartbeat),
          .patience_ticks = ticks(options.patience),
          .handicap_ticks = ticks(options.handicap),
          .stagger_ticks = 20,
          .most_entries = options.most_entries,
          .keep_entries = options.keep_entries};
}

NodeSet ids_of(const std::vector<live::Peer>& members) {
  NodeSet ids;
  for (const live::Peer& peer : members) ids.insert(peer.id);
  return ids;
}

// Commands of one server are numbered in order, over all its runs. No run remembers the last number of the
// one before, which may still be on its way; so the first is the time in microseconds, and no server makes a
// million proposals a second for years.
std::uint64_t first_serial() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

class RaftServer final : public Server {
 public:
  RaftServer(Events events, live::Log log) : events_(std::move(events)), log_(std::move(log)) {}

  std::expected<void, std::string> begin(boost::asio::io_context& loop, const ServerOptions& options) {
    members_ = ids_of(options.links.members);
    if (members_.contains({0})) return Error("members are numbered from 1: 0 is nobody");
    auto replica = Replica::open(
        loop,
        {.self = options.links.self,
         .members = members_,
         .data = options.data,
         .stamp = fmt::format("group {} member {}", options.links.group, options.links.self.value),
         .seed = first_serial(),
         .flusher = {.spin = options.spin}},
        setup_of(options),
        {.send = [this](NodeId to, live::ByteView bytes) { send(to, bytes); },
         .event =
             [this](const log::Spec::Event& event) {
               visit_in_place(event, [&](const auto& e) { tell(e); });
             },
         .failed = [this](const storage::Failure& why) { fail(why.text); }});
    if (!replica) return Error(replica.error().text);
    replica_ = std::move(*replica);
    const auto ours = replica_->node().sessions.last.find(options.links.self);
    const std::uint64_t known = ours == replica_->node().sessions.last.end() ? 0 : ours->second.serial;
    before_ = serial_ = std::max(first_serial(), known);
    auto links = live::Links::open(loop, options.links, link_events(), log_);
    if (!links) return Error(links.error());
    links_ = std::move(*links);
    return {};
  }

  std::uint64_t propose(Payload command) override {
    replica_->command(log::Propose{++serial_, 0, std::move(command)});
    return serial_;
  }
  std::uint64_t read() override {
    replica_->command(log::Read{++reads_});
    return reads_;
  }
  void capture() override { replica_->command(log::Capture{}); }
  void compact(Payload state) override { replica_->command(log::Compact{std::move(state)}); }
  void reconfigure(NodeSet voters, NodeSet learners) override {
    replica_->command(log::Reconfigure{std::move(voters), std::move(learners)});
  }
  void transfer(NodeId to) override { replica_->command(log::Transfer{to}); }

  std::uint64_t term() const override { return replica_->node().ballot.term.value; }
  bool leads() const override { return replica_->node().leads(); }
  std::optional<NodeId> leader() const override { return replica_->node().known_leader(); }
  ServerStatus status() const override;

 private:
  using Replica = live::Replica<Raft>;

  live::Links::Events link_events() {
    return {.message =
                [this](NodeId from, live::ByteView bytes) {
                  if (replica_->deliver(from, bytes)) return;
                  log_(live::LogLevel::warning,
                       fmt::format("event=unreadable_message peer={} bytes={}", from.value, bytes.size()));
                },
            .up = [](NodeId, std::uint64_t) {},
            .down = [](NodeId) {},
            // Raft sends again what is not answered.
            .broken_promise = [](NodeId, const std::string&) {},
            .disconnected = [this](NodeId peer) { replica_->command(log::Suspect{peer}); }};
  }

  // Until the links are open nobody is there to hear anything; whoever should have will ask.
  void send(NodeId to, live::ByteView bytes) {
    if (links_ && members_.contains(to)) links_->send(to, bytes);
  }

  void tell(const log::Committed& committed) {
    if (!committed.entry) return;
    const bool mine = committed.entry->client == replica_->node().self && committed.entry->serial > before_;
    const auto term = replica_->node().log.term_at({committed.index});
    ensure(term.has_value(), "what was just announced is still in the log");
    events_.applied(committed.index, term->value, committed.entry->bytes, mine ? committed.entry->serial : 0);
  }
  void tell(const log::Restored& restored) {
    if (events_.restored) events_.restored(restored.index, restored.state);
  }
  void tell(const log::Taken& taken) {
    if (events_.taken) events_.taken(taken.serial);
  }
  void tell(const log::Readable& readable) {
    if (events_.readable) events_.readable(readable.serial);
  }
  void tell(const log::Leading& leading) {
    log_(live::LogLevel::info, fmt::format("event=leading term={}", leading.term));
    if (events_.leading) events_.leading(leading.term);
  }
  void fail(const std::string& why) {
    log_(live::LogLevel::error, "event=disk_failed why=" + live::in_quotes(why));
    if (events_.failed) events_.failed(why);
  }

  Events events_;
  live::Log log_;
  NodeSet members_;
  std::uint64_t before_ = 0;  // greater serials are of this run
  std::uint64_t serial_ = 0;
  std::uint64_t reads_ = 0;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<live::Links> links_;
};

ServerStatus RaftServer::status() const {
  const Raft& node = replica_->node();
  static constexpr const char* roles[] = {"follower", "asking", "candidate", "leader"};
  ServerStatus status = {.self = node.self,
                         .role = roles[node.role.index()],
                         .term = node.ballot.term.value,
                         .leader = node.known_leader(),
                         .first_index = node.log.base.index.value + 1,
                         .last_index = node.log.last_index().value,
                         .committed = node.committed.value,
                         .snapshot_index = node.snapshot ? node.snapshot->last.index.value : 0,
                         .voters = node.configuration.voters,
                         .outgoing = node.configuration.outgoing,
                         .learners = node.configuration.learners,
                         .open_proposals = node.wanted.size(),
                         .flushes = replica_->flushes(),
                         .flush_median = replica_->disk().at(500),
                         .flush_worst = replica_->disk().most()};
  if (!node.configuration.votes(node.self) && status.role == "follower") status.role = "learner";
  const auto* leader = std::get_if<Raft::Leader>(&node.role);
  for (NodeId peer : members_) {
    if (peer == node.self) continue;
    PeerStatus& told = status.peers[peer];
    told.link = links_->status(peer);
    const auto progress = leader ? leader->others.find(peer) : decltype(leader->others.end()){};
    if (!leader || progress == leader->others.end()) continue;
    told.match = progress->second.match.value;
    told.next = progress->second.next.value;
    told.gets_snapshot = progress->second.offset.has_value();
  }
  return status;
}

}  // namespace

std::expected<std::unique_ptr<Server>, std::string> Server::open(boost::asio::io_context& loop,
                                                                 const ServerOptions& options, Events events,
                                                                 live::Log log) {
  auto server = std::make_unique<RaftServer>(std::move(events), std::move(log));
  if (auto begun = server->begin(loop, options); !begun) return Error(begun.error());
  return server;
}

}  // namespace conclave::cluster
