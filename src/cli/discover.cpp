// conclave discover: processes that start separately find each other; with --elect they also choose one.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "catalogue/engines.hpp"
#include "catalogue/membership/discovery.hpp"
#include "cli/addresses.hpp"
#include "cli/terminal.hpp"
#include "cli/until_signal.hpp"
#include "cli/verbs.hpp"
#include "live/datagram.hpp"
#include "live/member.hpp"

namespace conclave::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace asio = boost::asio;

constexpr std::uint16_t registry_port = 7038;

struct Flags {
  std::string group;
  std::uint32_t expect = 0;
  std::int64_t id = 0;
  std::string listen = "127.0.0.1:0";
  std::string registry;
  std::string multicast;
  std::string interface = "127.0.0.1";
  std::string key_file;
  double timeout = 60;
  bool json = false;
  bool elect = false;
  double period = 5;
  double seconds = 0;
  std::int64_t bound_ms = 200;
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

// For programs that read us through a pipe, a line is there when it happened.
void print_line(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void print_log(live::LogLevel level, std::string_view text) {
  if (level >= live::LogLevel::warning) fmt::print(stderr, "{}\n", text);
}

class Discover {
 public:
  Discover(const Flags& flags, live::DiscoveryOptions options)
      : flags_(flags),
        options_(std::move(options)),
        place_(loop_),
        deadline_(loop_),
        tick_(loop_),
        end_(loop_) {}

  int run() {
    if (const std::string wrong = reserve(); !wrong.empty()) return complain(wrong);
    auto started =
        catalogue::start_discovery(loop_, options_,
                                   {.found = [this](const live::Discovered& all) { on_found(all); },
                                    .settled = [this] { on_settled(); },
                                    .trouble = [this](const std::string& why) { on_trouble(why); }},
                                   [](live::LogLevel, std::string_view) {});
    if (!started) return complain(started.error());
    discovery_ = std::move(*started);
    after(deadline_, flags_.timeout, [this] { on_timeout(); });
    run_until_signal(loop_);
    return status_;
  }

 private:
  template <class Then>
  static void after(asio::steady_timer& timer, double seconds, Then then) {
    timer.expires_after(milliseconds(seconds));
    timer.async_wait([then](const boost::system::error_code& error) {
      if (!error) then();
    });
  }

  // Nobody else may take the port that we announce.
  std::string reserve() {
    using asio::ip::tcp;
    const auto where = live::resolve_datagrams(loop_, options_.self);
    if (!where) return where.error();
    boost::system::error_code error;
    const tcp::endpoint endpoint(where->address(), where->port());
    place_.open(endpoint.protocol(), error);
    if (!error) place_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) place_.bind(endpoint, error);
    if (error)
      return fmt::format("cannot listen at {}: {}; --listen takes another address", in_words(options_.self),
                         error.message());
    options_.self.port = place_.local_endpoint().port();
    return {};
  }

  void on_found(const live::Discovered& all) {
    found_ = all;
    deadline_.cancel();
    if (flags_.json) {
      Json members = Json::array();
      for (const live::Peer& one : all.members)
        members.push_back({{"id", one.id.value}, {"address", in_words(one.address())}});
      print_line(Json{{"event", "found"},
                      {"group", flags_.group},
                      {"id", all.self.value},
                      {"members", members},
                      {"list", members_text(all.members)}}
                     .dump());
    } else {
      print_line(fmt::format("--id {} --members {}", all.self.value, members_text(all.members)));
    }
    // Not now: we are called from inside the discovery.
    if (flags_.elect) asio::post(loop_, [this] { elect(); });
  }

  // With an election the discovery goes on, for those who come back.
  void on_settled() {
    if (!flags_.elect) loop_.stop();
  }

  void on_trouble(const std::string& why) {
    if (flags_.json) {
      print_line(Json{{"event", "trouble"}, {"error", why}}.dump());
    } else {
      fmt::print(stderr, "conclave: {}\n", why);
    }
    if (found_) return;
    status_ = property_failed;
    loop_.stop();
  }

  void on_timeout() {
    on_trouble(fmt::format(
        "found {} of {} processes of group '{}' in {} s; are the others started, with the same {}?",
        discovery_->known(), flags_.expect, flags_.group, flags_.timeout,
        options_.registry ? "--registry and key" : "--multicast, --interface and key"));
  }

  void elect() {
    place_.close();
    const catalogue::Setting setting = {.parameters = {{"T_t", std::to_string(flags_.bound_ms)}}};
    auto member = live::Member::open(loop_,
                                     {.links = {.self = found_->self,
                                                .members = found_->members,
                                                .group = flags_.group,
                                                .key = options_.key,
                                                .listen = options_.self}},
                                     catalogue::engine_of(*catalogue::find("bully"), setting), print_log);
    if (!member) {
      status_ = complain(member.error());
      return loop_.stop();
    }
    member_ = std::move(*member);
    member_->listen(
        {.elected = [this](const std::string&, std::optional<NodeId> leader) { on_leader(leader); }});
    member_->take_part(coordinator);
    if (flags_.seconds > 0) after(end_, flags_.seconds, [this] { loop_.stop(); });
    repeat();
  }

  void repeat() {
    after(tick_, flags_.period, [this] {
      print_coordinator("coordinator", member_->leader(coordinator));
      repeat();
    });
  }

  void on_leader(std::optional<NodeId> leader) {
    if (leader) print_coordinator("elected", leader);
  }

  void print_coordinator(const char* event, std::optional<NodeId> leader) {
    if (flags_.json) {
      print_line(Json{
          {"event", event}, {"id", found_->self.value}, {"leader", leader ? Json(leader->value) : Json()}}
                     .dump());
    } else if (!leader) {
      print_line(fmt::format("{}: no coordinator, an election is under way", found_->self.value));
    } else {
      print_line(fmt::format("{}: {} {}{}", found_->self.value,
                             event == std::string_view("elected") ? "elected" : "the coordinator is",
                             leader->value, *leader == found_->self ? ", this process" : ""));
    }
  }

  static inline const std::string coordinator = "coordinator";  // the name of the election

  const Flags& flags_;
  live::DiscoveryOptions options_;
  asio::io_context loop_{1};
  asio::ip::tcp::acceptor place_;
  asio::steady_timer deadline_;
  asio::steady_timer tick_;
  asio::steady_timer end_;
  std::unique_ptr<live::Discovery> discovery_;
  std::unique_ptr<live::Member> member_;
  std::optional<live::Discovered> found_;
  int status_ = ok;
};

int run(const Flags& flags) {
  live::DiscoveryOptions options = {
      .group = flags.group, .expected = flags.expect, .interface = flags.interface};
  if (flags.id > 0) options.id = NodeId{static_cast<std::uint32_t>(flags.id)};
  auto key = key_in(flags.key_file);
  if (!key) return complain(key.error());
  options.key = std::move(*key);
  auto self = address_in(flags.listen);
  if (!self) return complain(self.error());
  options.self = std::move(*self);
  if (options.self.host == "0.0.0.0" || options.self.host == "::")
    return complain("--listen is where the others reach this process: name one of its addresses");
  if (!flags.registry.empty()) {
    auto registry = address_in(flags.registry, registry_port);
    if (!registry) return complain(registry.error());
    options.registry = std::move(*registry);
  }
  if (!flags.multicast.empty()) {
    auto multicast = address_in(flags.multicast);
    if (!multicast) return complain(multicast.error());
    options.multicast = std::move(*multicast);
  }
  return Discover(flags, std::move(options)).run();
}

}  // namespace

void add_discover(CLI::App& app, Action& action) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb =
      app.add_subcommand("discover", "Find the other processes of a group, and elect one of them if wanted");
  verb->add_option("GROUP", flags->group, "name of the group")->required();
  verb->add_option("--expect", flags->expect, "number of processes, this one included")
      ->required()
      ->check(CLI::Range(1u, live::most_discovered));
  verb->add_option("--id", flags->id, "of this process; else it is given one")
      ->check(CLI::Range(1, 1'000'000));
  verb->add_option("--listen", flags->listen,
                   "host:port where the others reach this process [a free port here]");
  verb->add_option("--registry", flags->registry,
                   "host:port of conclave registry serve, instead of multicast");
  verb->add_option("--multicast", flags->multicast, "address:port to meet at [made from GROUP]")
      ->excludes("--registry");
  verb->add_option("--interface", flags->interface,
                   "address of the interface to multicast through [127.0.0.1: this machine only]");
  verb->add_option("--key-file", flags->key_file, "a secret that all processes share");
  verb->add_option("--timeout", flags->timeout, "give up after so many seconds [60]")
      ->check(CLI::Range(0.1, 1e6));
  verb->add_flag("--json", flags->json, "for programs: an object a line");
  verb->add_flag("--elect", flags->elect, "then hold bully elections, until stopped");
  verb->add_option("--period", flags->period, "print the coordinator every so many seconds [5]")
      ->check(CLI::Range(0.01, 1e6));
  verb->add_option("--for", flags->seconds, "end the elections after so many seconds")
      ->check(CLI::Range(0.1, 1e6));
  verb->add_option("--bound-ms", flags->bound_ms, "no message between them takes longer [200]")
      ->check(CLI::Range(1, 60'000));
  verb->footer(
      "Examples:\n  conclave discover shop --expect 3\n"
      "  conclave discover shop --expect 3 --elect --listen 127.0.0.1:7201");
  verb->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace conclave::cli
