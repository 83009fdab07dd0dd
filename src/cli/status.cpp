// conclave status: who is up, who holds what, and whom a lock waits for.
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/desks.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"

namespace conclave::cli {
namespace {

namespace pb = conclavepb;
using Json = nlohmann::ordered_json;

struct Flags {
  ServerFlags servers;
  double watch = 0;  // seconds between two looks; 0: one look
  bool json = false;
};

// A name or a value may hold anything; the terminal sees only what it can show.
std::string shown(const std::string& bytes) {
  std::string out;
  for (const char c : bytes)
    out += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return out;
}

// No line of a table is long because a name is.
std::string shortened(const std::string& bytes) {
  constexpr std::size_t most = 48;
  return bytes.size() <= most ? shown(bytes) : shown(bytes.substr(0, most)) + "…";
}

std::string state_of(const pb::Member& member) {
  if (member.evicted()) return paint("evicted", Colour::dim);
  const std::string since = member.since_ms() > 0 ? " for " + time_span(member.since_ms()) : std::string();
  return (member.up() ? paint("up", Colour::green) : paint("down", Colour::red)) + since;
}

// As the first that answered sees them; with what others see differently.
void print_members(const std::vector<const pb::StatusResponse*>& answers) {
  Table table(std::vector(5, Table::Align::left));
  table.add({"member", "address", "state", "incarnation", ""});
  table.add_rule();
  for (const pb::Member& member : answers.front()->members()) {
    std::string disagree;
    for (const pb::StatusResponse* other : answers)
      for (const pb::Member& theirs : other->members())
        if (theirs.id() == member.id() &&
            (theirs.up() != member.up() || theirs.evicted() != member.evicted()))
          disagree += fmt::format("{}member {}: {}", disagree.empty() ? "" : ", ", other->member_id(),
                                  state_of(theirs));
    table.add({std::to_string(member.id()), member.address(), state_of(member),
               fmt::format("{:x}", member.incarnation()), disagree.empty() ? "" : "(" + disagree + ")"});
  }
  fmt::print("{}", table.to_string());
}

// One name as all members see it.
struct Merged {
  std::string holder = {};
  std::uint64_t fence = 0;
  std::vector<std::string> queues = {};
  std::vector<std::string> waits = {};
};

void merge(Merged& merged, const pb::StatusResponse& from, const pb::Name& name) {
  const bool election = name.kind() == pb::Name::ELECTION;
  if (name.has_holder() && name.fence() >= merged.fence) {
    merged.fence = name.fence();
    merged.holder = fmt::format("{} at member {} for {}", name.holder().address(), from.member_id(),
                                time_span(name.holder().since_ms()));
  }
  if (merged.holder.empty() && name.phase() == "holding")
    merged.holder = fmt::format("member {}", from.member_id());
  if (election && name.has_leader() && merged.holder.empty())
    merged.holder = fmt::format("{} at member {}{}", shown(name.leader().value()), name.leader().member(),
                                name.leader().member_down() ? ", which is down" : "");
  if (name.queue_length() > 0)
    merged.queues.push_back(fmt::format("{} at {}", name.queue_length(), from.member_id()));
  if (!name.words().empty())
    merged.waits.push_back(
        fmt::format("member {} {}, for {}", from.member_id(), name.words(), time_span(name.waiting_ms())));
}

void print_names(const std::vector<const pb::StatusResponse*>& answers) {
  std::map<std::pair<pb::Name::Kind, std::string>, Merged> all;
  std::uint64_t left_out = 0;
  for (const pb::StatusResponse* answer : answers) {
    left_out += answer->names_left_out();
    for (const pb::Name& name : answer->names()) merge(all[{name.kind(), name.name()}], *answer, name);
  }
  if (all.empty()) return fmt::print("\nno locks or elections yet\n");
  Table table(std::vector(5, Table::Align::left));
  table.add({"", "name", "holder", "fence", "queue"});
  table.add_rule();
  for (const auto& [key, merged] : all)
    table.add({key.first == pb::Name::LOCK ? "lock" : "election", shown(key.second),
               merged.holder.empty() ? paint("-", Colour::dim) : merged.holder,
               merged.fence > 0 ? std::to_string(merged.fence) : "",
               fmt::format("{}", fmt::join(merged.queues, ", "))});
  fmt::print("\n{}", table.to_string());
  for (const auto& [key, merged] : all)
    for (const std::string& words : merged.waits)
      fmt::print("\n{} {}", paint(shown(key.second) + ":", Colour::yellow), words);
  if (left_out > 0) fmt::print("\nand {} more that are idle", with_commas(left_out));
  fmt::print("\n");
}

// The engine raft: one row for each that answered, and what its leader knows of the others.
void print_raft(const std::vector<const pb::StatusResponse*>& answers) {
  using enum Table::Align;
  Table table({right, left, right, right, right, right, right, right, right});
  table.add({"member", "role", "term", "leader", "committed", "behind", "revision", "flush µs", "worst"});
  table.add_rule();
  std::map<std::uint64_t, std::uint64_t> behind;
  for (const pb::StatusResponse* answer : answers)
    for (const pb::Follower& follower : answer->raft().followers()) behind[follower.id()] = follower.lag();
  for (const pb::StatusResponse* answer : answers) {
    if (!answer->has_raft()) continue;
    const pb::Raft& raft = answer->raft();
    const auto lag = behind.find(answer->member_id());
    table.add({std::to_string(answer->member_id()), raft.role(), std::to_string(raft.term()),
               raft.leader() > 0 ? std::to_string(raft.leader()) : "-", with_commas(raft.committed()),
               lag == behind.end() ? "" : with_commas(lag->second), std::to_string(raft.revision()),
               std::to_string(raft.flush_median_us()), std::to_string(raft.flush_worst_us())});
  }
  fmt::print("\n{}", table.to_string());
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20));
}

// What fills the stores, in MiB.
void print_stores(const std::vector<const pb::StatusResponse*>& answers) {
  using enum Table::Align;
  Table table({right, right, right, right, right, right, left, right, right, left});
  table.add({"member", "keys", "live MiB", "leases", "history", "MiB", "reaches back", "compacted", "quota",
             "history kept"});
  table.add_rule();
  for (const pb::StatusResponse* answer : answers) {
    if (!answer->raft().has_store()) continue;
    const pb::Store& store = answer->raft().store();
    const bool ends = store.retention() != "off";
    table.add({std::to_string(answer->member_id()), with_commas(store.keys()), mebibytes(store.live_bytes()),
               with_commas(answer->leases()), with_commas(store.history_records()),
               mebibytes(store.history_bytes()), time_span(store.history_ms()),
               std::to_string(store.compacted()), mebibytes(store.quota_bytes()),
               ends ? fmt::format("{}, up to {}", store.retention(), mebibytes(store.history_bound()))
                    : "for ever"});
  }
  fmt::print("\n{}", table.to_string());
}

// The engine raft's locks and elections, as the one says who has applied most. All have the same store, but
// each saw for itself since when, and only one has the client.
void print_lines(const std::vector<const pb::StatusResponse*>& answers) {
  const auto revision = [](const pb::StatusResponse* answer) { return answer->raft().revision(); };
  const pb::StatusResponse& newest = **std::ranges::max_element(answers, {}, revision);
  if (newest.names().empty()) return fmt::print("\nno locks or elections\n");
  std::map<std::string, pb::Client> known;  // by key
  for (const pb::StatusResponse* answer : answers)
    for (const pb::Name& name : answer->names()) {
      pb::Client& holder = known[name.holder().key()];
      if (!name.holder().address().empty()) holder.set_address(name.holder().address());
      holder.set_since_ms(std::max(holder.since_ms(), name.holder().since_ms()));
    }
  using enum Table::Align;
  Table table({left, left, left, left, left, right, right});
  table.add({"", "name", "holder", "lease", "for", "fence", "queue"});
  table.add_rule();
  for (const pb::Name& name : newest.names()) {
    const bool is_lock = name.kind() == pb::Name::LOCK;
    const pb::Client& holder = known[name.holder().key()];
    const std::string at = holder.address().empty() ? "another client" : holder.address();
    table.add({is_lock ? "lock" : "election", shortened(name.name()),
               is_lock ? at : fmt::format("{} ({})", shortened(name.leader().value()), at),
               fmt::format("{:x}", name.holder().lease()), time_span(holder.since_ms()),
               std::to_string(name.fence()), with_commas(name.queue_length())});
  }
  fmt::print("\n{}", table.to_string());
  if (newest.names_left_out() > 0)
    fmt::print("and {} more, with shorter queues\n", with_commas(newest.names_left_out()));
}

void print(const std::vector<Asked>& all) {
  std::vector<const pb::StatusResponse*> answers;
  for (const Asked& asked : all)
    if (asked.status) answers.push_back(&*asked.status);
  if (!answers.empty()) {
    const pb::StatusResponse& first = *answers.front();
    fmt::print("group {}, engine {}{}\n\n", first.group(), first.engine(),
               first.has_raft() ? "" : fmt::format(", epoch {}", first.epoch()));
    print_members(answers);
    if (first.has_raft()) {
      print_raft(answers);
      print_stores(answers);
      print_lines(answers);
    } else {
      print_names(answers);
    }
  }
  std::map<std::string, std::vector<std::uint64_t>> notes;
  for (const pb::StatusResponse* answer : answers)
    for (const std::string& note : answer->notes()) notes[note].push_back(answer->member_id());
  for (const auto& [note, members] : notes)
    fmt::print("\n{} member {}: {}", paint("note", Colour::yellow), fmt::join(members, ", "), note);
  if (!notes.empty()) fmt::print("\n");
  for (const Asked& asked : all)
    if (!asked.status)
      fmt::print("\n{} does not answer: {}\n", paint(asked.endpoint, Colour::red), asked.status.error());
}

Json to_json(const pb::Client& client) {
  return {{"address", client.address()},
          {"key", client.key()},
          {"lease", client.lease()},
          {"since_ms", client.since_ms()}};
}

Json to_json(const pb::Name& name) {
  Json json = {{"kind", name.kind() == pb::Name::LOCK ? "lock" : "election"},
               {"name", name.name()},
               {"epoch", name.epoch()},
               {"phase", name.phase()},
               {"waits_for", Json::array()},
               {"waiting_ms", name.waiting_ms()},
               {"words", name.words()},
               {"queue_length", name.queue_length()},
               {"queue", Json::array()}};
  for (const std::uint64_t peer : name.waits_for()) json["waits_for"].push_back(peer);
  for (const pb::Client& client : name.queue()) json["queue"].push_back(to_json(client));
  if (name.fence() > 0) json["fence"] = name.fence();
  if (name.has_holder()) json["holder"] = to_json(name.holder());
  if (name.has_leader())
    json["leader"] = {{"member", name.leader().member()},
                      {"key", name.leader().key()},
                      {"value", name.leader().value()},
                      {"member_down", name.leader().member_down()}};
  return json;
}

Json to_json(const pb::Store& store) {
  return {{"keys", store.keys()},
          {"live_bytes", store.live_bytes()},
          {"history_records", store.history_records()},
          {"history_bytes", store.history_bytes()},
          {"history_bound", store.history_bound()},
          {"history_ms", store.history_ms()},
          {"compacted", store.compacted()},
          {"retention", store.retention()},
          {"quota_bytes", store.quota_bytes()}};
}

Json to_json(const pb::Raft& raft) {
  Json json = {{"role", raft.role()},
               {"term", raft.term()},
               {"leader", raft.leader()},
               {"first_index", raft.first_index()},
               {"last_index", raft.last_index()},
               {"committed", raft.committed()},
               {"applied", raft.applied()},
               {"snapshot_index", raft.snapshot_index()},
               {"revision", raft.revision()},
               {"store_bytes", raft.store_bytes()},
               {"digest", fmt::format("{:016x}", raft.digest())},
               {"open_proposals", raft.open_proposals()},
               {"flushes", raft.flushes()},
               {"flush_median_us", raft.flush_median_us()},
               {"flush_worst_us", raft.flush_worst_us()},
               {"store", to_json(raft.store())},
               {"followers", Json::array()}};
  for (const pb::Follower& follower : raft.followers())
    json["followers"].push_back({{"id", follower.id()},
                                 {"match", follower.match()},
                                 {"lag", follower.lag()},
                                 {"gets_snapshot", follower.gets_snapshot()}});
  return json;
}

Json to_json(const Asked& asked) {
  if (!asked.status) return {{"endpoint", asked.endpoint}, {"error", asked.status.error()}};
  const pb::StatusResponse& status = *asked.status;
  Json json = {{"endpoint", asked.endpoint},
               {"member", status.member_id()},
               {"engine", status.engine()},
               {"group", status.group()},
               {"epoch", status.epoch()},
               {"leases", status.leases()},
               {"longest_lease_ms", status.longest_lease_ms()},
               {"members", Json::array()},
               {"names", Json::array()},
               {"names_left_out", status.names_left_out()},
               {"notes", Json::array()}};
  for (const pb::Member& member : status.members())
    json["members"].push_back({{"id", member.id()},
                               {"address", member.address()},
                               {"self", member.self()},
                               {"up", member.up()},
                               {"evicted", member.evicted()},
                               {"incarnation", member.incarnation()},
                               {"since_ms", member.since_ms()}});
  for (const pb::Name& name : status.names()) json["names"].push_back(to_json(name));
  for (const std::string& note : status.notes()) json["notes"].push_back(note);
  if (status.has_raft()) json["raft"] = to_json(status.raft());
  return json;
}

int look(const Flags& flags) {
  const std::vector<Asked> all = ask_status(flags.servers);
  if (flags.json) {
    Json json = Json::array();
    for (const Asked& asked : all) json.push_back(to_json(asked));
    fmt::print("{}\n", json.dump(flags.watch > 0 ? -1 : 2, ' ', false, Json::error_handler_t::replace));
  } else {
    print(all);
  }
  std::fflush(stdout);
  return std::ranges::all_of(all, [](const Asked& asked) { return asked.status.has_value(); })
             ? ok
             : property_failed;
}

int run(const Flags& flags) {
  if (flags.watch <= 0) return look(flags);
  for (;;) {
    if (!flags.json && on_terminal(stdout)) fmt::print("\x1b[2J\x1b[H");
    look(flags);
    std::this_thread::sleep_for(std::chrono::duration<double>(flags.watch));
  }
}

}  // namespace

void add_status(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("status", "who is up, who holds what, and whom a lock waits for");
  const auto flags = std::make_shared<Flags>();
  add_server_flags(*verb, flags->servers);
  verb->add_option("--watch", flags->watch, "look again every so many seconds (2), until interrupted")
      ->expected(0, 1)
      ->default_str("2")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS");
  verb->add_flag("--json", flags->json, "what each desk said, for programs");
  verb->footer(
      "Example:\n"
      "  conclave status --endpoints 127.0.0.1:2379,127.0.0.1:3379,127.0.0.1:4379\n\n"
      "Exit status 1 if an endpoint does not answer.");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
