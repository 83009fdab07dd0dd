// What monitors read over plain HTTP: /health, /version, /metrics.
#include <fmt/format.h>

#include <algorithm>

#include "desk/offer.hpp"

namespace conclave::desk {

void Desk::offer_pages() {
  server_.http("/health", [this](const rpc::HttpRequest&, const rpc::HttpReply& reply) {
    const live::GroupStatus group = group_.status();
    const bool evicted =
        std::ranges::any_of(group.members, [](const auto& member) { return member.self && member.evicted; });
    if (evicted)
      return reply.send(503, "application/json", R"({"health":"false","reason":"this member was evicted"})");
    reply.send(200, "application/json", R"({"health":"true"})");
  });
  // Clients take every part of it for a number.
  server_.http("/version", [](const rpc::HttpRequest&, const rpc::HttpReply& reply) {
    reply.send(200, "application/json",
               fmt::format(R"({{"etcdserver":"{}","etcdcluster":"{}"}})", etcd_version, etcd_version));
  });
  server_.http("/metrics", [this](const rpc::HttpRequest&, const rpc::HttpReply& reply) {
    reply.send(200, "text/plain; version=0.0.4", metrics());
  });
}

std::string Desk::metrics() const {
  std::string out;
  const auto add = [&](std::string_view type, std::string_view name, std::string_view help,
                       std::uint64_t value) {
    out += fmt::format("# HELP conclave_{0} {1}\n# TYPE conclave_{0} {2}\nconclave_{0} {3}\n", name, help,
                       type, value);
  };
  const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    add("gauge", name, help, value);
  };
  const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    add("counter", name, help, value);
  };
  gauge("held", "Locks and leaderships that clients of this member have.", lines_.held());
  gauge("waiting", "Clients of this member that wait for one.", lines_.waiting());
  gauge("observers", "Clients that observe an election here.", observing_);
  gauge("leases", "Leases of this member.", leases_.size());
  gauge("epoch", "Epoch of the membership; grows with every eviction.", epoch_);
  gauge("peers_up", "Other members that this one hears of.", up_.size());
  counter("locks_granted_total", "Locks that were granted.", stats_.locks_granted);
  counter("elections_won_total", "Clients that became leader here.", stats_.elections_won);
  counter("lost_total", "Locks and leaderships that ended although nobody gave them up.", stats_.lost);
  counter("leases_granted_total", "Leases that were granted.", stats_.leases_granted);
  counter("leases_expired_total", "Leases that nobody renewed.", stats_.leases_expired);
  counter("leases_revoked_total", "Leases that their clients ended.", stats_.leases_revoked);
  counter("notes_refused_total", "Notes of other members that made no sense.", stats_.notes_refused);
  counter("turned_away_total", "Requests for which there was no room.", stats_.turned_away);
  const rpc::ServerStats rpc = server_.stats();
  gauge("connections", "Connections that are open.", rpc.connections_open);
  gauge("calls", "Calls that are under way.", rpc.calls_open);
  counter("connections_accepted_total", "Connections that were accepted.", rpc.connections_accepted);
  counter("connections_refused_total", "Connections that were too many.", rpc.connections_refused);
  counter("calls_total", "Calls that were made.", rpc.calls_started);
  counter("calls_cancelled_total", "Calls that ended before they were answered.", rpc.calls_cancelled);
  counter("http_requests_total", "Requests over plain HTTP.", rpc.http_requests);
  counter("bad_requests_total", "What no client should send.", rpc.bad_requests);
  counter("connections_timed_out_total", "Connections that were silent or stalled.", rpc.timed_out);
  counter("received_bytes_total", "Bytes from clients.", rpc.bytes_received);
  counter("sent_bytes_total", "Bytes to clients.", rpc.bytes_sent);
  return out;
}

}  // namespace conclave::desk
