// A group of members on this machine: as many processes as members, on ports of loopback that are free. They
// end with the object, and with this process however it ends. The engine may be etcd's own: etcd, if it is
// installed, with the same clients.
#pragma once
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "cli/temporary_folder.hpp"
#include "live/children.hpp"

namespace conclave::cli {

class LocalGroup {
 public:
  // `flags` go to every member. Returns when all of them listen.
  static std::expected<std::unique_ptr<LocalGroup>, std::string> start(const std::string& engine,
                                                                       std::uint32_t size,
                                                                       std::vector<std::string> flags = {});

  const std::string& engine() const { return engine_; }
  std::uint32_t size() const { return size_; }
  std::string endpoint(std::uint32_t member) const;
  std::string all_endpoints() const;
  void kill(std::uint32_t member) { children_.kill(members_[member - 1]); }
  void pause(std::uint32_t member) { children_.pause(members_[member - 1]); }
  void resume(std::uint32_t member) { children_.resume(members_[member - 1]); }
  // One that was killed, with what its disk has. Returns when it listens.
  std::expected<void, std::string> restart(std::uint32_t member);
  const std::string& folder() const { return folder_.path(); }  // with what the members say

  // One of its clients: this program with other arguments; what it printed is in the file.
  std::expected<std::size_t, std::string> run(std::vector<std::string> arguments, const std::string& said);
  std::expected<live::Departure, std::string> wait(std::size_t client, std::chrono::milliseconds patience);

 private:
  LocalGroup(std::string engine, std::uint32_t size, std::vector<std::string> flags)
      : engine_(std::move(engine)), size_(size), flags_(std::move(flags)), members_(size) {}
  bool is_etcd() const { return engine_ == "etcd"; }
  std::vector<std::string> command_of(std::uint32_t member) const;
  std::vector<std::string> etcd_command_of(std::uint32_t member) const;
  std::expected<void, std::string> start_member(std::uint32_t member);
  std::expected<void, std::string> wait_until_ready(std::uint32_t member);
  std::string said_by(std::uint32_t member) const;

  std::string engine_;
  std::uint32_t size_;
  std::vector<std::string> flags_;
  TemporaryFolder folder_;
  std::vector<std::uint16_t> ports_;  // for members, then for clients
  std::vector<std::size_t> members_;  // which children they are
  live::Children children_;
};

}  // namespace conclave::cli
