// A member of the engine raft, with the flags of `conclave serve` that tests under faults use and without the
// algorithms of the catalogue. What the sources of the program would be if a line of them were wrong is among
// what it is made of (twins.cmake); CONCLAVE_TWIN says which of those lines are to be the wrong ones.
//
//   chaos_server serve --id 1 --members 1=host:port,… --client host:port --data FOLDER …
//
// Every other verb is that of the program beside it.
#include <unistd.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>

#include "chaos/members.hpp"
#include "core/ensure.hpp"
#include "etcd/front.hpp"
#include "rpc/address.hpp"
#include "rpc/machine.hpp"
#include "rpc/server.hpp"

namespace {

using namespace std::chrono_literals;
using namespace conclave;

using Flags = std::map<std::string, std::string>;

// `--join` and such stand alone.
Flags flags_of(int argc, char** argv) {
  Flags flags;
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc && !std::string_view(argv[i + 1]).starts_with("--");
    flags[name] = has_value ? argv[++i] : "";
  }
  return flags;
}

std::string value_of(const Flags& flags, const std::string& name, const std::string& otherwise = "") {
  const auto found = flags.find(name);
  return found == flags.end() ? otherwise : found->second;
}

// 1=host:port,…
std::vector<live::Peer> peers_in(const std::string& text) {
  std::vector<live::Peer> peers;
  if (text.empty()) return peers;
  for (const std::string& one : chaos::split(text)) {
    const std::size_t equals = one.find('=');
    const auto address = rpc::parse_address(one.substr(equals + 1));
    if (equals == std::string::npos || !address) std::exit((std::cerr << one << " is no member\n", 2));
    peers.push_back({NodeId{static_cast<std::uint32_t>(chaos::number(one.substr(0, equals).c_str()))},
                     address->host, static_cast<std::uint16_t>(chaos::number(address->port.c_str()))});
  }
  return peers;
}

std::string key_in(const std::string& path) {
  std::ifstream file(path);
  std::string key;
  std::getline(file, key);
  return key;
}

void log_line(live::LogLevel level, std::string_view line) {
  static constexpr std::string_view names[] = {"debug", "info", "warning", "error"};
  if (level == live::LogLevel::debug) return;
  std::cerr << names[static_cast<std::size_t>(level)] << ' ' << line << std::endl;
}

etcd::MachineOptions options_of(const Flags& flags) {
  etcd::MachineOptions options;
  cluster::ServerOptions& server = options.server;
  live::LinkOptions& links = server.links;
  links.members = peers_in(value_of(flags, "--members"));
  links.self = {static_cast<std::uint32_t>(chaos::number(value_of(flags, "--id", "1").c_str()))};
  links.group = "conclave";
  links.algorithm = "raft";
  links.limits.message_bytes = 8u << 20;
  links.limits.queue_bytes = 32u << 20;
  for (const live::Peer& peer : peers_in(value_of(flags, "--via"))) links.via[peer.id] = peer.address();
  if (flags.contains("--key-file")) links.key = key_in(value_of(flags, "--key-file"));
  if (flags.contains("--down-after")) {
    links.down_after = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(std::strtod(value_of(flags, "--down-after").c_str(), nullptr)));
    links.heartbeat = std::min(links.heartbeat, links.down_after / 5);
  }
  for (const live::Peer& peer : peers_in(value_of(flags, "--clients")))
    server.clients[peer.id] = {"http://" + live::in_words(peer.address())};
  server.join = flags.contains("--join");
  server.data = value_of(flags, "--data", "conclave-data");
  // In seconds, and in MiB, whatever stands behind the number.
  if (const std::string age = value_of(flags, "--auto-compaction-retention"); !age.empty())
    options.history = {.age = std::chrono::seconds(std::strtoul(age.c_str(), nullptr, 10)),
                       .least_bytes = {}};
  if (const std::string quota = value_of(flags, "--quota-backend-bytes"); !quota.empty())
    options.quota_bytes = std::strtoull(quota.c_str(), nullptr, 10) << 20;
  return options;
}

int serve(const Flags& flags) {
  boost::asio::io_context loop{1};
  int status = 0;
  const auto ended = [&](etcd::Machine::End how, const std::string& why) {
    std::cerr << "conclave: " << why << std::endl;
    status = how == etcd::Machine::End::expelled ? 3 : 1;
    loop.stop();
  };
  auto machine = etcd::Machine::open(loop, options_of(flags), ended, log_line);
  if (!machine) return (std::cerr << "conclave: " << machine.error() << std::endl, 2);
  std::optional<etcd::Front> front;  // the server is gone before it
  rpc::Server server(loop, rpc::limits_here());
  const std::string client = value_of(flags, "--client");
  if (const auto port = server.listen(client, {}); !port)
    return (std::cerr << "conclave: " << port.error() << std::endl, 2);
  front.emplace(server, **machine, etcd::FrontOptions{.client_urls = {"http://" + client}}, log_line);
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([&](const boost::system::error_code& error, int) {
    if (!error) server.shutdown(1s, [&] { loop.stop(); });
  });
  try {
    loop.run();
  } catch (const InvariantViolation& broken) {
    log_line(live::LogLevel::error,
             std::string("event=invariant-broken what=") + live::in_quotes(broken.what()));
    return 1;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  if (argc > 1 && std::string_view(argv[1]) == "serve") return serve(flags_of(argc, argv));
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "conclave";
  ::execv(beside.c_str(), argv);
  std::cerr << "there is no " << beside << std::endl;
  return 127;
}
