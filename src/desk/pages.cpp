// What monitors read over plain HTTP: /health, /version, /metrics.
#include <fmt/format.h>

#include <algorithm>

#include "desk/offer.hpp"
#include "rpc/server_metrics.hpp"

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
  rpc::MetricsPage page;
  page.gauge("held", "Locks and leaderships that clients of this member have.", lines_.held());
  page.gauge("waiting", "Clients of this member that wait for one.", lines_.waiting());
  page.gauge("observers", "Clients that observe an election here.", observing_.taken());
  page.gauge("leases", "Leases of this member.", leases_.size());
  page.gauge("epoch", "Epoch of the membership; grows with every eviction.", epoch_);
  page.gauge("peers_up", "Other members that this one hears of.", up_.size());
  page.counter("locks_granted_total", "Locks that were granted.", stats_.locks_granted);
  page.counter("elections_won_total", "Clients that became leader here.", stats_.elections_won);
  page.counter("lost_total", "Locks and leaderships that ended although nobody gave them up.", stats_.lost);
  page.counter("leases_granted_total", "Leases that were granted.", stats_.leases_granted);
  page.counter("leases_expired_total", "Leases that nobody renewed.", stats_.leases_expired);
  page.counter("leases_revoked_total", "Leases that their clients ended.", stats_.leases_revoked);
  page.counter("notes_refused_total", "Notes of other members that made no sense.", stats_.notes_refused);
  page.counter("turned_away_total", "Requests for which there was no room.", stats_.turned_away);
  rpc::tell(page, server_.stats());
  return std::move(page.text);
}

}  // namespace conclave::desk
