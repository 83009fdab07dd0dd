// What clients of the Raft engine see: etcd's API, by gRPC and by JSON, and pages for monitors.
//
//   rpc::Server server(loop);
//   etcd::Front front(server, machine, {.client_urls = …}, log);
//   server.listen("127.0.0.1:2379");
//
// Translation and nothing else: a request becomes a command, the machine has it applied, and what came of it
// becomes the answer. The machine is there before the front and after it; the server is gone before it.
#pragma once
#include <proto/conclave.pb.h>
#include <proto/election.pb.h>
#include <proto/lock.pb.h>
#include <proto/rpc.pb.h>

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "etcd/answers.hpp"
#include "etcd/downloads.hpp"
#include "etcd/line_times.hpp"
#include "etcd/machine.hpp"
#include "etcd/turns.hpp"
#include "etcd/watch_service.hpp"
#include "rpc/metrics_page.hpp"
#include "rpc/offer.hpp"
#include "rpc/shares.hpp"
#include "rpc/slices.hpp"

namespace conclave::etcd {

using rpc::CallerPtr;

struct FrontOptions {
  // Where clients reach this member; an etcd client that asks for the members connects to these.
  std::vector<std::string> client_urls = {};
  // What clients of this member may have: a quarter by one connection, three quarters from one address.
  std::size_t waiting = 100'000;    // for locks and elections
  std::size_t sessions = 100'000;   // locks and candidacies without a lease
  std::size_t observers = 100'000;  // of elections
  // A client that locks without a lease keeps what it has as long as its connection; if this member is gone,
  // nobody else knows of the connection, and what it had ends after this time.
  std::chrono::seconds session{15};
  WatchOptions watches = {};
};

class Front {
 public:
  Front(rpc::Server& server, Machine& machine, FrontOptions options, live::Log log);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

 private:
  enum class Kind { lock, election };
  // Somebody who waits for a place that is in the store.
  struct Waiter {
    Kind kind;
    CallerPtr caller;
    std::string name;
    std::string key = {};
    kv::LeaseId lease;
    bool is_session;  // the lease is one that lives with the connection
    rpc::Shares::Part part = {};
  };
  // A place that calls want with a lease of the client's own.
  struct Wanted {
    std::size_t calls = 0;     // that are not answered
    bool is_given_up = false;  // one that had it has left, and no other was given it since
    bool is_left = false;      // by all: it is about to go
  };
  // A lease that lives with a connection.
  struct Session {
    rpc::ConnectionId connection = {};
    rpc::Shares::Part part = {};
  };
  struct Observer {
    CallerPtr caller;
    kv::RecordRef told = {};  // the last leader
    bool waits_for_room = false;
    rpc::Shares::Part part = {};
  };
  struct Audience {
    std::map<std::uint64_t, std::shared_ptr<Observer>> observers = {};
    bool is_shown = false;     // somebody goes from one to the other
    bool is_outdated = false;  // something changed since that began
  };

  // front.cpp
  void changed(const kv::Outcome& outcome);
  void restored();
  void stopped();
  // What every response begins with.
  void head(etcdserverpb::ResponseHeader* header, kv::Revision revision) const;
  template <class Request, class Handler>
  void offer(const std::string& grpc_path, const std::string& json_path, Handler handler, bool many = false,
             rpc::Access access = rpc::Access::calls);

  // kv_service.cpp
  void offer_kv();
  void range(const etcdserverpb::RangeRequest& request, const CallerPtr& caller);
  void put(const etcdserverpb::PutRequest& request, const CallerPtr& caller);
  void delete_range(const etcdserverpb::DeleteRangeRequest& request, const CallerPtr& caller);
  void txn(const etcdserverpb::TxnRequest& request, const CallerPtr& caller);
  void compact(const etcdserverpb::CompactionRequest& request, const CallerPtr& caller);
  void read_txn(const etcdserverpb::TxnRequest& request, const CallerPtr& caller);
  template <class Request, class Command>
  void write(const Request& request, const Command& command, std::uint64_t keys, std::uint64_t answer,
             const CallerPtr& caller);
  template <class Command>
  void write_now(const Command& command, const CallerPtr& caller, bool is_heavy);
  // Proposes; when it is applied, `fill` makes the response of the result.
  template <class Response, class Result, class Fill>
  void run(const kv::Command& command, const CallerPtr& caller, Fill fill_in);

  // lease_service.cpp
  void offer_leases();
  void lease_grant(const etcdserverpb::LeaseGrantRequest& request, const CallerPtr& caller);
  void lease_revoke(const etcdserverpb::LeaseRevokeRequest& request, const CallerPtr& caller);
  void lease_time_to_live(const etcdserverpb::LeaseTimeToLiveRequest& request, const CallerPtr& caller);
  void lease_leases(const CallerPtr& caller);
  void tell_keys(const CallerPtr& caller,
                 const std::shared_ptr<etcdserverpb::LeaseTimeToLiveResponse>& response);
  void answer_when_room(const CallerPtr& caller, const std::shared_ptr<google::protobuf::Message>& response);
  void renew(kv::LeaseId lease, const rpc::Peer& whose, Machine::Renewed then);
  etcdserverpb::LeaseKeepAliveResponse kept_alive(kv::LeaseId lease, std::int64_t ttl) const;
  void keep_alive(kv::LeaseId lease, const CallerPtr& caller);
  void keep_alive_stream(rpc::Call call);

  // line_service.cpp
  void offer_lines();
  void lock(const v3lockpb::LockRequest& request, const CallerPtr& caller);
  void unlock(const v3lockpb::UnlockRequest& request, const CallerPtr& caller);
  void campaign(const v3electionpb::CampaignRequest& request, const CallerPtr& caller);
  void proclaim(const v3electionpb::ProclaimRequest& request, const CallerPtr& caller);
  void resign(const v3electionpb::ResignRequest& request, const CallerPtr& caller);
  void leader(const v3electionpb::LeaderRequest& request, const CallerPtr& caller);
  void observe(const v3electionpb::LeaderRequest& request, const CallerPtr& caller);
  // With a lease of the client's, or with one that lives as long as its connection.
  void stand_in_line(Kind kind, const std::string& name, kv::LeaseId lease, const std::string& value,
                     const CallerPtr& caller);
  void take_place(Waiter waiter, const std::string& value);
  void placed(Waiter waiter, const Machine::Outcome& outcome);
  void wait(Waiter waiter);
  void call_up(const std::vector<kv::Turn>& turns);
  void served(const Waiter& waiter, kv::Revision fence);
  std::optional<Waiter> forget(kv::WaiterId id);
  void give_up(kv::WaiterId id);
  // Calls `begin` when it is its turn; that says whether a command is under way, after which the turn is
  // over.
  void in_turn(rpc::ConnectionId whose, std::move_only_function<bool()> begin);
  void take_turns();
  void turn_is_over();
  void want(const Waiter& waiter);
  void leave(Waiter waiter, bool had_it);
  void begin_session(const CallerPtr& caller, std::move_only_function<void(kv::LeaseId)> then);
  void session_begun(const CallerPtr& caller, rpc::Shares::Part part,
                     std::move_only_function<void(kv::LeaseId)> then, const Machine::Outcome& outcome);
  std::optional<Session> forget_session(kv::LeaseId lease);
  void end_session(kv::LeaseId lease);
  void lose_session(kv::LeaseId lease);
  void look_at_sessions(const kv::Outcome& outcome);
  void renew_sessions();
  void renew_sessions_after(kv::LeaseId last);
  void connection_gone(rpc::ConnectionId connection);
  kv::RecordRef leader_of(const std::string& name) const;
  void stop_observing(const std::string& name, std::uint64_t observer);
  void show(const std::string& name, const std::shared_ptr<Observer>& observer);
  void show_audience(const std::string& name);
  void show_all(const kv::Outcome& outcome);

  // status_service.cpp
  void offer_status();
  void offer_maintenance();
  void offer_auth();
  void offer_pages();
  etcdserverpb::StatusResponse etcd_status() const;
  void alarm(const etcdserverpb::AlarmRequest& request, const CallerPtr& caller);
  conclavepb::StatusResponse status() const;
  void add_lines(conclavepb::StatusResponse& response) const;
  void tell_place(conclavepb::Client& told, const kv::Key& place) const;
  void tell_store(conclavepb::Store& told) const;
  void add_store(rpc::MetricsPage& page) const;
  std::string metrics() const;

  // cluster_service.cpp
  using Changed = std::move_only_function<void(std::expected<NodeId, rpc::Status>)>;
  // Somebody who waits until the members are what was asked for.
  struct Change {
    std::optional<cluster::BookChange> change = {};
    std::function<bool(NodeId)> is_done = {};  // none: when it is in the book
    rpc::Status late = timed_out;              // what is said if it takes too long
    std::chrono::milliseconds patience = {};   // 0: the usual
    Changed then = {};
    NodeId member = {};
    std::uint64_t serial = 0;  // 0: the book has it
    std::chrono::steady_clock::time_point deadline = {};
  };
  void offer_cluster();
  template <class Response>
  void answer_members(const CallerPtr& caller) const;
  void member_add(const etcdserverpb::MemberAddRequest& request, const CallerPtr& caller);
  void member_remove(std::uint64_t id, bool force, Changed then);
  void member_update(const etcdserverpb::MemberUpdateRequest& request, const CallerPtr& caller);
  void member_promote(const etcdserverpb::MemberPromoteRequest& request, const CallerPtr& caller);
  void replace_member(const conclavepb::ReplaceMemberRequest& request, const CallerPtr& caller);
  void move_leader(const etcdserverpb::MoveLeaderRequest& request, const CallerPtr& caller);
  void add_members(google::protobuf::RepeatedPtrField<etcdserverpb::Member>& told) const;
  void tell_member(NodeId id, etcdserverpb::Member& told) const;
  bool is_up(const cluster::ServerStatus& now, NodeId id) const;
  rpc::Status objection(const NodeSet& voters_then, NodeId newcomer) const;
  void await(Change change);
  void change_answered(std::uint64_t serial, const std::expected<NodeId, cluster::BookError>& done);
  void look_at_changes();

  rpc::Server& server_;
  Machine& machine_;
  const FrontOptions options_;
  const live::Log log_;
  const std::uint64_t cluster_;
  const NodeId self_;

  std::map<kv::WaiterId, Waiter> waiters_;
  kv::WaiterId next_waiter_ = 1;
  std::map<std::string, Wanted> wanted_;  // by key
  // Commands about places that are not under way yet.
  std::map<rpc::ConnectionId, std::deque<std::move_only_function<bool()>>> errands_;
  rpc::ConnectionId last_turn_ = {};
  std::size_t under_way_ = 0;
  bool taking_turns_ = false;
  LineTimes line_times_;
  std::map<std::string, Audience, std::less<>> audiences_;  // by election
  std::uint64_t next_observer_ = 1;
  std::map<kv::LeaseId, Session> sessions_;
  std::map<rpc::ConnectionId, std::set<kv::LeaseId>> sessions_by_connection_;
  bool renewing_ = false;  // sessions
  // What clients of this member have, until what they left is gone.
  rpc::Shares waiting_{options_.waiting};
  rpc::Shares lasting_{options_.sessions};  // sessions
  rpc::Shares observing_{options_.observers};
  rpc::Shares keeping_{machine_.options().most_renewals / 2};  // leases alive; the rest is for sessions
  boost::asio::steady_timer session_timer_;
  std::list<Change> changes_;
  boost::asio::steady_timer change_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  rpc::Slices slices_;  // for all that clients ask and that may take long
  Answers answers_;
  Downloads downloads_;
  Turns heavy_;  // commands that take long to apply
  std::uint64_t long_commands_ = 0;
  std::uint64_t long_commands_refused_ = 0;
  WatchService watches_;
};

template <class Request, class Handler>
void Front::offer(const std::string& grpc_path, const std::string& json_path, Handler handler, bool many,
                  rpc::Access access) {
  rpc::offer<Request>(server_, grpc_path, json_path, std::move(handler), many, access);
}
template <class Response, class Result, class Fill>
void Front::run(const kv::Command& command, const CallerPtr& caller, Fill fill_in) {
  machine_.propose(command, [this, caller, fill_in = std::move(fill_in)](const Machine::Outcome& outcome) {
    if (!outcome) return caller->refuse(outcome.error());
    Response response;
    head(response.mutable_header(), outcome->revision);
    fill_in(response, std::get<Result>(outcome->result));
    caller->answer(response);
  });
}

}  // namespace conclave::etcd
