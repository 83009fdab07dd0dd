#include "etcd/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <limits>
#include <random>

#include "core/ensure.hpp"
#include "storage/drafts.hpp"

namespace conclave::etcd {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_rounds = 4;         // of Raft for reads, at a time,
constexpr std::size_t most_asked = 16;         // … and with those that nobody waits for any more
constexpr std::size_t most_savers = 16;        // of the state, at a time
constexpr std::size_t renewed_at_once = 1024;  // leases, by one entry
static_assert(renewed_at_once <= kv::max_renewed);
constexpr auto deadline_step = 100ms;
// Records that nobody needs any more: so many are given back at a time, when no commands do it.
constexpr std::size_t tidied_at_once = 4096;
constexpr auto history_pause = 10ms;  // between two entries that shorten the history
constexpr auto last_words = 500ms;    // of a member that was removed

}  // namespace

rpc::Status status_of(kv::Error error) {
  const std::string text = "etcdserver: " + std::string(kv::describe(error));
  switch (error) {
    case kv::Error::key_not_provided:
    case kv::Error::key_not_found:
    case kv::Error::value_provided:
    case kv::Error::lease_provided:
    case kv::Error::too_many_operations:
    case kv::Error::duplicate_key:
    case kv::Error::request_too_large: return {rpc::Code::invalid_argument, text};
    case kv::Error::compacted:
    case kv::Error::future_revision:
    case kv::Error::ttl_too_large: return {rpc::Code::out_of_range, text};
    case kv::Error::answer_too_large:
    case kv::Error::no_space: return {rpc::Code::resource_exhausted, text};
    case kv::Error::corrupt: return {rpc::Code::data_loss, text};
    case kv::Error::lease_not_found: return {rpc::Code::not_found, text};
    case kv::Error::lease_exists: return {rpc::Code::failed_precondition, text};
  }
  return {rpc::Code::unknown, text};
}

std::expected<std::unique_ptr<Machine>, std::string> Machine::open(boost::asio::io_context& loop,
                                                                   const MachineOptions& options,
                                                                   Failed failed, live::Log log) {
  std::unique_ptr<Machine> machine(new Machine(loop, options, std::move(failed), log));
  auto server = cluster::Server::open(loop, machine->options_.server, machine->server_events(), log);
  if (!server) return std::unexpected(server.error());
  if (machine->failed_) return std::unexpected("the snapshot in " + options.server.data + " is of no use");
  machine->server_ = std::move(*server);
  machine->look_at_clock();
  machine->look_after_history();
  machine->look_at_deadlines();
  return machine;
}

Machine::Machine(boost::asio::io_context& loop, const MachineOptions& options, Failed failed, live::Log log)
    : loop_(loop),
      options_(options),
      tell_failed_(std::move(failed)),
      log_(std::move(log)),
      table_seed_(std::random_device{}() | std::uint64_t{std::random_device{}()} << 32),
      ending_(loop),
      renewal_clock_(loop),
      deadlines_(loop),
      clock_(loop),
      compactor_(options.server.links.self.value, options.history, options.quota_bytes),
      history_clock_(loop) {
  renew_store(std::make_unique<kv::Store>(table_seed_));
}

Machine::~Machine() {
  *alive_ = false;
  draft_.reset();  // before the server, whose disk it is on
}

cluster::Events Machine::server_events() {
  return {.acceptable =
              [](NodeId from, const Payload& bytes) {
                const auto command = decode<kv::Command>(bytes.bytes());
                if (!command || !kv::check(*command)) return false;
                const auto* const vouch = std::get_if<kv::Vouch>(&*command);
                const auto* const need = std::get_if<kv::Need>(&*command);
                return (!vouch || vouch->member == from.value) && (!need || need->member == from.value);
              },
          .state_comes = [this](bool begins,
                                std::span<const std::uint8_t> bytes) { return state_comes(begins, bytes); },
          .state_is_there = [this](std::uint64_t index,
                                   std::uint64_t term) { return state_is_there(index, term); },
          .applied = [this](std::uint64_t index, std::uint64_t term, const Payload& command,
                            std::uint64_t mine) { return applied(index, term, command, mine); },
          .stopped = [this](const std::string& why) { stopped(why); },
          .skipped = [this](std::uint64_t index) { skipped(index); },
          .restored = [this](std::uint64_t index, const Bulk& state) { restored(index, state); },
          .taken = [this](std::uint64_t serial) { taken(serial); },
          .readable = [this](std::uint64_t serial) { readable(serial); },
          .leading = [this](std::uint64_t) { leading(); },
          .failed = [this](const std::string& why) { fail(why); },
          .members_changed =
              [this] {
                if (events_.members_changed) events_.members_changed();
              },
          .answered =
              [this](std::uint64_t serial, std::expected<NodeId, cluster::BookError> done) {
                if (events_.answered) events_.answered(serial, done);
              },
          .expelled = [this](const std::string& why) { expelled(why); }};
}

void Machine::renew_store(std::unique_ptr<kv::Store> store) {
  writer_.reset();
  draft_.reset();
  ++drafts_;
  watches_.reset();
  lines_.reset();
  store_ = std::move(store);
  watches_ = std::make_unique<kv::Watches>(*store_);
  lines_ = std::make_unique<kv::Lines>(*store_);
}

std::int64_t Machine::least_ttl() const {
  // A follower waits twice its patience for a leader, and half of that again for the election.
  const auto election = 3 * (options_.server.patience + options_.server.handicap);
  return std::max<std::int64_t>(1, (election.count() + 999) / 1000);
}

void Machine::later(std::move_only_function<void()> then) {
  boost::asio::post(loop_, [alive = alive_, then = std::move(then)]() mutable {
    if (*alive) then();
  });
}

template <class Then>
void Machine::after(boost::asio::steady_timer& timer, std::chrono::milliseconds time, Then then) {
  timer.expires_after(time);
  timer.async_wait([alive = alive_, then](const boost::system::error_code& error) {
    if (!error && *alive) then();
  });
}

// ---- what goes into the log

void Machine::propose(const kv::Command& command, Answered then) {
  const auto refuse = [&](const rpc::Status& status) {
    later([then = std::move(then), status]() mutable { then(std::unexpected(status)); });
  };
  if (!trouble_.ok()) return refuse(trouble_);
  if (const auto fine = kv::check(command); !fine) return refuse(status_of(fine.error()));
  const Bytes bytes = encode(command);
  if (bytes.size() > options_.request_bytes) return refuse(status_of(kv::Error::request_too_large));
  const bool has_room =
      proposals_.size() < options_.most_proposals &&
      (proposals_.empty() || proposed_bytes_ + bytes.size() <= options_.most_proposed_bytes);
  if (!has_room) {
    ++stats_.turned_away;
    return refuse(too_many_requests);
  }
  put_into_log(bytes, std::move(then));
}

void Machine::put_into_log(const Bytes& bytes, Answered then) {
  ++stats_.proposals;
  proposed_bytes_ += bytes.size();
  const std::uint64_t serial = server_->propose(Payload(bytes));
  ensure(proposals_.empty() || proposals_.back().serial < serial, "proposals are numbered in order");
  proposals_.push_back({serial, bytes.size(), Clock::now() + options_.patience, std::move(then)});
}

std::string Machine::applied(std::uint64_t index, std::uint64_t term, const Payload& command,
                             std::uint64_t mine) {
  if (failed_) return {};
  auto answer = store_->apply(command.bytes(), {index, term}, outcome_);
  if (!answer) return fmt::format("no command that this version knows: {}", describe(answer.error()));
  ++stats_.applied;
  index_ = index;
  watches_->see(outcome_);
  compactor_.applied(*store_, outcome_, Clock::now());
  consider_history(command.size());
  if (events_.changed) events_.changed(outcome_);
  if (mine != 0) this->answer(mine, std::move(*answer));
  compare_states();
  consider_snapshot(command.size());
  return {};
}

// Whoever waits would wait in vain, or be told what was true once.
void Machine::stopped(const std::string& why) {
  trouble_ = {rpc::Code::unavailable, why};
  proposed_bytes_ = 0;
  for (Proposal& proposal : std::exchange(proposals_, {}))
    if (proposal.then) proposal.then(std::unexpected(trouble_));
  reading_ = 0;
  for (Round& round : std::exchange(rounds_, {}))
    for (Reader& reader : round.readers) reader.then(trouble_);
  for (Reader& reader : std::exchange(readers_, {})) reader.then(trouble_);
  for (auto* savers : {&serving_, &savers_})
    for (Saver& saver : std::exchange(*savers, {})) saver(std::unexpected(trouble_));
  if (events_.stopped) events_.stopped();
}

// With a state of later on the disk, the next start need not be told again.
void Machine::skipped(std::uint64_t index) {
  if (failed_) return;
  index_ = index;
  plan_snapshot();
}

// Where everybody is after the same entry, whenever that is.
void Machine::compare_states() {
  if (outcome_.vouch) hear(*outcome_.vouch);
  if (index_ % options_.vouch_entries != 0) return;
  const std::uint32_t self = options_.server.links.self.value;
  const kv::Vouch ours = {self, index_, store_->digest()};
  agreement_.note(ours.index, ours.digest);
  later([this, ours] { propose(ours, [](const Outcome&) {}); });
}

void Machine::hear(const kv::Vouch& vouch) {
  using Verdict = kv::Agreement::Verdict;
  const auto say = [&](std::string_view event) {
    log_(live::LogLevel::error, fmt::format("event={} index={} member={} digest={:016x}", event, vouch.index,
                                            vouch.member, vouch.digest));
  };
  switch (agreement_.hear(vouch, server_->status().voters)) {
    case Verdict::nothing: return;
    case Verdict::agreed: stats_.agreed_index = agreement_.agreed(); return;
    case Verdict::another_differs: return say("state_differs");
    case Verdict::nobody_knows:
      say("state_differs");
      return later([this] {
        propose(kv::Alarm{options_.server.links.self.value, kv::AlarmKind::corrupt, true},
                [](const Outcome&) {});
      });
    case Verdict::we_differ:
      say("state_differs");
      return fail(
          fmt::format("after entry {} of the log this member's state is not that of the others: its memory "
                      "or disk is not "
                      "to be trusted; remove it and add another in its place",
                      vouch.index));
  }
}

// What is numbered lower was not applied and never will be; it came from an earlier run or was told already.
void Machine::answer(std::uint64_t serial, kv::Answer answer) {
  if (proposals_.empty() || serial < proposals_.front().serial) return;
  taken(serial - 1);
  if (proposals_.empty() || proposals_.front().serial != serial) return;
  Proposal proposal = std::move(proposals_.front());
  proposals_.pop_front();
  proposed_bytes_ -= proposal.bytes;
  answered_ = Clock::now();
  if (!proposal.then) return;
  if (const auto* error = std::get_if<kv::Error>(&answer.result))
    return proposal.then(std::unexpected(status_of(*error)));
  proposal.then(std::move(answer));
}

// They are done, or never will be; nobody here can tell which.
void Machine::taken(std::uint64_t serial) {
  while (!proposals_.empty() && proposals_.front().serial <= serial) {
    Proposal proposal = std::move(proposals_.front());
    proposals_.pop_front();
    proposed_bytes_ -= proposal.bytes;
    if (proposal.then) proposal.then(std::unexpected(timed_out));
  }
}

bool Machine::writes_stand_still() const {
  const auto now = Clock::now();
  return !proposals_.empty() && proposals_.front().deadline <= now && answered_ + options_.patience <= now;
}

void Machine::look_at_deadlines() {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < proposals_.size() && proposals_[i].deadline <= now; ++i) {
    if (!proposals_[i].then) continue;
    ++stats_.timed_out;
    std::exchange(proposals_[i].then, {})(std::unexpected(timed_out));
  }
  for (Round& round : rounds_) expire(round.readers, now);
  expire(readers_, now);
  begin_round();
  after(deadlines_, deadline_step, [this] { look_at_deadlines(); });
}

void Machine::expire(std::vector<Reader>& readers, Clock::time_point now) {
  const auto alive = std::ranges::find_if(readers, [&](const Reader& one) { return one.deadline > now; });
  if (alive == readers.begin()) return;
  std::vector<Reader> expired(std::make_move_iterator(readers.begin()), std::make_move_iterator(alive));
  readers.erase(readers.begin(), alive);
  reading_ -= expired.size();
  stats_.timed_out += expired.size();
  for (Reader& reader : expired) reader.then(timed_out);
}

// ---- reads

void Machine::read(Readable then) {
  if (!trouble_.ok()) return later([then = std::move(then), why = trouble_]() mutable { then(why); });
  if (reading_ >= options_.most_readers) {
    ++stats_.turned_away;
    return later([then = std::move(then)]() mutable { then(too_many_requests); });
  }
  ++reading_;
  ++stats_.reads;
  readers_.push_back({Clock::now() + options_.patience, std::move(then)});
  if (std::exchange(round_is_due_, true)) return;
  later([this] {
    round_is_due_ = false;
    begin_round();
  });
}

// One for all that asked since the last: a round that began before they asked is no answer to them. A round
// whose readers gave up keeps nobody else from beginning one. Raft goes on asking for it all the same, so
// there is an end to how many of those there may be; while nobody answers, another question would not help.
void Machine::begin_round() {
  const auto awaited =
      std::ranges::count_if(rounds_, [](const Round& round) { return !round.readers.empty(); });
  const bool has_room = static_cast<std::size_t>(awaited) < most_rounds && rounds_.size() < most_asked;
  if (readers_.empty() || !has_room) return;
  ++stats_.read_rounds;
  const std::uint64_t serial = server_->read();
  rounds_.push_back({serial, std::exchange(readers_, {})});
  settle_rounds();
}

void Machine::readable(std::uint64_t serial) {
  readable_ = std::max(readable_, serial);
  settle_rounds();
}

void Machine::settle_rounds() {
  while (!rounds_.empty() && rounds_.front().serial <= readable_) {
    Round round = std::move(rounds_.front());
    rounds_.pop_front();
    reading_ -= round.readers.size();
    for (Reader& reader : round.readers) reader.then({});
    begin_round();
  }
}

// ---- leases

// Whether something may change in the log. A lease that is not there may have been granted elsewhere, and one
// that has not begun to run may have: what the store has must be up to date before it counts.
bool Machine::needs_entry(kv::LeaseId lease) const {
  const kv::Lease* const found = store_->leases().find(lease);
  return found && !kv::Leases::is_fresh(*found);
}

void Machine::renew(kv::LeaseId lease, Renewed then) {
  const rpc::Status& why = renewing_ >= options_.most_renewals ? too_many_requests : trouble_;
  if (!why.ok()) {
    if (trouble_.ok()) ++stats_.turned_away;
    return later([then = std::move(then), why]() mutable { then(std::unexpected(why)); });
  }
  ++renewing_;
  ++stats_.renewals;
  if (needs_entry(lease)) return enter({lease, std::move(then)});
  doubtful_.push_back({lease, std::move(then)});
  if (std::exchange(looking_is_due_, true)) return;
  later([this] {
    looking_is_due_ = false;
    look_again();
  });
}

// A lease that begins to run at the next step of the clock would do so after a renewal as well.
void Machine::look_again() {
  read([this, all = std::exchange(doubtful_, {})](const rpc::Status& status) mutable {
    for (Renewal& one : all) {
      if (!status.ok()) {
        renewed(one.then, std::unexpected(status));
      } else if (needs_entry(one.lease)) {
        enter(std::move(one));
      } else {
        const kv::Lease* const found = store_->leases().find(one.lease);
        renewed(one.then, found ? found->ttl : 0);
      }
    }
  });
}

void Machine::renewed(Renewed& then, const std::expected<std::int64_t, rpc::Status>& ttl) {
  --renewing_;
  then(ttl);
}

void Machine::enter(Renewal renewal) {
  std::vector<Renewed>& asked = renewals_.asked[renewal.lease];
  if (asked.empty()) renewals_.order.push_back(renewal.lease);
  asked.push_back(std::move(renewal.then));
  plan_renewals();
}

// One entry at a time, and none right after another: whoever renews fast does not fill the log.
void Machine::plan_renewals() {
  if (renewals_.order.empty() || std::exchange(renewing_is_due_, true)) return;
  const auto next = entered_ + options_.renewal_pause;
  if (next <= Clock::now()) return later([this] { propose_renewals(); });
  after(renewal_clock_, std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()),
        [this] { propose_renewals(); });
}

void Machine::propose_renewals() {
  entered_ = Clock::now();
  ++stats_.renewal_entries;
  kv::LeaseRenew command;
  std::vector<std::vector<Renewed>> thens;
  while (command.ids.size() < renewed_at_once && !renewals_.order.empty()) {
    command.ids.push_back(renewals_.order.front());
    renewals_.order.pop_front();
    thens.push_back(std::move(renewals_.asked.extract(command.ids.back()).mapped()));
  }
  propose(command, [this, thens = std::move(thens)](const Outcome& outcome) mutable {
    renewing_is_due_ = false;
    for (std::size_t i = 0; i < thens.size(); ++i)
      for (Renewed& then : thens[i]) {
        if (outcome)
          renewed(then, std::get<kv::RenewResult>(outcome->result).ttls[i]);
        else
          renewed(then, std::unexpected(outcome.error()));
      }
    plan_renewals();
  });
}

void Machine::leading() {
  ticked_ = Clock::now();
  ticking_ = false;
}

// What was measured belongs to the term in which this member led all the time; if it does not any more when
// the entry is made, the entry says nothing.
void Machine::look_at_clock() {
  const bool has_leases = !store_->leases().all().empty();
  const auto now = Clock::now();
  if (!server_->leads() || !has_leases || !trouble_.ok()) {
    ticked_ = now;
  } else if (!ticking_) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - ticked_);
    ticked_ += elapsed;
    ticking_ = true;
    propose(kv::Tick{server_->term(), static_cast<std::uint64_t>(elapsed.count())}, [this](const Outcome&) {
      ticking_ = false;
      if (store_->leases().has_due()) look_at_clock();
    });
  }
  after(clock_, options_.tick, [this] { look_at_clock(); });
}

// A small quota may be full before the clock comes round.
void Machine::consider_history(std::size_t bytes) {
  constexpr std::uint64_t parts = 64;
  history_bytes_ += bytes;
  if (shortens_history_ || history_bytes_ < options_.quota_bytes / parts) return;
  history_bytes_ = 0;
  after(history_clock_, 0ms, [this] { look_after_history(); });
}

// What keeps the store small has a place in the log however many commands of clients wait for theirs.
void Machine::look_after_history() {
  const auto again = [this](std::chrono::milliseconds pause) {
    after(history_clock_, pause, [this] { look_after_history(); });
  };
  if (!trouble_.ok()) return again(options_.tick);
  const bool to_be_tidied = store_->tidy(tidied_at_once);
  const bool has_more = heap_.look(store_->bytes()) || to_be_tidied;
  const auto command = compactor_.next(*store_, *watches_, server_->leads(), Clock::now());
  if (!command) return again(has_more ? history_pause : options_.tick);
  if (const auto* alarm = std::get_if<kv::Alarm>(&*command))
    log_(live::LogLevel::warning,
         fmt::format("event={} bytes={} live={}", alarm->raised ? "no_space" : "space", store_->bytes(),
                     store_->live_bytes()));
  shortens_history_ = true;
  put_into_log(encode(*command), [this, again](const Outcome&) {
    shortens_history_ = false;
    again(history_pause);
  });
}

// ---- snapshots

// What follows is applied to it: it must not be ahead of that.
bool Machine::state_is_there(std::uint64_t index, std::uint64_t term) {
  arriving_.reset();
  if (!reader_) return false;
  auto store = std::exchange(reader_, std::nullopt)->finish();
  if (!store || (*store)->applied().index > index || (*store)->applied().term > term) return false;
  arriving_ = std::move(*store);
  return true;
}

bool Machine::state_comes(bool begins, std::span<const std::uint8_t> bytes) {
  if (begins) reader_.emplace(table_seed_);
  if (!reader_) return false;
  if (reader_->feed(bytes)) return true;
  reader_.reset();
  return false;
}

std::expected<std::unique_ptr<kv::Store>, std::string> Machine::read_state(std::uint64_t index,
                                                                           const Bulk& state) const {
  const auto wrong = [](kv::SnapshotError error) {
    return std::unexpected(std::string(kv::describe(error)));
  };
  constexpr std::uint64_t step = 1 << 20;
  kv::SnapshotReader reader(table_seed_);
  try {
    for (std::uint64_t at = 0; at < state.size(); at += step)
      if (const auto fed = reader.feed(state.part(at, step).bytes()); !fed) return wrong(fed.error());
  } catch (const Unreadable& why) {
    return std::unexpected(why.what());
  }
  auto store = reader.finish();
  if (!store) return wrong(store.error());
  if ((*store)->applied().index > index)
    return std::unexpected("it is later than the entry with which it ends");
  return std::move(*store);
}

void Machine::restored(std::uint64_t index, const Bulk& state) {
  if (failed_) return;
  auto store = std::exchange(arriving_, nullptr);
  if (!store) {
    auto read = read_state(index, state);
    if (!read) return fail("the snapshot cannot be read: " + read.error());
    store = std::move(*read);
  }
  renew_store(std::move(store));
  trouble_ = {};
  agreement_.forget();
  compactor_.restored();
  ++stats_.restored;
  index_ = snapshot_index_ = index;
  snapshot_size_ = state.size();
  bytes_since_ = 0;
  is_for_raft_ = false;
  log_(live::LogLevel::info,
       fmt::format("event=restored index={} revision={} bytes={}", index, store_->revision(), state.size()));
  std::ranges::move(std::exchange(serving_, {}), std::back_inserter(savers_));
  if (!savers_.empty()) plan_writing();
  if (events_.restored) events_.restored();
}

// Members take turns: their snapshots are due at different places of the log.
std::uint64_t Machine::snapshot_after() const {
  constexpr std::uint64_t turns = 8;
  const std::uint64_t due =
      std::max<std::uint64_t>(options_.snapshot_bytes, snapshot_size_ / options_.snapshot_part);
  return due + due * (options_.server.links.self.value % turns) / (2 * turns);
}

// While somebody gets the last one, the next would take its place in vain; but not for ever.
void Machine::consider_snapshot(std::size_t bytes) {
  constexpr std::size_t of_an_entry = 128;  // besides its command, in memory
  constexpr std::uint64_t patience = 4;
  bytes_since_ += bytes + of_an_entry;
  const std::uint64_t due = snapshot_after();
  if (bytes_since_ < due && index_ - snapshot_index_ < options_.snapshot_entries) return;
  if (writer_ || Clock::now() < not_before_) return;
  if (bytes_since_ < patience * due && server_->sends_snapshot()) return;
  plan_snapshot();
}

void Machine::save(Saver then) {
  if (!trouble_.ok())
    return later([then = std::move(then), why = trouble_]() mutable { then(std::unexpected(why)); });
  if (savers_.size() >= most_savers)
    return later([then = std::move(then)]() mutable { then(std::unexpected(too_many_requests)); });
  savers_.push_back(std::move(then));
  plan_writing();
}

void Machine::plan_snapshot() {
  if (writer_ || draft_) return;
  is_for_raft_ = true;
  plan_writing();
}

void Machine::plan_writing() {
  if (writer_ || draft_ || std::exchange(writing_is_due_, true)) return;
  // When all that is committed has been applied, which is so between two turns of the loop.
  later([this] {
    writing_is_due_ = false;
    begin_snapshot();
  });
}

void Machine::begin_snapshot() {
  if (writer_ || draft_ || failed_ || !trouble_.ok()) return;
  Bytes preface = is_for_raft_ ? server_->capture() : Bytes();
  preface_ = preface.size();
  const std::uint64_t number = ++drafts_;
  auto draft =
      server_->draft({.room =
                          [this, number] {
                            if (number == drafts_) write_snapshot();
                          },
                      .ended = [this, number](auto file) { wrote_snapshot(number, std::move(file)); }});
  serving_ = std::exchange(savers_, {});
  if (!draft) return give_up_snapshot(draft.error());
  draft_ = std::move(*draft);
  draft_->append(std::move(preface));
  writer_ = std::make_unique<kv::SnapshotWriter>(*store_);
  written_ = writer_->at().index;
  if (is_for_raft_) {
    snapshot_index_ = index_;
    bytes_since_ = 0;
  }
  write_snapshot();
}

// A piece in a turn of the loop, as long as the disk takes them.
void Machine::write_snapshot() {
  if (!writer_ || !draft_->has_room()) return;
  Bytes piece;
  piece.reserve(options_.snapshot_piece + options_.snapshot_piece / 8);
  const bool more = writer_->write(piece, options_.snapshot_piece);
  draft_->append(std::move(piece));
  if (more)
    return later([this, writer = writer_.get()] {
      if (writer == writer_.get()) write_snapshot();
    });
  writer_.reset();
  draft_->end(is_for_raft_ ? storage::Draft::Fate::keep : storage::Draft::Fate::lend);
}

// Those who save it share the file with Raft.
void Machine::wrote_snapshot(std::uint64_t draft, storage::Result<storage::SnapshotReader> file) {
  if (draft != drafts_) return;
  draft_.reset();
  if (!file) return give_up_snapshot(file.error());
  const Bulk state = storage::bulk_of(std::move(*file));
  ++stats_.snapshots;
  log_(live::LogLevel::debug, fmt::format("event=snapshot index={} bytes={}", written_, state.size()));
  if (std::exchange(is_for_raft_, false)) {
    snapshot_size_ = state.size();
    server_->compact(state);
  }
  const Saved saved = {written_, state.from(preface_)};
  for (Saver& saver : std::exchange(serving_, {})) saver(saved);
  if (!savers_.empty()) plan_writing();
}

// The log goes on without it. What is wanting may be there later; of a disk that fails the log knows, too.
void Machine::give_up_snapshot(const storage::Failure& why) {
  constexpr auto pause = 5s;
  draft_.reset();
  writer_.reset();
  is_for_raft_ = false;
  not_before_ = Clock::now() + pause;
  log_(live::LogLevel::warning, "event=snapshot_given_up why=" + live::in_quotes(why.text));
  const rpc::Status status = {rpc::Code::unavailable, "the state cannot be written now: " + why.text};
  for (Saver& saver : std::exchange(serving_, {})) saver(std::unexpected(status));
  if (!savers_.empty()) plan_writing();
  if (!why.passes()) fail(why.text);
}

void Machine::fail(const std::string& why) {
  if (std::exchange(failed_, true)) return;
  log_(live::LogLevel::error, "event=store_failed why=" + live::in_quotes(why));
  if (tell_failed_) tell_failed_(End::failed, why);
}

// What is said to others last is still on its way.
void Machine::expelled(const std::string& why) {
  if (std::exchange(failed_, true)) return;
  expelled_ = true;
  if (events_.members_changed) events_.members_changed();
  after(ending_, last_words, [this, why] {
    if (tell_failed_) tell_failed_(End::expelled, why);
  });
}

}  // namespace conclave::etcd
