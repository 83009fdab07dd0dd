#include "cluster/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <random>

#include "cluster/identity.hpp"
#include "cluster/numbers.hpp"
#include "core/random.hpp"
#include "live/part_file.hpp"
#include "live/replica.hpp"
#include "protocols/raft/objection.hpp"
#include "storage/starts.hpp"

namespace conclave::cluster {
namespace {

using raft::Raft;
using Error = std::unexpected<std::string>;

// Of several who may stand, each waits for the one before it.
constexpr std::chrono::milliseconds stagger{20};

raft::Raft::Setup setup_of(const ServerOptions& options) {
  const auto ticks = [](std::chrono::milliseconds time) { return static_cast<std::uint64_t>(time.count()); };
  return {.heartbeat_ticks = ticks(options.heartbeat),
          .patience_ticks = ticks(options.patience),
          .handicap_ticks = ticks(options.handicap),
          .stagger_ticks = ticks(stagger),
          .most_entries = options.most_entries,
          .keep_entries = options.keep_entries,
          .most_dropped = 256};
}

NodeSet ids_of(const std::vector<live::Peer>& members) {
  NodeSet ids;
  for (const live::Peer& peer : members) ids.insert(peer.id);
  return ids;
}

std::vector<std::uint32_t> ids(const NodeSet& nodes) {
  std::vector<std::uint32_t> ids;
  for (NodeId node : nodes) ids.push_back(node.value);
  return ids;
}

// Members that drew the same still wait for different times.
std::uint64_t timer_seed(NodeId self) {
  std::random_device device;
  return scramble((std::uint64_t{device()} << 32 | device()) + scramble(self.value));
}

// What links tell processes of a member by. An older copy of a directory begins with a number that was used,
// so it is not all; and the draw is not either, since machines that start from one image may draw the same.
std::uint64_t incarnation_of(std::uint64_t start) {
  std::random_device device;
  const std::uint64_t drawn = std::uint64_t{device()} << 32 | device();
  return std::max<std::uint64_t>(1, scramble(drawn + scramble(start)));
}

// Changes of the book stand among the commands of the machine; those have the value 0.
constexpr std::uint64_t for_the_machine = 0;
constexpr std::uint64_t for_the_book = 1;

// How often the leader looks whether the members are those of the book.
constexpr std::chrono::milliseconds look_every{100};
// So long without a leader, others may know members that we do not.
constexpr std::uint64_t looks_without_leader = 30;
// A leader that leaves tries so often to find an heir first.
constexpr std::uint64_t most_transfers = 30;
// A leader that applies nothing tries once in so many looks to make somebody else lead.
constexpr std::uint64_t looks_between_heirs = 10;

// Whoever speaks an earlier Raft is refused; its messages could not be read, or ours by it. 2: votes say what
// they are for. 3: notices of what is committed.
constexpr const char* messages_version = "/3";

// Two that do not lead have little to say to each other until the leader is gone: one that was restarted must
// have been dialled by then.
constexpr std::chrono::milliseconds longest_redial{100};

Found foundation(const ServerOptions& options) {
  Found found;
  for (const live::Peer& peer : options.links.members) {
    BookMember& member = found.members[peer.id];
    member = {.host = peer.host, .port = peer.port, .votes = true};
    if (const auto urls = options.clients.find(peer.id); urls != options.clients.end())
      member.clients = urls->second;
  }
  return found;
}

// Up to where a peer has said that its disk has the log of this term.
struct Acknowledged {
  raft::Term term = {};
  raft::Index match = {};
};
constexpr std::string_view older_copy =
    "its directory is an older copy of itself: entries are gone that it had";
constexpr std::string_view unknown_commands =
    "its directory is an older copy of itself: the log has commands under its name that it did not give";

class RaftServer final : public Server {
 public:
  RaftServer(boost::asio::io_context& loop, Events events, live::Log log)
      : events_(std::move(events)), log_(std::move(log)), looking_(loop) {}

  std::expected<void, std::string> begin(boost::asio::io_context& loop, const ServerOptions& options) {
    self_ = options.links.self;
    joins_ = options.join;
    skip_ = options.skip;
    foundation_ = foundation(options);
    const NodeSet members = ids_of(options.links.members);
    if (!joins_) {
      book_.members = foundation_.members;
      book_.voters = members;
    }
    if (members.contains({0})) return Error("members are numbered from 1: 0 is nobody");
    if (members.size() > most_members) return Error(fmt::format("more than {} members", most_members));
    raft::Raft::Setup setup = setup_of(options);
    // Who joins has no vote until the log says so.
    if (joins_) setup.voters = members.size() > 1 ? members.without(self_) : NodeSet{NodeId{0}};
    Replica::Ports ports = {
        .send = [this](NodeId to, live::ByteView bytes) { send(to, bytes); },
        .event =
            [this](const log::Spec::Event& event) { visit_in_place(event, [&](const auto& e) { tell(e); }); },
        .failed = [this](const storage::Failure& why) { fail(why.text); },
        .waits = [this](const std::optional<storage::Failure>& why) { tell_of_disk(why); },
        .objection = [this](const Raft& node, NodeId from,
                            const Raft::Message& message) { return objection(node, from, message); }};
    if (!options.trace.empty()) ports.trace = trace_to(options.trace, members);
    auto replica = Replica::open(loop,
                                 {.self = self_,
                                  .members = members,
                                  .data = options.data,
                                  .stamp = stamp_of(options.links.group, self_),
                                  .seed = timer_seed(self_),
                                  .flusher = {.spin = options.spin}},
                                 setup, std::move(ports));
    if (!replica) return Error(replica.error().text);
    replica_ = std::move(*replica);
    if (!unreadable_.empty()) return Error(unreadable_);
    group_ = group_of(options.links.group, book_.lineage);
    if (auto begun = begin_numbers(); !begun) return begun;
    if (auto linked = open_links(loop, options.links); !linked) return linked;
    look();
    return {};
  }

  std::uint64_t propose(Payload command) override { return propose(for_the_machine, std::move(command)); }
  std::uint64_t read() override {
    replica_->command(log::Read{++reads_});
    return reads_;
  }
  Bytes capture() override {
    replica_->command(log::Capture{});
    return book_.founded ? preface_of(book_) : Bytes();
  }
  // Of who is traced, all bytes are written down.
  void compact(Bulk state) override {
    replica_->command(log::Compact{part_ ? Bulk(state.whole()) : std::move(state)});
  }
  storage::Result<std::unique_ptr<storage::Draft>> draft(storage::Draft::Events events) override {
    return replica_->draft(replica_->node().committed.value, std::move(events));
  }
  bool sends_snapshot() const override {
    const auto* const leader = std::get_if<Raft::Leader>(&replica_->node().role);
    return leader && std::ranges::any_of(leader->others, [&](const auto& other) {
             return other.second.offset.value_or(0) > 0 && links_->knows(other.first) &&
                    links_->status(other.first).state == live::LinkStatus::State::connected;
           });
  }

  const std::string& group() const override { return group_; }
  const Book& book() const override { return book_; }
  std::uint64_t change(const BookChange& change) override {
    return propose(for_the_book, Payload(encode(change)));
  }
  void introduce(std::string name, std::vector<std::string> clients) override {
    ourselves_ = Introduce{self_, std::move(name), std::move(clients), replica_->data()};
  }
  bool has_caught_up(NodeId learner) const override;
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
                  if (const auto taken = replica_->deliver(from, bytes); !taken)
                    links_->object(from, {taken.error() == older_copy ? live::RefusalCode::other_data
                                                                      : live::RefusalCode::impossible,
                                          taken.error()});
                },
            .up = [this](NodeId peer, std::uint64_t) { remember_match(peer); },
            .down = [](NodeId) {},
            // Raft sends again what is not answered.
            .broken_promise = [](NodeId, const std::string&) {},
            .disconnected = [this](NodeId peer) { replica_->command(log::Suspect{peer}); },
            .turned_away = [this](NodeId peer, const live::Refusal& why) { turned_away(peer, why); }};
  }

  // Its part is that of one who was there from the beginning, whoever else the members are by now.
  decltype(Replica::Ports::trace) trace_to(const std::string& file, const NodeSet& members) {
    part_ = std::make_unique<live::PartFile>(file);
    trace::Header header = {.protocol = "raft", .variant = "canonical", .world = "live", .nodes = members};
    return [this, header](bool comes_back) { return part_->open(header, self_, comes_back); };
  }
  void look_after_trace() {
    if (!part_ || trace_ended_ || part_->whole()) return;
    trace_ended_ = true;
    log_(live::LogLevel::error,
         fmt::format("event=trace-ended file={} why={}", live::in_quotes(part_->path()),
                     live::in_quotes("cannot be written any more")));
  }

  void remember_match(NodeId peer);
  bool has_forgotten(const Raft& node, NodeId peer, const raft::AppendReply& reply) const;
  // What is wrong with what a peer says, as far as it can be known before it is taken.
  std::string objection(const Raft& node, NodeId from, const Raft::Message& message) const;
  std::string_view objection_to(const log::Entry& command) const;
  std::string_view objection_to(const Raft& node, NodeId from, const Raft::InstallSnapshot& part) const;

  // What this process proposes, and what of that is in the log.
  std::expected<void, std::string> begin_numbers();
  std::uint64_t propose(std::uint64_t value, Payload bytes);
  std::uint64_t greatest_serial_known() const;
  bool is_ours(const log::Entry& entry);

  // An entry that cannot be applied, and the way out.
  void stop(std::uint64_t index, const std::string& why);
  void skip(std::uint64_t index);
  void step_aside();

  // The members, as this server knows them …
  std::expected<void, std::string> open_links(boost::asio::io_context& loop, live::LinkOptions options);
  Book book_at_the_end() const;
  void tell_links(const Book& book);
  void book_changed();
  void apply_change(std::uint64_t index, const log::Entry& entry, bool mine);
  void settle(const raft::Configuration& configuration);
  void turned_away(NodeId peer, const live::Refusal& why);
  void expel_for_lost_data(const std::string& how);
  void expel(std::string why);

  // … and what is done about them.
  void look();
  void found();
  void introduce_ourselves();
  void conform();
  bool hand_over();

  // Until the links are open nobody is there to hear anything; whoever should have will ask. So will who does
  // not read what it is sent.
  void send(NodeId to, live::ByteView bytes) {
    if (links_ && links_->knows(to) && !links_->congested(to)) links_->send(to, bytes);
  }

  void tell(const log::Committed& committed) {
    if (stopped_at_ > 0) return;
    if (const auto& configuration = replica_->node().log.at({committed.index}).configuration)
      settle(*configuration);
    if (!committed.entry) return;
    if (skip_.contains(committed.index)) return skip(committed.index);
    const bool mine = is_ours(*committed.entry);
    if (committed.entry->value == for_the_book) return apply_change(committed.index, *committed.entry, mine);
    const auto term = replica_->node().log.term_at({committed.index});
    ensure(term.has_value(), "what was just announced is still in the log");
    const std::string no = events_.applied(committed.index, term->value, committed.entry->bytes,
                                           mine ? committed.entry->serial : 0);
    if (!no.empty()) stop(committed.index, no);
  }
  void tell(const log::Restored& restored) {
    std::optional<SplitState> parts;
    try {
      parts = split_state(restored.state);
    } catch (const Unreadable& why) {
      unreadable_ = why.what();
      return fail(unreadable_);
    }
    if (!parts) {
      unreadable_ = "the book of members in the snapshot cannot be read";
      return fail(unreadable_);
    }
    stopped_at_ = 0;
    if (parts->book) {
      book_ = *parts->book;
      book_changed();
    }
    if (events_.restored) events_.restored(restored.index, parts->machine);
    if (replica_ && !numbers_.given(greatest_serial_known()))
      expel_for_lost_data(std::string(unknown_commands));
  }
  void tell(const log::Taken& taken) {
    numbers_.close(taken.serial);
    if (founding_ <= taken.serial) founding_ = 0;
    if (introducing_ <= taken.serial) introducing_ = 0;
    if (events_.taken) events_.taken(taken.serial);
  }
  void tell(const log::Members&) {}  // settle() has looked at the log itself
  void tell(const log::Readable& readable) {
    if (events_.readable) events_.readable(readable.serial);
  }
  void tell(const log::Leading& leading) {
    log_(live::LogLevel::info, fmt::format("event=leading term={}", leading.term));
    if (!book_.founded && stopped_at_ == 0)
      found();  // whoever knows that there is a leader may change the members
    if (events_.leading) events_.leading(leading.term);
  }
  void tell_of_disk(const std::optional<storage::Failure>& why) {
    if (!why) return log_(live::LogLevel::info, "event=disk_goes_on");
    log_(live::LogLevel::warning, "event=disk_waits why=" + live::in_quotes(why->text));
  }
  void fail(const std::string& why) {
    ended_ = true;
    log_(live::LogLevel::error, "event=disk_failed why=" + live::in_quotes(why));
    if (events_.failed) events_.failed(why);
  }

  Events events_;
  live::Log log_;
  NodeId self_ = {};
  std::string group_ = {};
  Book book_ = {};
  Found foundation_ = {};
  bool joins_ = false;
  std::optional<Introduce> ourselves_ = {};
  std::uint64_t founding_ = 0;  // what we proposed, until it is applied
  std::uint64_t introducing_ = 0;
  std::set<std::uint64_t> skip_ = {};
  std::uint64_t stopped_at_ = 0;  // 0: every entry was applied
  std::uint64_t stopped_looks_ = 0;
  std::uint64_t heirs_tried_ = 0;  // while it applied nothing
  bool ended_ = false;             // its disk, or its log, is of no use
  bool expelled_ = false;
  std::string unreadable_ = {};
  mutable std::optional<StateParts> state_parts_ = {};  // of a state that a leader sends
  std::map<NodeId, Acknowledged> acknowledged_ = {};    // by peers, before their present process began
  std::uint64_t without_leader_ = 0;                    // looks
  std::uint64_t transfers_ = 0;
  std::uint64_t end_then_ = 0;  // of the log, a look before the last
  std::uint64_t end_now_ = 0;
  boost::asio::steady_timer looking_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Numbers numbers_;          // of commands
  std::uint64_t reads_ = 0;  // of questions: an answer to one of an earlier process answers none of ours
  std::unique_ptr<live::PartFile> part_;  // of the trace
  bool trace_ended_ = false;              // its disk is full, say
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<live::Links> links_;
};

// Above all that the disk knows of, even if it says too little of how often somebody began here: an earlier
// version has counted by a clock.
std::expected<void, std::string> RaftServer::begin_numbers() {
  const storage::Directory& directory = replica_->directory();
  const auto last = storage::last_start(directory);
  if (!last) return Error(last.error().text);
  std::uint64_t least = *last + 1;
  const std::uint64_t above = start_above(greatest_serial_known());
  const bool counted = directory.is_new() || *last > 0;
  if (!counted || above > least) least = std::max(above, first_start_after_clocks);
  const auto start = storage::begin_start(directory, least);
  if (!start) return Error(start.error().text);
  numbers_ = Numbers(*start);
  reads_ = numbers_.first();
  log_(live::LogLevel::info, fmt::format("event=begun start={}", *start));
  return {};
}

// Of ours, in the snapshot and in the whole log, committed or not.
std::uint64_t RaftServer::greatest_serial_known() const {
  const Raft& node = replica_->node();
  const auto ours = node.sessions.last.find(self_);
  std::uint64_t greatest = ours == node.sessions.last.end() ? 0 : ours->second.serial;
  for (const raft::Entry& entry : node.log.after(node.log.base.index))
    if (entry.command && entry.command->client == self_) greatest = std::max(greatest, entry.command->serial);
  return greatest;
}

std::uint64_t RaftServer::propose(std::uint64_t value, Payload bytes) {
  if (numbers_.spent())
    if (const auto next = storage::begin_start(replica_->directory(), 1); !next) fail(next.error().text);
  const std::uint64_t serial = numbers_.give(value, bytes);
  if (!ended_) replica_->command(log::Propose{serial, value, std::move(bytes)});
  return serial;
}

bool RaftServer::is_ours(const log::Entry& entry) {
  if (entry.client != self_) return false;
  const Numbers::Whose whose = numbers_.whose(entry);
  if (whose == Numbers::Whose::nobodys) expel_for_lost_data(std::string(unknown_commands));
  return whose == Numbers::Whose::ours;
}

// Links keep the order of messages, and a new process begins after everything that the former one said.
void RaftServer::remember_match(NodeId peer) {
  const Raft& node = replica_->node();
  const auto* const leader = std::get_if<Raft::Leader>(&node.role);
  if (!leader) return;
  if (const auto progress = leader->others.find(peer); progress != leader->others.end())
    acknowledged_[peer] = {node.ballot.term, progress->second.match};
}

// A log that agrees with ours up to some entry of this term goes on agreeing there for as long as we lead. If
// its end is before that now, somebody has put an older copy into the place of the member's directory: votes
// may be gone with the entries.
bool RaftServer::has_forgotten(const Raft& node, NodeId peer, const raft::AppendReply& reply) const {
  const auto before = acknowledged_.find(peer);
  return before != acknowledged_.end() && node.leads() && before->second.term == node.ballot.term &&
         reply.term == node.ballot.term && !reply.matched && reply.hint.index < before->second.match;
}

// Nobody looks at a command before it is applied, and then it is in every log. Who the members are, the
// leader sees to by itself.
std::string RaftServer::objection(const Raft& node, NodeId from, const Raft::Message& message) const {
  if (const auto no = raft::objection(node, from, message); !no.empty()) return std::string(no);
  if (const auto* const reply = std::get_if<raft::AppendReply>(&message))
    return std::string(has_forgotten(node, from, *reply) ? older_copy : "");
  if (const auto* const wish = std::get_if<Raft::ForwardWish>(&message))
    return std::holds_alternative<log::Reconfigure>(wish->wish) ? "members change by the book" : "";
  if (const auto* const part = std::get_if<Raft::InstallSnapshot>(&message))
    return std::string(objection_to(node, from, *part));
  const auto* const forward = std::get_if<Raft::Forward>(&message);
  if (!forward) return {};
  for (const log::Entry& command : forward->commands)
    if (const auto no = objection_to(command); !no.empty()) return std::string(no);
  return {};
}

std::string_view RaftServer::objection_to(const log::Entry& command) const {
  if (command.value == for_the_machine)
    return !events_.acceptable || events_.acceptable(command.client, command.bytes)
               ? ""
               : "a command that cannot be read";
  if (command.value != for_the_book) return "a command for nobody";
  const auto change = decode<BookChange>(command.bytes.bytes());
  if (!change) return "a change of the members that cannot be read";
  const auto* const introduction = std::get_if<Introduce>(&*change);
  return introduction && introduction->id != command.client ? "it introduces another member" : "";
}

// With its last part a snapshot takes the place of everything: by then it must be known to be one. The parts
// are read as they come, so that the last one takes no longer than the others.
std::string_view RaftServer::objection_to(const Raft& node, NodeId from,
                                          const Raft::InstallSnapshot& part) const {
  constexpr std::string_view no_state = "a snapshot that cannot be read";
  const raft::Position last = part.about.last;
  if (part.term < node.ballot.term || last.index <= node.committed) return {};
  const bool goes_on =
      node.incoming && node.incoming->about.last == last && node.incoming->state.size() <= part.size;
  const std::uint64_t arrived = goes_on ? node.incoming->state.size() : 0;
  const bool follows = part.offset == arrived;
  const bool begins = follows && arrived == 0;
  if (begins) {
    state_parts_.emplace();
    if (part.size > 0)
      log_(live::LogLevel::info, fmt::format("event=snapshot_comes from={} index={} bytes={}", from.value,
                                             last.index.value, part.size));
    if (events_.state_comes) events_.state_comes(true, {});
  }
  if (!state_parts_) return no_state;
  if (follows) {
    const auto taken = state_parts_->take(part.part.bytes());
    if (taken.next == StateParts::Next::wrong) return "a snapshot with a book of members that cannot be read";
    if (taken.next == StateParts::Next::machine && events_.state_comes &&
        !events_.state_comes(false, taken.rest))
      return no_state;
  }
  if (arrived + (follows ? part.part.size() : 0) < part.size) return {};
  if (events_.state_comes && !events_.state_comes(false, state_parts_->left())) return no_state;
  return !events_.state_is_there || events_.state_is_there(last.index.value, last.term.value) ? "" : no_state;
}

std::expected<void, std::string> RaftServer::open_links(boost::asio::io_context& loop,
                                                        live::LinkOptions options) {
  const Book known = book_at_the_end();
  const auto self = std::ranges::find(options.members, self_, &live::Peer::id);
  if (self == options.members.end()) return Error(live::wrong_with(options.members, self_));
  if (options.listen.host.empty()) options.listen = self->address();
  options.group = group_;
  options.algorithm += messages_version;
  options.epoch = replica_->data();
  if (options.incarnation == 0) options.incarnation = incarnation_of(numbers_.first());
  options.redial_most = std::min<live::LinkOptions::Duration>(options.redial_most, longest_redial);
  options.list = known.founded || joins_ ? live::MemberList::changing : live::MemberList::founding;
  // The command line may be older than what the disk knows; who joins has nothing else.
  if (known.founded) options.members = {*self};
  auto links = live::Links::open(loop, std::move(options), link_events(), log_);
  if (!links) return Error(links.error());
  links_ = std::move(*links);
  tell_links(known);
  links_->welcome(!book_.contains(self_));
  return {};
}

// With what the log has beyond what is known to be committed: who was added by that may be the one who leads.
Book RaftServer::book_at_the_end() const {
  Book book = book_;
  const Raft& node = replica_->node();
  for (const raft::Entry& entry : node.log.after(std::max(node.committed, node.log.base.index))) {
    if (!entry.command || entry.command->value != for_the_book) continue;
    const auto change = decode<BookChange>(entry.command->bytes.bytes());
    if (change && !std::holds_alternative<Leave>(*change)) (void)book.apply(*change);
  }
  return book;
}

// Whoever the book does not have although its id was given is gone. Others may come after what is known here.
void RaftServer::tell_links(const Book& book) {
  if (!book.founded) return;
  for (const auto& [id, member] : book.members)
    links_->add_peer({.id = id, .host = member.host, .port = member.port}, member.data);
  for (NodeId peer : links_->peers())
    if (!book.contains(peer) && peer <= book.greatest) links_->remove_peer(peer);
  links_->change_list(book.greatest);
}

void RaftServer::book_changed() {
  if (links_) tell_links(book_);
  if (events_.members_changed) events_.members_changed();
}

void RaftServer::apply_change(std::uint64_t index, const log::Entry& entry, bool mine) {
  const auto change = decode<BookChange>(entry.bytes.bytes());
  if (!change)
    return stop(
        index, fmt::format("no change of the members that this version knows: {}", describe(change.error())));
  const auto done = book_.apply(*change);
  if (mine && entry.serial == founding_) founding_ = 0;
  if (mine && entry.serial == introducing_) introducing_ = 0;
  if (done) book_changed();
  if (mine && events_.answered) events_.answered(entry.serial, done);
}

void RaftServer::settle(const raft::Configuration& configuration) {
  if (configuration.joint()) {
    if (events_.members_changed) events_.members_changed();
    return;
  }
  const bool were_in = book_.contains(self_);
  book_.settle(configuration.voters, configuration.learners);
  log_(live::LogLevel::info,
       fmt::format("event=members voters={} learners={}", fmt::join(ids(configuration.voters), ","),
                   fmt::join(ids(configuration.learners), ",")));
  book_changed();
  if (were_in && !book_.contains(self_))
    expel(fmt::format("member {} was removed from the cluster", self_.value));
}

void RaftServer::turned_away(NodeId peer, const live::Refusal& why) {
  if (why.code == live::RefusalCode::other_data) return expel_for_lost_data(why.text);
  expel(fmt::format("member {} is no member of the cluster any more, as member {} says", self_.value,
                    peer.value));
}

void RaftServer::expel_for_lost_data(const std::string& how) {
  expel(fmt::format(
      "member {} has lost its data ({}), and what it promised nobody may forget; let it come back "
      "under a new id (conclave member replace {} HOST:PORT)",
      self_.value, how, self_.value));
}

void RaftServer::expel(std::string why) {
  if (std::exchange(expelled_, true)) return;
  log_(live::LogLevel::error, "event=expelled why=" + live::in_quotes(why));
  if (events_.expelled) events_.expelled(why);
}

// ---- an entry that cannot be applied

// To end would be no way out: the log has it at the next start too.
void RaftServer::stop(std::uint64_t index, const std::string& why) {
  stopped_at_ = index;
  const std::string text = fmt::format("entry {} of the log cannot be applied: {}", index, why);
  const std::string advice = fmt::format(
      "start this member with the version that wrote it, or all members with --skip-entry {}, which counts "
      "it "
      "as nothing",
      index);
  log_(live::LogLevel::error, fmt::format("event=stopped index={} why={} advice={}", index,
                                          live::in_quotes(text), live::in_quotes(advice)));
  if (events_.stopped) events_.stopped(text + "; " + advice);
}

void RaftServer::skip(std::uint64_t index) {
  log_(live::LogLevel::warning, fmt::format("event=skipped index={}", index));
  if (events_.skipped) events_.skipped(index);
}

// Who applies nothing ends no leases, and does not know who the members are. It may be that nobody does
// better: then the lead goes round, without haste.
void RaftServer::step_aside() {
  if (stopped_looks_++ % looks_between_heirs != 0 || !leads()) return;
  std::vector<NodeId> heirs;
  for (NodeId heir : replica_->node().configuration.voters)
    if (heir != self_ && has_caught_up(heir)) heirs.push_back(heir);
  if (!heirs.empty()) transfer(heirs[heirs_tried_++ % heirs.size()]);
}

// ---- what is done about the members

// A learner that has what the log had a moment ago does not hold up those who wait for its vote.
bool RaftServer::has_caught_up(NodeId learner) const {
  const auto* leader = std::get_if<Raft::Leader>(&replica_->node().role);
  if (!leader || !links_->knows(learner)) return false;
  const auto progress = leader->others.find(learner);
  return progress != leader->others.end() && !progress->second.offset && end_then_ > 0 &&
         progress->second.match.value >= end_then_ &&
         links_->status(learner).state == live::LinkStatus::State::connected;
}

void RaftServer::look() {
  end_then_ = std::exchange(end_now_, replica_->node().log.last_index().value);
  without_leader_ = leader() ? 0 : without_leader_ + 1;
  links_->welcome(!book_.contains(self_) || without_leader_ > looks_without_leader);
  if (!leads()) transfers_ = 0;
  if (stopped_at_ > 0) {
    step_aside();
  } else {
    if (leads()) book_.founded ? conform() : found();
    introduce_ourselves();
  }
  look_after_trace();
  looking_.expires_after(look_every);
  looking_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) look();
  });
}

// The first leader writes down with whom the cluster begins. After that no command line counts any more.
void RaftServer::found() {
  if (founding_ == 0 && !joins_) founding_ = change(foundation_);
}

void RaftServer::introduce_ourselves() {
  const BookMember* const known = book_.find(self_);
  if (!ourselves_ || !known || introducing_ != 0 || !leader()) return;
  if (known->data != 0 && known->data != ourselves_->data)
    return expel_for_lost_data("the cluster knows it with other data");
  const bool says_so = known->data == ourselves_->data && known->name == ourselves_->name &&
                       known->clients == ourselves_->clients;
  if (!says_so) introducing_ = change(*ourselves_);
}

// Raft's configuration is to be what the book says. An entry with the first one is written too: what is only
// on a command line may be another one at the next start.
void RaftServer::conform() {
  const Raft& node = replica_->node();
  const raft::Configuration& now = node.configuration;
  if (now.joint() || node.configured > node.committed) return;
  const Book::Wish wish = book_.wish(now.voters, [this](NodeId id) { return has_caught_up(id); });
  const bool is_so = wish.voters == now.voters && wish.learners == now.learners;
  if (wish.voters.empty() || (is_so && node.configured.value > 0)) return;
  if (!wish.voters.contains(self_) && hand_over()) return;
  replica_->command(log::Reconfigure{wish.voters, wish.learners});
}

// A leader that leaves would be missed until somebody's patience ends. True: it tries to find an heir.
bool RaftServer::hand_over() {
  const Raft& node = replica_->node();
  const auto& lead = std::get<Raft::Leader>(node.role);
  if (lead.heir) return true;
  if (transfers_++ >= most_transfers) return false;
  for (NodeId heir : node.configuration.voters) {
    const BookMember* const member = book_.find(heir);
    if (heir == self_ || !member || member->leaves || !has_caught_up(heir)) continue;
    transfer(heir);
    return true;
  }
  return true;
}

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
                         .door = links_->door(),
                         .stopped_at = stopped_at_,
                         .open_proposals = node.wanted.size(),
                         .flushes = replica_->flushes(),
                         .flush_median = replica_->disk().at(500),
                         .flush_worst = replica_->disk().most()};
  if (!node.configuration.votes(node.self) && status.role == "follower") status.role = "learner";
  const auto* leader = std::get_if<Raft::Leader>(&node.role);
  for (NodeId peer : links_->peers()) {
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
  auto server = std::make_unique<RaftServer>(loop, std::move(events), std::move(log));
  if (auto begun = server->begin(loop, options); !begun) return Error(begun.error());
  return server;
}

}  // namespace conclave::cluster
