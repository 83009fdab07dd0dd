// The front desk of a member that runs a textbook engine: etcd's leases, locks and elections for any client,
// decided between the members by the group.
//
//   rpc::Server server(loop);
//   desk::Desk desk(server, group, {.client_urls = …}, log);
//   server.listen("127.0.0.1:2379");
//
// What needs a key-value store is answered UNIMPLEMENTED. docs/desk.md says what each call means on which
// engine. Everything happens on the loop of the server, which is the group's too. The server and the group
// are there before the desk and after it, and nobody is served once it is gone: `close` first, let the server
// shut down, and when the loop has ended, the desk may go.
#pragma once
#include <proto/conclave.pb.h>
#include <proto/election.pb.h>
#include <proto/lock.pb.h>
#include <proto/rpc.pb.h>

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "desk/leaders.hpp"
#include "desk/leases.hpp"
#include "desk/lines.hpp"
#include "live/group.hpp"
#include "live/log.hpp"
#include "rpc/offer.hpp"
#include "rpc/server.hpp"
#include "rpc/shares.hpp"
#include "rpc/slices.hpp"

namespace conclave::desk {

using rpc::etcd_version;

struct Options {
  // Where clients reach each member; an etcd client that asks for the members connects to these.
  std::map<NodeId, std::vector<std::string>> client_urls = {};
  // Named to who asks an election engine for a lock.
  std::vector<std::string> lock_engines = {};
  LeaseLimits leases = {};
  LineLimits lines = {};
  LeaderLimits leaders = {};
  // Of these, of leases and of claims one connection may have a quarter, one address three quarters.
  std::size_t observers = 100'000;             // and who asks for a leader that is being elected
  std::chrono::milliseconds election{3'000};   // for so long who asks waits for its outcome
  std::size_t value_bytes = 64 * 1024 * 1024;  // of all that stand for election here
  // A client without a lease finds out within this time that its member is gone: its connection is pinged.
  std::chrono::seconds silence{20};
};

// Counted from the start; for /metrics.
struct DeskStats {
  std::uint64_t locks_granted = 0;
  std::uint64_t elections_won = 0;
  std::uint64_t lost = 0;  // places that the group took away
  std::uint64_t leases_granted = 0;
  std::uint64_t leases_expired = 0;
  std::uint64_t leases_revoked = 0;
  std::uint64_t notes_refused = 0;
  std::uint64_t turned_away = 0;  // there was no room
};

class Desk {
 public:
  Desk(rpc::Server& server, live::Group& group, Options options, live::Log log);
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  // Who waits or asks is told that the server stopped. What clients hold with a lease they may go on holding
  // until it ends, so nothing is given back.
  void close();
  const DeskStats& stats() const { return stats_; }

 private:
  enum class Kind { lock, election };
  struct Observer {
    CallerPtr caller;
    std::string last = {};  // what it was told
    bool waits_for_room = false;
    rpc::Shares::Part part = {};
  };
  using Observers = std::map<std::uint64_t, std::shared_ptr<Observer>>;  // by number
  // Who asked for the leader of an election that is under way.
  struct Asking {
    CallerPtr caller;
    boost::asio::steady_timer patience;
    rpc::Shares::Part part = {};
  };
  using Askings = std::map<std::uint64_t, std::shared_ptr<Asking>>;
  // What a client is told of a leader.
  struct LeaderView {
    NodeId member;
    mvccpb::KeyValue kv;
  };

  // desk.cpp
  void hear_the_group();
  void peer_up(NodeId peer);
  void peer_down(NodeId peer);
  void peer_evicted(NodeId peer);
  void hear_note(NodeId from, live::ByteView bytes);
  void hold(Claim& claim);
  void claim_ended(const Claim& claim);
  void claim_lost(const Claim& claim, const std::string& why);
  void forget_bonds(const Claim& claim);
  void connection_gone(rpc::ConnectionId connection);
  void look_at_the_group();
  etcdserverpb::ResponseHeader header() const;
  void fill(etcdserverpb::ResponseHeader* header) const { *header = this->header(); }
  // Calls it when the group knows that clients of this member may go on for so long.
  void when_promised(std::chrono::seconds time, std::move_only_function<void()> then);
  void ask(const std::string& place);
  void give_back(const std::string& place);
  static std::string place_of(Kind kind, const std::string& name);
  static Kind kind_of(const std::string& place);
  static std::string name_of(const std::string& place);
  // The id of a claim is the place and the last part of the key that its client knows.
  static std::string key_of(const Claim& claim) { return name_of(claim.id); }
  // A claim and who waits for it; refuses what is wrong with it.
  void stand_in_line(Kind kind, const std::string& name, LeaseId lease, const std::string& value,
                     const CallerPtr& caller);
  void join_line(Claim claim, const CallerPtr& caller);
  bool check_line(Kind kind, const std::string& name, LeaseId lease, const std::string& value,
                  const CallerPtr& caller);
  void wait_with(Claim& claim, const CallerPtr& caller);
  void caller_gone(const std::string& id, const Caller* caller);
  void answer(const Claim& claim, const CallerPtr& caller);
  void turn_away(const CallerPtr& caller);

  // lease_service.cpp
  void offer_leases();
  void lease_grant(const etcdserverpb::LeaseGrantRequest& request, const CallerPtr& caller);
  void lease_revoke(const etcdserverpb::LeaseRevokeRequest& request, const CallerPtr& caller);
  void lease_time_to_live(const etcdserverpb::LeaseTimeToLiveRequest& request, const CallerPtr& caller);
  void lease_leases(const CallerPtr& caller);
  etcdserverpb::LeaseKeepAliveResponse keep_alive(LeaseId id, const rpc::Call& stream);
  void keep_alive_stream(rpc::Call call);
  void lease_ended(const Leases::Gone& gone);

  // lock_service.cpp
  void offer_locks();
  void lock(const v3lockpb::LockRequest& request, const CallerPtr& caller);
  void unlock(const v3lockpb::UnlockRequest& request, const CallerPtr& caller);

  // election_service.cpp
  void offer_elections();
  void campaign(const v3electionpb::CampaignRequest& request, const CallerPtr& caller);
  void proclaim(const v3electionpb::ProclaimRequest& request, const CallerPtr& caller);
  void resign(const v3electionpb::ResignRequest& request, const CallerPtr& caller);
  void leader(const v3electionpb::LeaderRequest& request, const CallerPtr& caller);
  void observe(const v3electionpb::LeaderRequest& request, const CallerPtr& caller);
  void stop_observing(const std::string& name, std::uint64_t observer);
  void wait_for_leader(const std::string& name, const CallerPtr& caller);
  void stop_asking(const std::string& name, std::uint64_t asking);
  bool mention(const std::string& name, const CallerPtr& caller);
  bool change_value(Claim& claim, const std::string& value);
  Claim* leading_claim(const v3electionpb::LeaderKey& key);
  void publish(const Claim& claim);
  void withdraw(const Claim& claim);
  void send_note(NodeId to, const Note& note);
  void broadcast(const Note& note);
  std::optional<LeaderView> leader_of(const std::string& name) const;
  v3electionpb::LeaderResponse response_for(const LeaderView& view) const;
  void leader_changed(const std::string& name);
  void leaders_changed();
  void show(const std::string& name, const std::shared_ptr<Observer>& observer);
  void elected(const std::string& place, std::optional<NodeId> leader);

  // status_service.cpp
  void offer_status();
  void offer_etcd_status();
  conclavepb::StatusResponse status() const;
  void evict(const conclavepb::EvictRequest& request, const CallerPtr& caller);
  void add_names(conclavepb::StatusResponse& response, const std::vector<live::NameStatus>& names) const;
  void add_name(conclavepb::Name& told, const live::NameStatus& name) const;
  void add_client(conclavepb::Client& told, const Claim& claim) const;

  // pages.cpp
  void offer_pages();
  std::string metrics() const;

  // One call, by gRPC and by JSON.
  template <class Request, class Handler>
  void offer(const std::string& grpc_path, const std::string& json_path, Handler handler, bool many = false);

  rpc::Server& server_;
  live::Group& group_;
  const Options options_;
  const live::Log log_;
  const bool elects_;  // the engine elects members, and has no locks
  NodeId self_ = {};
  std::string engine_ = {};
  std::uint64_t cluster_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t greatest_fence_ = 1;
  std::uint64_t wins_ = 0;  // election engines have no fences; this counts instead
  std::chrono::seconds promised_{0};
  std::size_t waiting_for_promise_ = 0;
  std::size_t value_bytes_ = 0;
  std::map<std::string, Askings> askings_;
  std::uint64_t last_number_ = 0;  // of who observes or asks
  DeskStats stats_ = {};
  Leases leases_;
  Lines lines_;
  Leaders leaders_;
  std::set<NodeId> up_ = {};
  std::map<NodeId, std::uint64_t> incarnations_ = {};
  std::map<std::string, Observers> observers_ = {};
  std::set<std::string> mentioned_ = {};  // elections that this member takes part in
  // Claims without a lease, by the connection that they live with.
  std::map<rpc::ConnectionId, std::set<std::string>> bound_ = {};
  // What clients of this member have.
  rpc::Shares claimed_{options_.lines.claims};
  rpc::Shares granted_{options_.leases.most};
  rpc::Shares observing_{options_.observers};
  rpc::Shares asking_{options_.observers};
  rpc::Slices slices_{server_.loop()};
  bool closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::desk
