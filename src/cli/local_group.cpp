#include "cli/local_group.hpp"

#include <fmt/format.h>

#include <thread>

#include "cli/terminal.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using Error = std::unexpected<std::string>;

}  // namespace

std::expected<std::unique_ptr<LocalGroup>, std::string> LocalGroup::start(const std::string& engine,
                                                                          std::uint32_t size,
                                                                          std::vector<std::string> flags) {
  std::unique_ptr<LocalGroup> group(new LocalGroup(engine, size, std::move(flags)));
  if (!group->folder_.there()) return Error("cannot make a folder where temporary ones stand");
  auto ports = live::free_ports(2 * size);
  if (!ports) return Error(ports.error());
  group->ports_ = std::move(*ports);
  for (std::uint32_t member = 1; member <= size; ++member) {
    if (const auto started = group->start_member(member); !started) return Error(started.error());
  }
  for (std::uint32_t member = 1; member <= size; ++member) {
    if (const auto ready = group->wait_until_ready(member); !ready) return Error(ready.error());
  }
  return group;
}

std::expected<void, std::string> LocalGroup::restart(std::uint32_t member) {
  if (const auto started = start_member(member); !started) return Error(started.error());
  return wait_until_ready(member);
}

std::string LocalGroup::endpoint(std::uint32_t member) const {
  return fmt::format("127.0.0.1:{}", ports_[size_ + member - 1]);
}

std::string LocalGroup::all_endpoints() const {
  std::string all;
  for (std::uint32_t member = 1; member <= size_; ++member) all += (member > 1 ? "," : "") + endpoint(member);
  return all;
}

std::string LocalGroup::said_by(std::uint32_t member) const {
  return folder_.file(fmt::format("member{}", member));
}

std::vector<std::string> LocalGroup::command_of(std::uint32_t member) const {
  if (is_etcd()) return etcd_command_of(member);
  std::string members;
  std::string clients;
  for (std::uint32_t i = 1; i <= size_; ++i) {
    members += fmt::format("{}{}=127.0.0.1:{}", i > 1 ? "," : "", i, ports_[i - 1]);
    clients += fmt::format("{}{}={}", i > 1 ? "," : "", i, endpoint(i));
  }
  std::vector<std::string> command = {
      "serve", "--engine",  engine_, "--id",     std::to_string(member), "--members",
      members, "--clients", clients, "--client", endpoint(member)};
  if (engine_ == "raft") {
    command.push_back("--data");
    command.push_back(folder_.file(fmt::format("data{}", member)));
  }
  command.insert(command.end(), flags_.begin(), flags_.end());
  return command;
}

// With its own time-outs: a heartbeat every 100 ms, and 1 to 2 s without one until an election.
std::vector<std::string> LocalGroup::etcd_command_of(std::uint32_t member) const {
  const std::string peers = fmt::format("http://127.0.0.1:{}", ports_[member - 1]);
  const std::string clients = "http://" + endpoint(member);
  std::string members;
  for (std::uint32_t i = 1; i <= size_; ++i)
    members += fmt::format("{}m{}=http://127.0.0.1:{}", i > 1 ? "," : "", i, ports_[i - 1]);
  std::vector<std::string> command = {"--name",
                                      fmt::format("m{}", member),
                                      "--data-dir",
                                      folder_.file(fmt::format("data{}", member)),
                                      "--listen-peer-urls",
                                      peers,
                                      "--initial-advertise-peer-urls",
                                      peers,
                                      "--listen-client-urls",
                                      clients,
                                      "--advertise-client-urls",
                                      clients,
                                      "--initial-cluster",
                                      members};
  command.insert(command.end(), flags_.begin(), flags_.end());
  return command;
}

std::expected<void, std::string> LocalGroup::start_member(std::uint32_t member) {
  members_[member - 1] = children_.size();
  return children_.start(command_of(member), said_by(member), is_etcd() ? "etcd" : "");
}

std::expected<void, std::string> LocalGroup::wait_until_ready(std::uint32_t member) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  const std::string_view ready = is_etcd() ? "ready to serve client requests" : "clients at";
  for (;;) {
    const std::string said = read_file(said_by(member)).value_or("");
    if (said.find(ready) != std::string::npos) return {};
    if (children_.departure(members_[member - 1]))
      return Error(fmt::format("member {} ended at once: {}", member, said));
    if (std::chrono::steady_clock::now() > end)
      return Error(fmt::format("member {} did not start: {}", member, said));
    std::this_thread::sleep_for(5ms);
  }
}

std::expected<std::size_t, std::string> LocalGroup::run(std::vector<std::string> arguments,
                                                        const std::string& said) {
  const std::size_t child = children_.size();
  if (const auto started = children_.start(arguments, said); !started) return Error(started.error());
  return child;
}

std::expected<live::Departure, std::string> LocalGroup::wait(std::size_t client,
                                                             std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (const auto departure = children_.departure(client)) return *departure;
    std::this_thread::sleep_for(2ms);
  }
  children_.kill(client);
  return Error("it took too long");
}

}  // namespace conclave::cli
