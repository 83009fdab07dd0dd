// conclave snapshot: the store as a file, and new clusters that begin with one.
#include <nlohmann/json.hpp>

#include "cli/addresses.hpp"
#include "cli/servers.hpp"
#include "cli/snapshot_download.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "etcd/backup.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;

int fail(std::string_view what) {
  fmt::print(stderr, "conclave: {}\n", what);
  return property_failed;
}

void print_line(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string_view name_of(etcd::BackupKind kind) {
  return kind == etcd::BackupKind::etcd ? "etcd" : "conclave";
}

constexpr std::string_view etcds_own = "a database of etcd's (bbolt): etcdutl restores it, conclave does not";

// ---- save

struct SaveFlags {
  ServerFlags servers;
  std::string file;
  bool json = false;
};

int save(const SaveFlags& flags) {
  const auto endpoints = endpoints_of(flags.servers);
  if (endpoints.empty()) return complain("--endpoints names no server");
  std::string trouble;
  for (const std::string& endpoint : endpoints) {
    const auto saved = download_snapshot(flags.servers, endpoint, flags.file);
    if (!saved) {
      trouble += (trouble.empty() ? "" : "; ") + saved.error();
      continue;
    }
    if (flags.json) {
      Json json = {{"file", flags.file},
                   {"endpoint", endpoint},
                   {"kind", name_of(saved->kind)},
                   {"bytes", saved->bytes},
                   {"sha256", saved->sha256}};
      if (saved->kind == etcd::BackupKind::conclave) json["revision"] = saved->revision;
      print_line(json);
      return ok;
    }
    fmt::print("{}: {} bytes of {}, {}\n", flags.file, with_commas(saved->bytes), endpoint,
               saved->kind == etcd::BackupKind::etcd ? std::string(etcds_own)
                                                     : fmt::format("revision {}", saved->revision));
    return ok;
  }
  return fail(trouble);
}

// ---- status

struct StatusFlags {
  std::string file;
  bool json = false;
};

int tell_of_etcds(const StatusFlags& flags, const etcd::BackupFile& file) {
  if (flags.json)
    print_line({{"file", flags.file}, {"kind", "etcd"}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  else
    fmt::print("{}: {}\n  {} bytes, and the digest at the end is theirs\n", flags.file, etcds_own,
               with_commas(file.bytes));
  return ok;
}

int status(const StatusFlags& flags) {
  const auto file = etcd::look_at_backup(flags.file);
  if (!file) return fail(file.error());
  if (file->kind == etcd::BackupKind::etcd) return tell_of_etcds(flags, *file);
  const auto backup = etcd::read_backup(flags.file);
  if (!backup) return fail(backup.error());
  const etcd::BackupContents contents = etcd::contents_of(*backup->store);
  if (flags.json) {
    print_line({{"file", flags.file},
                {"kind", "conclave"},
                {"bytes", file->bytes},
                {"sha256", file->sha256},
                {"revision", contents.revision},
                {"compacted", contents.compacted},
                {"keys", contents.keys},
                {"records", contents.records},
                {"leases", contents.leases},
                {"places", contents.places},
                {"alarms", contents.alarms},
                {"index", contents.index},
                {"term", contents.term},
                {"digest", fmt::format("{:016x}", contents.digest)}});
    return ok;
  }
  Table table({Table::Align::left, Table::Align::right});
  table.add({"revision", std::to_string(contents.revision)});
  table.add({"compacted", std::to_string(contents.compacted)});
  table.add({"keys", with_commas(contents.keys)});
  table.add({"records, with older ones", with_commas(contents.records)});
  table.add({"leases", with_commas(contents.leases)});
  table.add({"places in lines of locks and elections", with_commas(contents.places)});
  table.add({"alarms", with_commas(contents.alarms)});
  table.add({"entry of the log", fmt::format("{} of term {}", contents.index, contents.term)});
  table.add({"digest", fmt::format("{:016x}", contents.digest)});
  fmt::print("{}: a state of conclave's, whole\n  {} bytes, SHA-256 {}\n\n{}", flags.file,
             with_commas(file->bytes), file->sha256, table.to_string());
  return ok;
}

// ---- restore

// As conclave serve has them.
constexpr const char* usual_member = "1=127.0.0.1:2380";
constexpr const char* usual_group = "conclave";

struct RestoreFlags {
  std::string file;
  std::string data;
  std::uint32_t id = 0;
  std::string members;
  std::string clients;
  bool client_tls = false;
  std::string group;
  kv::Revision bump = etcd::RestorePlan{}.bump;
  std::string token;
  bool json = false;
};

std::expected<etcd::RestorePlan, std::string> plan_of(const RestoreFlags& flags) {
  etcd::RestorePlan plan = {
      .data = flags.data, .group = flags.group, .bump = flags.bump, .token = flags.token};
  const auto members = members_in(flags.members.empty() ? usual_member : flags.members);
  if (!members) return std::unexpected(members.error());
  if (flags.id == 0 && members->size() > 1)
    return std::unexpected("which of the members is this one? --id says so");
  plan.self = {flags.id == 0 ? members->front().id.value : flags.id};
  if (const std::string wrong = live::wrong_with(*members, plan.self); !wrong.empty())
    return std::unexpected(wrong);
  for (const live::Peer& peer : *members) {
    if (peer.id.value == 0) return std::unexpected("members are numbered from 1: 0 is nobody");
    plan.members.members[peer.id] = {.host = peer.host, .port = peer.port, .votes = true};
  }
  const auto clients = members_in(flags.clients);
  if (!clients) return std::unexpected(clients.error());
  for (const live::Peer& peer : *clients) {
    const auto member = plan.members.members.find(peer.id);
    if (member == plan.members.members.end())
      return std::unexpected(fmt::format("--clients names member {}, and --members does not", peer.id.value));
    member->second.clients = {(flags.client_tls ? "https://" : "http://") + live::in_words(peer.address())};
  }
  return plan;
}

// What serves the directory: the flags of the restore, and those that serve has besides.
std::string command_for(const RestoreFlags& flags, const etcd::RestorePlan& plan) {
  std::string command = "conclave serve";
  if (!flags.members.empty()) command += fmt::format(" --id {} --members {}", plan.self.value, flags.members);
  if (!flags.clients.empty()) command += " --clients " + flags.clients;
  if (flags.group != usual_group) command += " --group " + flags.group;
  return command + " --data " + flags.data;
}

int restore(const RestoreFlags& flags) {
  const auto plan = plan_of(flags);
  if (!plan) return complain(plan.error());
  auto backup = etcd::read_backup(flags.file);
  if (!backup) return fail(backup.error());
  const auto done = etcd::restore(std::move(*backup), *plan);
  if (!done) return fail(done.error());
  if (flags.json) {
    print_line({{"data", flags.data},
                {"member", plan->self.value},
                {"group", done->group},
                {"revision_saved", done->saved.revision},
                {"revision", done->now.revision},
                {"keys", done->now.keys},
                {"leases", done->now.leases},
                {"places", done->now.places},
                {"alarms_dropped", done->saved.alarms},
                {"digest", fmt::format("{:016x}", done->now.digest)},
                {"command", command_for(flags, *plan)}});
    return ok;
  }
  fmt::print("{}: member {} of {}, {} keys, {} leases\n", flags.data, plan->self.value,
             plan->members.members.size(), with_commas(done->now.keys), with_commas(done->now.leases));
  fmt::print("  revision {} was saved, {} is where the new cluster begins; all before is compacted\n",
             done->saved.revision, done->now.revision);
  if (done->now.places > 0)
    fmt::print("  {} in lines of locks and elections: as before, with greater fences\n",
               with_commas(done->now.places));
  if (done->saved.alarms > 0) fmt::print("  alarms of the former cluster were dropped\n");
  fmt::print("  group {}, digest {:016x}: the same for every member\n", done->group, done->now.digest);
  fmt::print("start it with (and --client, --key-file, --tls-… as before):\n  {}\n",
             command_for(flags, *plan));
  return ok;
}

// ---- the command line

void add_save(CLI::App& snapshot, Action& action) {
  CLI::App* verb = snapshot.add_subcommand("save", "the store of a running member, into a file");
  const auto flags = std::make_shared<SaveFlags>();
  verb->add_option("FILE", flags->file, "appears when it is whole; one that is there is replaced")
      ->required();
  add_server_flags(*verb, flags->servers);
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer(
      "Example:\n"
      "  conclave snapshot save backup.snapshot --endpoints 127.0.0.1:2379\n\n"
      "The first endpoint that gives it. Every byte is checked against the digest. A member that is cut off\n"
      "gives what it has, also without a quorum. etcdctl snapshot save does the same; etcd's own members\n"
      "give a database of theirs.");
  verb->callback([flags, &action] { action = [flags] { return save(*flags); }; });
}

void add_status_of_file(CLI::App& snapshot, Action& action) {
  CLI::App* verb = snapshot.add_subcommand("status", "what is in a file, and whether it is whole");
  const auto flags = std::make_shared<StatusFlags>();
  verb->add_option("FILE", flags->file, "that was saved")->required();
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer("Example:\n  conclave snapshot status backup.snapshot");
  verb->callback([flags, &action] { action = [flags] { return status(*flags); }; });
}

void add_restore(CLI::App& snapshot, Action& action) {
  CLI::App* verb = snapshot.add_subcommand("restore", "a new cluster that begins with a saved store");
  const auto flags = std::make_shared<RestoreFlags>();
  flags->group = usual_group;
  verb->add_option("FILE", flags->file, "that was saved")->required();
  verb->add_option("--data", flags->data, "the directory to make; must not be there, or be empty")
      ->required();
  verb->add_option("--id", flags->id, "which of the members this one is");
  verb->add_option("--members", flags->members,
                   "all members of the new cluster: 1=host:port,… (default: one, as conclave serve has it)");
  verb->add_option("--clients", flags->clients, "where clients reach the members: 1=host:port,…");
  verb->add_flag("--client-tls", flags->client_tls, "clients talk TLS");
  verb->add_option("--group", flags->group, "name of the group")->capture_default_str();
  verb->add_option("--bump", flags->bump,
                   "by how much the revision grows: more than was written since the save")
      ->check(CLI::Range(kv::Revision{1}, etcd::most_bump))
      ->capture_default_str()
      ->type_name("REVISIONS");
  verb->add_option("--token", flags->token,
                   "tells two restores of one file apart, if members of the first may still run");
  verb->add_flag("--json", flags->json, "for programs");
  verb->footer(
      "Examples:\n"
      "  conclave snapshot restore backup.snapshot --data new-data\n"
      "  conclave snapshot restore backup.snapshot --data /var/lib/conclave --id 2 \\\n"
      "      --members 1=a:7001,2=b:7001,3=c:7001\n\n"
      "Run it for every member with the same file and flags, but for --id and --data, and start all of "
      "them.\n"
      "Members of the former cluster and of the new one refuse each other.");
  verb->callback([flags, &action] { action = [flags] { return restore(*flags); }; });
}

}  // namespace

void add_snapshot(CLI::App& app, Action& action) {
  CLI::App* snapshot =
      app.add_subcommand("snapshot", "the store as a file, and clusters that begin with one");
  snapshot->require_subcommand(1);
  snapshot->footer(
      "Examples:\n"
      "  conclave snapshot save backup.snapshot\n"
      "  conclave snapshot status backup.snapshot\n"
      "  conclave snapshot restore backup.snapshot --data new-data");
  add_save(*snapshot, action);
  add_status_of_file(*snapshot, action);
  add_restore(*snapshot, action);
}

}  // namespace conclave::cli
