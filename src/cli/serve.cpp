// conclave serve: one member of a group, with its front desk.
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <set>
#include <sstream>

#include "catalogue/engines.hpp"
#include "catalogue/membership/discovery.hpp"
#include "cli/addresses.hpp"
#include "cli/exposure.hpp"
#include "cli/plan.hpp"
#include "cli/retention.hpp"
#include "cli/serve_plan.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "desk/desk.hpp"
#include "etcd/front.hpp"
#include "live/member.hpp"
#include "rpc/address.hpp"
#include "rpc/machine.hpp"
#include "rpc/server.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using Error = std::unexpected<std::string>;

// Exit status of a member that was removed, or has lost its data.
constexpr int no_member = 3;

struct Flags {
  ServePlan plan;
  std::string config;
  bool verbose = false;
};

void log_line(live::LogLevel level, std::string_view line) {
  static constexpr std::string_view names[] = {"debug", "info", "warning", "error"};
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  fmt::print(stderr, "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z {:7} {}\n", static_cast<int>(date.year()),
             static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
             time.minutes().count(), time.seconds().count(), time.subseconds().count(),
             names[static_cast<std::size_t>(level)], line);
}

std::chrono::nanoseconds seconds(double value) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(value));
}

// ---- from what was said to what is meant

std::expected<catalogue::Setting, std::string> setting_of(const ServePlan& plan,
                                                          const catalogue::Entry& entry) {
  catalogue::Setting setting = {.protocol = std::string(entry.name)};
  if (!plan.variant.empty()) setting.variant = plan.variant;
  if (!entry.variant(setting.variant))
    return Error(fmt::format("{} has no variant '{}'; see conclave catalogue {}", entry.name, setting.variant,
                             entry.name));
  for (const std::string& text : plan.set) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto known = std::ranges::find(entry.parameters, name, &catalogue::Parameter::name);
    if (equals == std::string::npos || known == entry.parameters.end())
      return Error(
          fmt::format("{} has no parameter '{}'; see conclave catalogue {}", entry.name, name, entry.name));
    setting.parameters[name] = text.substr(equals + 1);
  }
  return setting;
}

std::expected<live::MemberOptions, std::string> member_options(const ServePlan& plan) {
  live::MemberOptions options;
  live::LinkOptions& links = options.links;
  auto members = members_in(plan.members.empty() ? "1=127.0.0.1:2380" : plan.members);
  if (!members) return Error(members.error());
  links.members = std::move(*members);
  if (plan.id == 0 && links.members.size() > 1)
    return Error("which of the members is this one? --id says so");
  links.self = {plan.id == 0 ? links.members.front().id.value : plan.id};
  if (const std::string wrong = live::wrong_with(links.members, links.self); !wrong.empty())
    return Error(wrong);
  links.group = plan.group.empty() ? "conclave" : plan.group;
  if (!plan.listen.empty()) {
    const auto address = address_in(plan.listen);
    if (!address) return Error(address.error());
    links.listen = *address;
  }
  const auto via = members_in(plan.via);
  if (!via) return Error(via.error());
  for (const live::Peer& peer : *via) links.via[peer.id] = peer.address();
  auto key = key_in(plan.key_file);
  if (!key) return Error(key.error());
  links.key = std::move(*key);
  // The certificate may be for clients alone.
  if (!plan.client_tls || !plan.tls_ca.empty())
    links.tls = {.certificate = plan.tls_cert, .key = plan.tls_key, .authority = plan.tls_ca};
  const auto self = std::ranges::find(links.members, links.self, &live::Peer::id);
  if (const auto closed = check_members_port(plan, plan.listen.empty() ? self->address() : links.listen);
      !closed)
    return Error(closed.error());
  links.insecure = plan.insecure_members;
  if (plan.down_after > 0) {
    links.down_after = seconds(plan.down_after);
    links.heartbeat = std::min(links.heartbeat, links.down_after / 5);
  }
  options.trace = plan.trace;
  if (plan.forget_after > 0) options.forget_after = seconds(plan.forget_after);
  return options;
}

using ClientUrls = std::map<NodeId, std::vector<std::string>>;

std::string client_url(const ServePlan& plan, const std::string& address) {
  return (plan.client_tls ? "https://" : "http://") + address;
}

std::expected<ClientUrls, std::string> client_urls(const ServePlan& plan) {
  ClientUrls urls;
  const auto clients = members_in(plan.clients);
  if (!clients) return Error(clients.error());
  for (const live::Peer& peer : *clients) urls[peer.id] = {client_url(plan, live::in_words(peer.address()))};
  return urls;
}

// What only textbook engines have.
std::string unknown_to_raft(const ServePlan& plan) {
  if (!plan.variant.empty()) return "raft has no variants";
  if (!plan.set.empty()) return "raft has no parameters to set";
  if (!plan.trace.empty() && plan.join)
    return "a trace tells of those who were members at the beginning: who joins writes none";
  if (plan.forget_after > 0) return "raft forgets no names: there is no --forget-after";
  return {};
}

// A command of 1.5 MiB must fit into a message. Whoever does not read what it is sent costs no more than the
// queue.
cluster::ServerOptions raft_options(const ServePlan& plan, live::LinkOptions links) {
  cluster::ServerOptions options = {.links = std::move(links)};
  options.links.algorithm = "raft";
  options.links.limits.message_bytes = 8u << 20;
  options.links.limits.queue_bytes = 32u << 20;
  options.join = plan.join;
  options.skip = {plan.skip_entries.begin(), plan.skip_entries.end()};
  options.trace = plan.trace;
  options.data = plan.data;
  if (options.data.empty())
    options.data = plan.members.empty() && plan.discover.empty()
                       ? "conclave-data"
                       : fmt::format("conclave-data-{}", options.links.self.value);
  return options;
}

std::expected<rpc::TlsPtr, std::string> client_tls(const ServePlan& plan) {
  if (!plan.client_tls) return rpc::TlsPtr{};
  return rpc::server_tls({.certificate = plan.tls_cert,
                          .key = plan.tls_key,
                          .authority = plan.client_ca,
                          .require_client_certificate = !plan.client_ca.empty()});
}

constexpr std::uint64_t least_client_memory = 16u << 20;

std::expected<std::size_t, std::string> client_memory(const ServePlan& plan) {
  if (plan.client_memory.empty()) return 0;
  const auto size = parse_size(plan.client_memory);
  if (!size) return Error("--client-memory: " + size.error());
  if (*size < least_client_memory) return Error("--client-memory: less than 16M is of no use");
  return static_cast<std::size_t>(*size);
}

constexpr std::uint64_t least_quota = 1u << 20;

std::expected<etcd::MachineOptions, std::string> machine_options(const ServePlan& plan,
                                                                 const live::MemberOptions& options) {
  etcd::MachineOptions machine = {.server = raft_options(plan, options.links)};
  const auto history = retention_in(plan.compaction_mode, plan.retention);
  if (!history) return Error(history.error());
  machine.history = *history;
  if (plan.quota.empty()) return machine;
  const auto quota = parse_size(plan.quota);
  if (!quota) return Error("--quota-backend-bytes: " + quota.error());
  if (*quota < least_quota) return Error("--quota-backend-bytes: less than 1M is of no use");
  machine.quota_bytes = *quota;
  return machine;
}

// The names by which clients call this member, as far as we were told.
std::set<std::string, std::less<>> client_names(const ServePlan& plan, const ClientUrls& urls) {
  std::set<std::string, std::less<>> names = {rpc::host_in(plan.client)};
  std::istringstream list(plan.client_hosts);
  for (std::string one; std::getline(list, one, ',');) names.insert(rpc::host_in(one));
  for (const auto& [id, all] : urls)
    for (const std::string& url : all) names.insert(rpc::host_in(url));
  return names;
}

// ---- running

class Service {
 public:
  std::expected<void, std::string> open(const ServePlan& plan, const catalogue::Entry& entry, bool verbose) {
    log_ = [verbose](live::LogLevel level, std::string_view line) {
      if (verbose || level != live::LogLevel::debug) log_line(level, line);
    };
    if (auto fits = check(plan, entry); !fits) return fits;
    const std::string client = plan.client.empty() ? "127.0.0.1:2379" : plan.client;
    const auto address = address_in(client);
    if (!address) return Error(address.error());
    if (const auto closed = check_clients_port(plan, *address); !closed) return closed;
    const auto memory = client_memory(plan);
    if (!memory) return Error(memory.error());
    auto tls = client_tls(plan);
    if (!tls) return Error(tls.error());
    auto options = plan.discover.empty() ? member_options(plan) : find_members(plan);
    if (!options) return Error(options.error());
    const rpc::ServerLimits limits = rpc::limits_here(*memory);
    if (const auto begun = begin(plan, entry, *options); !begun) return begun;
    warn_of_clients(plan, *address);
    server_.emplace(loop_, limits);
    const auto port = server_->listen(client, *tls);
    if (!port) return Error(port.error());
    client_ = live::in_words({address->host, *port});
    auto urls = client_urls(plan);
    if (!urls) return Error(urls.error());
    urls->try_emplace(options->links.self, std::vector{client_url(plan, client_)});
    server_->called([this, names = client_names(plan, *urls)](std::string_view name) {
      return names.contains("*") || names.contains(name) || is_in_the_book(name);
    });
    if (machine_)
      front_.emplace(*server_, *machine_, etcd::FrontOptions{.client_urls = urls->at(options->links.self)},
                     log_);
    else
      desk_.emplace(*server_, *member_,
                    desk::Options{.client_urls = std::move(*urls), .lock_engines = catalogue::lock_engines()},
                    log_);
    return {};
  }

  // Whether what was said fits the engine, before anybody is asked for anything.
  std::expected<void, std::string> check(const ServePlan& plan, const catalogue::Entry& entry) {
    if (entry.name == "raft") {
      if (const std::string wrong = unknown_to_raft(plan); !wrong.empty()) return Error(wrong);
      if (const auto options = machine_options(plan, {}); !options) return Error(options.error());
      return {};
    }
    if (!plan.data.empty())
      return Error(fmt::format("{} keeps nothing on disk: --data is for the engine raft", entry.name));
    if (!plan.compaction_mode.empty() || !plan.retention.empty())
      return Error(fmt::format("{} has no history: --auto-compaction-… is for the engine raft", entry.name));
    if (!plan.quota.empty())
      return Error(fmt::format("{} has no store: --quota-backend-bytes is for the engine raft", entry.name));
    if (!plan.skip_entries.empty())
      return Error(fmt::format("{} has no log: --skip-entry is for the engine raft", entry.name));
    if (plan.join)
      return Error(fmt::format("{} has a fixed list of members: --join is for the engine raft", entry.name));
    auto setting = setting_of(plan, entry);
    if (!setting) return Error(setting.error());
    setting_ = std::move(*setting);
    return {};
  }

  // Members say themselves where clients reach them.
  bool is_in_the_book(std::string_view name) const {
    if (!machine_) return false;
    for (const auto& [id, member] : machine_->server().book().members)
      for (const std::string& url : member.clients)
        if (rpc::host_in(url) == name) return true;
    return false;
  }

  void warn_of_clients(const ServePlan& plan, const live::Address& listen) const {
    if (!plan.client_ca.empty() || !live::reached_from_elsewhere(listen.host)) return;
    log_(live::LogLevel::warning,
         plan.client_tls
             ? "event=clients_not_checked text=\"whoever reaches the port may do everything: --client-ca\""
             : "event=insecure_clients text=\"whoever reaches the port may read and write everything\"");
  }

  // What decides between the members.
  std::expected<void, std::string> begin(const ServePlan& plan, const catalogue::Entry& entry,
                                         const live::MemberOptions& options) {
    members_ = options.links.members.size();
    self_ = options.links.self;
    if (entry.name == "raft") return begin_raft(plan, options);
    auto member = live::Member::open(loop_, options, catalogue::engine_of(entry, setting_), log_);
    if (!member) return Error(member.error());
    member_ = std::move(*member);
    return {};
  }
  std::expected<void, std::string> begin_raft(const ServePlan& plan, const live::MemberOptions& options) {
    auto machine_options = cli::machine_options(plan, options);
    if (!machine_options) return Error(machine_options.error());
    const auto clients = client_urls(plan);
    if (!clients) return Error(clients.error());
    machine_options->server.clients = *clients;
    auto machine = etcd::Machine::open(
        loop_, *machine_options,
        [this, data = machine_options->server.data](etcd::Machine::End how, const std::string& why) {
          status_ = how == etcd::Machine::End::expelled ? no_member : property_failed;
          if (status_ == no_member) fmt::print(stderr, "conclave: {}; its data are kept in {}\n", why, data);
          loop_.stop();
        },
        log_);
    if (!machine) return Error(machine.error());
    machine_ = std::move(*machine);
    return {};
  }

  // The list of members is whoever announces itself; it does not change afterwards.
  std::expected<live::MemberOptions, std::string> find_members(ServePlan plan) {
    if (plan.listen.empty())
      return Error("--discover needs --listen host:port, where the others reach this one");
    const auto self = address_in(plan.listen);
    if (!self) return Error(self.error());
    if (const auto closed = check_members_port(plan, *self); !closed) return Error(closed.error());
    auto key = key_in(plan.key_file);
    if (!key) return Error(key.error());
    live::DiscoveryOptions options = {.group = plan.discover, .self = *self, .key = *key};
    if (plan.id != 0) options.id = NodeId{plan.id};
    if (plan.expect != 0) options.expected = plan.expect;
    if (!plan.registry.empty()) {
      const auto registry = address_in(plan.registry);
      if (!registry) return Error(registry.error());
      options.registry = *registry;
    }
    struct Outcome {
      std::optional<live::Discovered> found;
      std::string trouble;
    };
    const auto outcome = std::make_shared<Outcome>();  // it may still speak when we no longer listen
    auto discovery =
        catalogue::start_discovery(loop_, options,
                                   {.found = [outcome](const live::Discovered& all) { outcome->found = all; },
                                    .settled = {},
                                    .trouble = [outcome](const std::string& why) { outcome->trouble = why; }},
                                   log_);
    if (!discovery) return Error(discovery.error());
    discovery_ = std::move(*discovery);
    log_(live::LogLevel::info,
         fmt::format("event=looking group={} expected={}", live::in_quotes(plan.discover), options.expected));
    while (!outcome->found && outcome->trouble.empty()) loop_.run_one();
    if (!outcome->found) return Error(outcome->trouble);
    plan.members = members_text(outcome->found->members);
    plan.id = outcome->found->self.value;
    if (plan.group.empty()) plan.group = plan.discover;
    return member_options(plan);
  }

  void introduce(const catalogue::Entry& entry) const {
    fmt::print("member {} of {}, {}: clients at {}\n", self_.value, members_, entry.name, client_);
    const bool locks = machine_ || member_->kind() == live::Group::Kind::locks;
    const std::string_view example = locks ? "lock NAME -- COMMAND" : "leader NAME --watch";
    fmt::print("try:  CONCLAVE_ENDPOINTS={} conclave {}\n", client_, example);
    std::fflush(stdout);
  }

  int run() {
    boost::asio::signal_set signals(loop_, SIGINT, SIGTERM);
    signals.async_wait([&](const boost::system::error_code& error, int) {
      if (error) return;
      log_(live::LogLevel::info, "event=stopping");
      if (desk_) desk_->close();
      server_->shutdown(1s, [&] { loop_.stop(); });
    });
    try {
      loop_.run();
    } catch (const InvariantViolation& broken) {
      // Going on could break what the algorithm promises; whoever restarts us begins a new epoch.
      log_(live::LogLevel::error,
           fmt::format("event=invariant-broken what={}", live::in_quotes(broken.what())));
      return property_failed;
    }
    return status_;
  }

 private:
  boost::asio::io_context loop_{1};
  live::Log log_;
  std::unique_ptr<live::Discovery> discovery_;  // whoever is late or comes back learns the list from it
  std::unique_ptr<live::Member> member_;
  std::unique_ptr<etcd::Machine> machine_;  // instead, of the engine raft
  std::optional<etcd::Front> front_;
  std::optional<rpc::Server> server_;
  std::optional<desk::Desk> desk_;
  std::string client_;
  catalogue::Setting setting_ = {};
  NodeId self_ = {};
  std::size_t members_ = 0;
  int status_ = ok;
};

int serve(Flags& flags) {
  ServePlan& plan = flags.plan;
  if (!flags.config.empty()) {
    if (const auto read = read_plan(flags.config, plan); !read) return complain(read.error());
  }
  const catalogue::Entry* entry = entry_or_complain(plan.engine.empty() ? "raft" : plan.engine);
  if (!entry) return usage_error;
  if (!plan.client_ca.empty()) plan.client_tls = true;
  if (!entry->engine && entry->name != "raft")
    return complain(fmt::format("{} does not run as a service; those that do: raft, {}", entry->name,
                                fmt::join(catalogue::engines(), ", ")));
  std::signal(SIGPIPE, SIG_IGN);
  Service service;
  if (const auto opened = service.open(plan, *entry, flags.verbose); !opened) return complain(opened.error());
  service.introduce(*entry);
  return service.run();
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  ServePlan& plan = flags->plan;
  CLI::App* verb =
      app.add_subcommand("serve", "run one member of a group that keeps data, locks and leaders");
  verb->add_option("--engine", plan.engine,
                   "the algorithm (default: raft, which has a store); see conclave catalogue");
  verb->add_option("--variant", plan.variant, "of the algorithm");
  verb->add_option("--id", plan.id, "which of the members this one is");
  verb->add_option("--members", plan.members, "all members: 1=host:port,2=host:port,…");
  verb->add_flag("--join", plan.join,
                 "raft: the cluster is there, and this one comes in addition; see conclave member add");
  verb->add_option(
          "--skip-entry", plan.skip_entries,
          "raft: this entry of the log, which cannot be applied, counts as nothing; to be given at every "
          "member, or their stores differ")
      ->check(CLI::PositiveNumber);
  verb->add_option("--discover", plan.discover,
                   "find the members of this group instead; see conclave discover");
  verb->add_option("--expect", plan.expect, "so many of them");
  verb->add_option("--registry", plan.registry, "find them through this registry, not by multicast");
  verb->add_option("--clients", plan.clients, "where clients reach the members: 1=host:port,…");
  verb->add_option("--via", plan.via, "members that are dialled elsewhere, behind a forward: 2=host:port,…");
  verb->add_option("--client", plan.client, "listen for clients here (default: 127.0.0.1:2379)");
  verb->add_option("--data", plan.data, "raft keeps its log in this directory (default: conclave-data)");
  verb->add_option("--auto-compaction-mode", plan.compaction_mode,
                   "raft: history is kept by time (periodic, the default) or by its length (revision)");
  verb->add_option("--auto-compaction-retention", plan.retention,
                   "raft: how much history is kept: 5m, 1h30m, a number of hours, or of revisions; 0: all "
                   "(default: 5m, if it takes no more than 64 MiB, or than what lives)");
  verb->add_option("--quota-backend-bytes", plan.quota,
                   "raft: what the store may take, like 4G (default: 2G)");
  verb->add_option("--listen", plan.listen, "listen for members here, if not where --members says");
  verb->add_option("--group", plan.group, "name of the group; members of other groups are refused");
  verb->add_option("--key-file", plan.key_file, "a secret that all members share");
  verb->add_option("--tls-cert", plan.tls_cert, "certificate (PEM): members talk TLS and check each other");
  verb->add_option("--tls-key", plan.tls_key, "its key");
  verb->add_option("--tls-ca", plan.tls_ca, "the authority that signed everybody's");
  verb->add_flag("--client-tls", plan.client_tls, "clients talk TLS too, to the same certificate");
  verb->add_option("--client-ca", plan.client_ca,
                   "every client must show a certificate of this authority (PEM); implies --client-tls");
  verb->add_option("--client-host", plan.client_hosts,
                   "more names by which clients call this member, with commas between; * takes all");
  verb->add_option(
      "--client-memory", plan.client_memory,
      "memory for all clients together, like 512M (default: a quarter of the machine's, at most 256M)");
  verb->add_flag("--insecure-clients", plan.insecure_clients,
                 "serve clients on an address that other machines reach, although without TLS");
  verb->add_flag("--insecure-members", plan.insecure_members,
                 "listen for members on such an address, although without a key and without TLS");
  verb->add_option("--set", plan.set, "parameters of the algorithm: name=value; a tick is a millisecond");
  verb->add_option("--down-after", plan.down_after, "seconds of silence after which a member counts as down")
      ->check(CLI::PositiveNumber);
  verb->add_option("--forget-after", plan.forget_after,
                   "seconds after which a name nobody wants is forgotten")
      ->check(CLI::PositiveNumber);
  verb->add_option("--trace", plan.trace, "write what the algorithm does here; see conclave trace merge");
  verb->add_option("--config", flags->config, "a TOML file with the same names; flags count more");
  verb->add_flag("--verbose", flags->verbose, "log more");
  verb->footer(
      "Examples:\n"
      "  conclave serve\n"
      "  conclave serve --engine maekawa --id 2 --members 1=a:7001,2=b:7001,3=c:7001 --key-file KEY\n"
      "  conclave serve --client 0.0.0.0:2379 --tls-cert CERT --tls-key KEY --client-ca AUTHORITY\n"
      "  conclave serve --config member2.toml\n\n"
      "The file:\n"
      "  engine = \"ricart-agrawala\"\n"
      "  id = 2\n"
      "  key-file = \"/etc/conclave/key\"\n"
      "  [members]\n"
      "  1 = \"a:7001\"\n"
      "  2 = \"b:7001\"");
  verb->callback([flags, &action] { action = [flags] { return serve(*flags); }; });
}

}  // namespace conclave::cli
