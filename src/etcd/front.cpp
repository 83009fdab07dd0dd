#include "etcd/front.hpp"

#include <fmt/format.h>

#include "rpc/name_number.hpp"

namespace conclave::etcd {

Front::Front(rpc::Server& server, Machine& machine, FrontOptions options, live::Log log)
    : server_(server),
      machine_(machine),
      options_(std::move(options)),
      log_(std::move(log)),
      cluster_(rpc::number_of_name(machine.server().group())),
      self_(machine.options().server.links.self),
      session_timer_(machine.loop()),
      change_timer_(machine.loop()),
      slices_(machine.loop()),
      answers_(machine, slices_, [this](auto* header, kv::Revision revision) { head(header, revision); }),
      downloads_(machine, slices_, [this](auto* header, kv::Revision revision) { head(header, revision); }),
      watches_(
          server, machine, slices_, options_.watches,
          [this](etcdserverpb::ResponseHeader* header, kv::Revision revision) { head(header, revision); }) {
  machine_.listen(
      {.changed = [this](const kv::Outcome& outcome) { changed(outcome); },
       .restored = [this] { restored(); },
       .members_changed = [this] { look_at_changes(); },
       .answered = [this](std::uint64_t serial,
                          std::expected<NodeId, cluster::BookError> done) { change_answered(serial, done); },
       .stopped = [this] { stopped(); }});
  machine_.server().introduce(fmt::format("member-{}", self_.value), options_.client_urls);
  line_times_.restored(machine_.store());
  server_.on_disconnect([this](rpc::ConnectionId connection) { connection_gone(connection); });
  // A client may say that it has no use for a member that knows no leader.
  server_.before_each([this](const rpc::Call& call) {
    const bool asks = call.metadata().get("hasleader").has_value();
    return asks && !machine_.server().leader() ? no_leader : rpc::Status{};
  });
  offer_kv();
  offer_leases();
  offer_lines();
  offer_status();
  offer_maintenance();
  offer_cluster();
  offer_auth();
  offer_pages();
  renew_sessions();
}

Front::~Front() {
  *alive_ = false;
  machine_.listen({});
}

void Front::head(etcdserverpb::ResponseHeader* header, kv::Revision revision) const {
  header->set_cluster_id(cluster_);
  header->set_member_id(self_.value);
  header->set_revision(revision);
  header->set_raft_term(machine_.server().term());
}

void Front::changed(const kv::Outcome& outcome) {
  watches_.changed();
  line_times_.see(machine_.store(), outcome);
  std::vector<kv::Turn> turns;
  machine_.lines().see(outcome, turns);
  call_up(turns);
  look_at_sessions(outcome);
  show_all(outcome);
}

// Whoever waited waits for the same place in the new store.
void Front::restored() {
  watches_.restored();
  line_times_.restored(machine_.store());
  std::vector<kv::Turn> turns;
  for (const auto& [id, waiter] : waiters_) machine_.lines().wait(waiter.name, waiter.key, id, turns);
  call_up(turns);
  std::vector<std::string> names;  // telling may end one
  for (const auto& [name, audience] : audiences_) names.push_back(name);
  for (const std::string& name : names)
    if (audiences_.contains(name)) show_audience(name);
}

// Nothing will be told them any more: let them ask another member.
void Front::stopped() {
  const rpc::Status& why = machine_.trouble();
  watches_.stop(why);
  while (!waiters_.empty()) {
    const kv::WaiterId id = waiters_.begin()->first;
    machine_.lines().leave(id);
    auto waiter = forget(id);
    const CallerPtr caller = waiter->caller;
    leave(std::move(*waiter), false);
    caller->refuse(why);
  }
  for (const auto& [name, audience] : std::exchange(audiences_, {}))
    for (const auto& [id, observer] : audience.observers) observer->caller->refuse(why);
  for (Change& change : std::exchange(changes_, {})) change.then(std::unexpected(why));
}

}  // namespace conclave::etcd
