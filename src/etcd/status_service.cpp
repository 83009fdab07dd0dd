// What operators and monitors ask: the members, the state of this one, its alarms; by etcd's API and by
// conclave's own.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "etcd/front.hpp"
#include "rpc/server_metrics.hpp"

namespace conclave::etcd {

namespace pb = etcdserverpb;

namespace {

const rpc::Status no_authentication = {rpc::Code::failed_precondition,
                                       "etcdserver: authentication is not enabled"};

// Of locks and elections in one answer, of those who wait for one, and of a leader's value.
constexpr std::size_t most_names = 100;
constexpr std::size_t most_queue = 10;
constexpr std::size_t most_value = 1024;

template <class Duration>
std::int64_t in_microseconds(Duration time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

// ---- conclave's own

void Front::offer_status() {
  offer<conclavepb::StatusRequest>(
      "/conclavepb.Conclave/Status", "/conclave/status",
      [this](const auto&, const CallerPtr& caller) { caller->answer(status()); });
}

conclavepb::StatusResponse Front::status() const {
  const cluster::ServerStatus now = machine_.server().status();
  conclavepb::StatusResponse response;
  response.set_member_id(self_.value);
  response.set_engine("raft");
  response.set_group(machine_.server().group());
  response.set_leases(machine_.store().leases().all().size());
  const cluster::Book& book = machine_.server().book();
  for (const auto& [id, member] : book.members) {
    conclavepb::Member& told = *response.add_members();
    told.set_id(id.value);
    told.set_address(live::in_words({member.host, member.port}));
    told.set_self(id == self_);
    told.set_up(is_up(now, id));
    told.set_votes(now.voters.contains(id));
    told.set_shall_vote(member.votes && !member.leaves);
    told.set_leaves(member.leaves);
    told.set_replaces(member.replaces.value);
    for (const std::string& url : member.clients) told.add_client_urls(url);
    const auto found = now.peers.find(id);
    if (found == now.peers.end()) continue;
    told.set_incarnation(found->second.link.incarnation);
    response.set_messages(response.messages() + found->second.link.sent);
  }
  conclavepb::Raft& raft = *response.mutable_raft();
  raft.set_role(now.role);
  raft.set_term(now.term);
  raft.set_leader(now.leader ? now.leader->value : 0);
  raft.set_first_index(now.first_index);
  raft.set_last_index(now.last_index);
  raft.set_committed(now.committed);
  raft.set_snapshot_index(now.snapshot_index);
  raft.set_revision(machine_.store().revision());
  raft.set_store_bytes(machine_.store().bytes());
  raft.set_digest(machine_.store().digest());
  raft.set_applied(machine_.store().applied().index);
  raft.set_open_proposals(now.open_proposals);
  raft.set_flushes(now.flushes);
  raft.set_flush_median_us(in_microseconds(now.flush_median));
  raft.set_flush_worst_us(in_microseconds(now.flush_worst));
  tell_store(*raft.mutable_store());
  if (!machine_.trouble().ok()) response.add_notes(machine_.trouble().message);
  if (machine_.writes_stand_still()) response.add_notes(nothing_is_applied.message);
  add_lines(response);
  if (now.role != "leader") return response;
  for (const auto& [id, peer] : now.peers) {
    conclavepb::Follower& told = *raft.add_followers();
    told.set_id(id.value);
    told.set_match(peer.match);
    told.set_lag(now.last_index - std::min(now.last_index, peer.match));
    told.set_gets_snapshot(peer.gets_snapshot);
  }
  return response;
}

// Whoever was first under a name holds it, and the others wait. Those with the longest queues are told.
void Front::add_lines(conclavepb::StatusResponse& response) const {
  std::map<std::string_view, std::vector<const kv::Key*>> lines;  // each by creation
  for (const kv::Key* place : machine_.store().places())
    lines[kv::line_of(place->text(), place->newest->lease()).value()].push_back(place);
  std::vector<const decltype(lines)::value_type*> told_first;
  for (const auto& line : lines) told_first.push_back(&line);
  std::ranges::stable_sort(told_first, std::greater(), [](const auto* line) { return line->second.size(); });
  response.set_names_left_out(told_first.size() - std::min(told_first.size(), most_names));
  told_first.resize(std::min(told_first.size(), most_names));
  for (const auto* line : told_first) {
    const auto& [name, places] = *line;
    const std::string_view value = places.front()->newest->value();
    conclavepb::Name& told = *response.add_names();
    told.set_name(std::string(name));
    // Locks have no values; who stands for election with none looks like the holder of a lock.
    told.set_kind(value.empty() ? conclavepb::Name::LOCK : conclavepb::Name::ELECTION);
    told.set_phase("holding");
    told.set_fence(static_cast<std::uint64_t>(places.front()->newest->create()));
    tell_place(*told.mutable_holder(), *places.front());
    if (!value.empty()) {
      told.mutable_leader()->set_key(std::string(places.front()->text()));
      told.mutable_leader()->set_value(std::string(value.substr(0, most_value)));
    }
    told.set_queue_length(places.size() - 1);
    for (const kv::Key* place : std::span(places).subspan(1, std::min(most_queue, places.size() - 1)))
      tell_place(*told.add_queue(), *place);
  }
}

void Front::tell_store(conclavepb::Store& told) const {
  const kv::Store& store = machine_.store();
  const kv::History& history = store.history();
  const Compactor& compactor = machine_.compactor();
  told.set_keys(history.live_records());
  told.set_live_bytes(store.live_bytes());
  told.set_history_records(history.records() - history.live_records());
  told.set_history_bytes(store.bytes() - store.live_bytes());
  told.set_history_bound(compactor.bound(store));
  told.set_history_ms(compactor.reach(store, std::chrono::steady_clock::now()).count());
  told.set_compacted(history.compacted());
  told.set_retention(describe_retention(machine_.options().history));
  told.set_quota_bytes(machine_.options().quota_bytes);
}

void Front::tell_place(conclavepb::Client& told, const kv::Key& place) const {
  told.set_key(std::string(place.text()));
  told.set_lease(place.newest->lease());
  const LineTimes::Place* const seen = line_times_.find(place.text());
  if (!seen) return;
  told.set_address(seen->client);
  told.set_since_ms(std::chrono::duration_cast<std::chrono::milliseconds>(LineTimes::Clock::now() -
                                                                          seen->held.value_or(seen->came))
                        .count());
}

// ---- etcd's

pb::StatusResponse Front::etcd_status() const {
  const cluster::ServerStatus now = machine_.server().status();
  pb::StatusResponse response;
  head(response.mutable_header(), machine_.store().revision());
  response.set_version(std::string(rpc::etcd_version));
  response.set_dbsize(static_cast<std::int64_t>(machine_.store().bytes()));
  response.set_dbsizeinuse(static_cast<std::int64_t>(machine_.store().live_bytes()));
  response.set_dbsizequota(static_cast<std::int64_t>(machine_.options().quota_bytes));
  response.set_leader(now.leader ? now.leader->value : 0);
  response.set_raftindex(now.committed);
  response.set_raftterm(now.term);
  response.set_raftappliedindex(machine_.store().applied().index);
  response.set_islearner(now.learners.contains(self_));
  if (!now.leader) response.add_errors("etcdserver: no leader");
  if (!machine_.trouble().ok()) response.add_errors(machine_.trouble().message);
  for (const auto& [member, kind] : machine_.store().alarms())
    response.add_errors(fmt::format("memberID:{} alarm:{} ", member,
                                    kind == kv::AlarmKind::no_space ? "NOSPACE" : "CORRUPT"));
  return response;
}

void Front::offer_maintenance() {
  const std::string maintenance = "/etcdserverpb.Maintenance/";
  const std::string json = "/v3/maintenance/";
  offer<pb::StatusRequest>(maintenance + "Status", json + "status",
                           [this](const auto&, const CallerPtr& caller) { caller->answer(etcd_status()); });
  offer<pb::AlarmRequest>(
      maintenance + "Alarm", json + "alarm",
      [this](const auto& request, const CallerPtr& caller) { alarm(request, caller); }, false,
      rpc::Access::operators);
  // Records are in memory: there are no holes to close.
  offer<pb::DefragmentRequest>(
      maintenance + "Defragment", json + "defragment",
      [](const auto&, const CallerPtr& caller) { caller->answer(pb::DefragmentResponse()); }, false,
      rpc::Access::operators);
  offer<pb::HashRequest>(maintenance + "Hash", json + "hash", [this](const auto&, const CallerPtr& caller) {
    pb::HashResponse response;
    head(response.mutable_header(), machine_.store().revision());
    response.set_hash(static_cast<std::uint32_t>(machine_.store().digest()));
    caller->answer(response);
  });
  offer<pb::HashKVRequest>(
      maintenance + "HashKV", json + "hashkv", [this](const auto& request, const CallerPtr& caller) {
        const kv::History& history = machine_.store().history();
        if (request.revision() > history.revision())
          return caller->refuse(status_of(kv::Error::future_revision));
        if (request.revision() > 0 && request.revision() < history.revision())
          return caller->refuse({rpc::Code::unimplemented, "only the newest revision has a hash"});
        pb::HashKVResponse response;
        head(response.mutable_header(), history.revision());
        response.set_hash(static_cast<std::uint32_t>(history.digest()));
        response.set_compact_revision(history.compacted());
        response.set_hash_revision(history.revision());
        caller->answer(response);
      });
  offer<pb::SnapshotRequest>(
      maintenance + "Snapshot", json + "snapshot",
      [this](const auto&, const CallerPtr& caller) { downloads_.begin(caller); }, true,
      rpc::Access::operators);
}

void Front::alarm(const pb::AlarmRequest& request, const CallerPtr& caller) {
  const auto answer = [this, caller](const rpc::Status& status,
                                     const std::set<std::pair<std::uint64_t, kv::AlarmKind>>& alarms) {
    if (!status.ok()) return caller->refuse(status);
    pb::AlarmResponse response;
    head(response.mutable_header(), machine_.store().revision());
    for (const auto& [member, kind] : alarms) {
      pb::AlarmMember& told = *response.add_alarms();
      told.set_memberid(member);
      told.set_alarm(static_cast<pb::AlarmType>(kind));
    }
    caller->answer(response);
  };
  if (!pb::AlarmType_IsValid(request.alarm()) || !pb::AlarmRequest::AlarmAction_IsValid(request.action()))
    return caller->refuse({rpc::Code::invalid_argument, "etcdserver: unknown alarm"});
  std::set<std::pair<std::uint64_t, kv::AlarmKind>> meant;
  for (const auto& [member, kind] : machine_.store().alarms())
    if ((request.memberid() == 0 || member == request.memberid()) &&
        (request.alarm() == pb::NONE || kind == static_cast<kv::AlarmKind>(request.alarm())))
      meant.insert({member, kind});
  if (request.action() == pb::AlarmRequest::GET) return answer({}, meant);
  if (request.action() == pb::AlarmRequest::ACTIVATE) {
    const kv::Alarm raised = {request.memberid() == 0 ? self_.value : request.memberid(),
                              static_cast<kv::AlarmKind>(request.alarm()), true};
    return machine_.propose(raised, [answer, raised](const Machine::Outcome& outcome) {
      answer(outcome ? rpc::Status{} : outcome.error(), {{raised.member, raised.kind}});
    });
  }
  if (meant.empty()) return answer({}, {});
  for (auto one = meant.begin(); one != meant.end(); ++one) {
    const bool is_last = std::next(one) == meant.end();
    machine_.propose(kv::Alarm{one->first, one->second, false},
                     [answer, meant, is_last](const Machine::Outcome& outcome) {
                       if (is_last) answer(outcome ? rpc::Status{} : outcome.error(), meant);
                     });
  }
}

// There are no users; whoever reaches the port may do everything.
void Front::offer_auth() {
  const std::string service = "/etcdserverpb.Auth/";
  offer<pb::AuthStatusRequest>(service + "AuthStatus", "/v3/auth/status",
                               [this](const auto&, const CallerPtr& caller) {
                                 pb::AuthStatusResponse response;
                                 head(response.mutable_header(), machine_.store().revision());
                                 caller->answer(response);
                               });
  offer<pb::AuthenticateRequest>(
      service + "Authenticate", "/v3/auth/authenticate",
      [](const auto&, const CallerPtr& caller) { caller->refuse(no_authentication); });
}

// ---- pages

void Front::offer_pages() {
  server_.http("/health", [this](const rpc::HttpRequest& http, const rpc::HttpReply& reply) {
    const auto say = [reply](const rpc::Status& status) {
      if (status.ok()) return reply.send(200, "application/json", R"({"health":"true"})");
      const bool nobody = status == no_leader || status == timed_out;
      const std::string_view reason = nobody ? std::string_view("RAFT NO LEADER") : status.message;
      reply.send(503, "application/json",
                 fmt::format(R"({{"health":"false","reason":{}}})", live::in_quotes(reason)));
    };
    if (!machine_.trouble().ok()) return say(machine_.trouble());
    if (http.query.contains("serializable=true")) return say({});
    if (!machine_.server().leader()) return say(no_leader);
    if (machine_.writes_stand_still()) return say(nothing_is_applied);
    machine_.read(say);
  });
  server_.http("/version", [](const rpc::HttpRequest&, const rpc::HttpReply& reply) {
    reply.send(200, "application/json",
               fmt::format(R"({{"etcdserver":"{0}","etcdcluster":"{0}"}})", rpc::etcd_version));
  });
  server_.http("/metrics", [this](const rpc::HttpRequest&, const rpc::HttpReply& reply) {
    reply.send(200, "text/plain; version=0.0.4", metrics());
  });
}

void Front::add_store(rpc::MetricsPage& page) const {
  conclavepb::Store now;
  tell_store(now);
  const CompactorStats& stats = machine_.compactor().stats();
  const auto number = [](std::int64_t value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
  };
  page.gauge("store_bytes", "What keys, values, leases and history take.", machine_.store().bytes());
  page.gauge("quota_bytes", "What they may take.", now.quota_bytes());
  page.gauge("keys", "Keys that exist.", now.keys());
  page.gauge("live_bytes", "What those, their values and leases take.", now.live_bytes());
  page.gauge("leases", "Leases of the cluster.", machine_.store().leases().all().size());
  page.gauge("history_records", "Values that were replaced or deleted, and deletions.",
             now.history_records());
  page.gauge("history_bytes", "What those take.", now.history_bytes());
  page.gauge("history_bound_bytes", "With more than that, history is shortened whatever its age.",
             now.history_bound());
  page.gauge("history_seconds", "How far history goes back, as far as this member has been there.",
             number(now.history_ms() / 1000));
  page.gauge("compacted_revision", "Up to there is no history.", number(now.compacted()));
  page.counter("compactions_total", "Compactions that this member asked for by itself.", stats.compactions);
  page.counter("sweeps_total", "Entries of the log that only did what compactions had left to do.",
               stats.sweeps);
  page.counter("heap_trims_total", "Times that free memory was given back to the system.",
               machine_.heap().trims());
  page.gauge("heap_trim_worst_us", "What that took at most.",
             number(in_microseconds(machine_.heap().longest_trim())));
  page.counter("watcher_needs_total", "Entries of the log that said what watchers of this member need.",
               stats.needs);
}

std::string Front::metrics() const {
  rpc::MetricsPage page;
  const cluster::ServerStatus now = machine_.server().status();
  const MachineStats& stats = machine_.stats();
  page.gauge("leads", "1 while this member leads.", now.role == "leader" ? 1 : 0);
  page.gauge("has_leader", "1 while this member knows a leader.", now.leader ? 1 : 0);
  page.gauge("term", "Raft's term.", now.term);
  page.gauge("committed", "Entries of the log that are committed.", now.committed);
  page.gauge("last_index", "Entries of the log.", now.last_index);
  page.gauge("snapshot_index", "Entries that are in the snapshot.", now.snapshot_index);
  page.gauge("revision", "Of the store.", static_cast<std::uint64_t>(machine_.store().revision()));
  add_store(page);
  page.gauge("watch_streams", "Streams of clients that watch here.", watches_.streams());
  page.gauge("watchers", "Watchers of this member.", machine_.watches().size());
  page.gauge("watchers_behind", "Watchers of this member that do not know everything yet.",
             machine_.watches().behind());
  page.gauge("watcher_bytes", "What the watchers of this member take.", machine_.watches().bytes());
  page.counter("watchers_refused_total", "Watchers for whom there was no room.", watches_.refused());
  page.gauge("waiting", "Clients of this member that wait for a lock or an election.", waiters_.size());
  page.gauge("sessions", "Locks and candidacies that live with a connection here.", sessions_.size());
  page.gauge("observers", "Clients that observe an election here.", observing_.taken());
  page.gauge("stopped_at", "The entry of the log that cannot be applied here; 0: none.", now.stopped_at);
  page.gauge("writes_stand_still", "1 while nothing that was proposed here is applied, for too long.",
             machine_.writes_stand_still() ? 1 : 0);
  page.gauge("open_proposals", "Commands of this member that are not committed.", now.open_proposals);
  page.gauge("flush_median_us", "What a flush of the disk takes.",
             static_cast<std::uint64_t>(in_microseconds(now.flush_median)));
  page.gauge("flush_worst_us", "What the longest flush took.",
             static_cast<std::uint64_t>(in_microseconds(now.flush_worst)));
  page.counter("flushes_total", "Flushes of the disk.", now.flushes);
  page.counter("proposals_total", "Commands that clients of this member gave.", stats.proposals);
  page.counter("applied_total", "Commands that were applied here.", stats.applied);
  page.counter("reads_total", "Reads that asked the leader.", stats.reads);
  page.counter("read_rounds_total", "Questions to the leader that answered them.", stats.read_rounds);
  page.counter("timed_out_total", "Commands and reads that took too long.", stats.timed_out);
  page.counter("turned_away_total", "Requests for which there was no room.", stats.turned_away);
  const AnswerStats& answers = answers_.stats();
  page.counter("wide_reads_total", "Reads of many keys or large values.", answers.wide);
  page.counter("reads_waited_total", "Times that a read waited until there was room for its answer.",
               answers.waited);
  page.counter("answers_too_large_total",
               "Requests that were refused because their answer would be too large.", answers.too_large);
  page.counter("long_commands_total", "Commands that touch many keys and are applied one at a time.",
               long_commands_);
  page.counter("long_commands_refused_total", "Commands that touch many keys for which the queue was full.",
               long_commands_refused_);
  page.gauge("long_commands_waiting", "Commands that touch many keys and wait for their turn.",
             heavy_.waiting());
  page.gauge("slices_waiting", "Pieces of long work that wait for their turn.", slices_.waiting());
  page.gauge("downloads", "Clients that are being sent the whole state.", downloads_.under_way());
  page.gauge("downloads_waiting", "Clients that wait for the whole state to be made.", downloads_.waiting());
  page.gauge("downloads_states", "Different states that are kept for those clients.", downloads_.states());
  page.counter("waiting_refused_total",
               "Clients that could not wait for a lock or an election, for want of room.",
               waiting_.refused());
  page.counter("sessions_refused_total", "Locks and candidacies without a lease for which there was no room.",
               lasting_.refused());
  page.counter("observers_refused_total", "Clients that could not observe an election, for want of room.",
               observing_.refused());
  page.counter("renewals_refused_total", "Renewals of leases for which there was no room.",
               keeping_.refused());
  page.counter("renewals_total", "Renewals of leases that clients of this member asked for.", stats.renewals);
  page.counter("renewal_entries_total", "Entries of the log that they took.", stats.renewal_entries);
  std::uint64_t wrong_frames = 0;
  for (const auto& [peer, told] : now.peers) wrong_frames += told.link.wrong_frames;
  page.counter("peer_wrong_frames_total",
               "Frames in a peer's name that it had not sealed, or not as its next.", wrong_frames);
  page.counter("peer_refusals_total",
               "Connections of members and strangers that were refused or ended for cause.",
               now.door.refused);
  page.counter("snapshots_total", "Snapshots that were written.", stats.snapshots);
  page.counter("restored_total", "Snapshots that were taken over.", stats.restored);
  page.gauge("agreed_index", "After this entry a majority had the state that this member had.",
             stats.agreed_index);
  rpc::tell(page, server_.stats());
  return std::move(page.text);
}

}  // namespace conclave::etcd
