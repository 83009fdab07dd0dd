// A directory of a member as a process left it that did what no server of ours does: it numbered its commands
// as it liked, by a clock for one, and proposed what nobody can read.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "cluster/identity.hpp"
#include "live/replica.hpp"
#include "protocols/raft/raft.hpp"

namespace conclave {

inline Payload payload(const std::string& word) {
  return Payload(std::span(reinterpret_cast<const std::uint8_t*>(word.data()), word.size()));
}

// Of the only member of the group "test". Returns the place in the log of the first; the others follow.
inline std::uint64_t leave_behind(const std::string& data, const std::vector<log::Propose>& proposals) {
  boost::asio::io_context loop{1};
  std::uint64_t first = 0;
  std::size_t committed = 0;
  auto replica = live::Replica<raft::Raft>::open(
      loop, {.self = {1}, .members = {{1}}, .data = data, .stamp = cluster::stamp_of("test", {1})},
      {.heartbeat_ticks = 10, .patience_ticks = 20},
      {.send = [](NodeId, live::ByteView) {},
       .event =
           [&](const log::Spec::Event& event) {
             const auto* const one = std::get_if<log::Committed>(&event);
             if (!one || !one->entry) return;
             if (committed++ == 0) first = one->index;
           },
       .failed = [](const storage::Failure& why) { ADD_FAILURE() << why.text; }});
  if (!replica) {
    ADD_FAILURE() << replica.error().text;
    return 0;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto wait_until = [&](auto seen) {
    while (!seen() && std::chrono::steady_clock::now() < end) loop.run_one_for(std::chrono::milliseconds(10));
  };
  wait_until([&] { return (*replica)->node().leads(); });
  for (const log::Propose& proposal : proposals) (*replica)->command(proposal);
  wait_until([&] { return committed == proposals.size(); });
  EXPECT_EQ(committed, proposals.size()) << "waited in vain";
  return first;
}

}  // namespace conclave
