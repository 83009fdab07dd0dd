// The data directory of a member whose cluster begins with a state, not with nothing.
//
//   cluster::seed({.data = "/var/lib/conclave", .group = "conclave", .self = {1}, .book = …,
//                  .index = 1000, .term = 3, .state = [&](Bytes& out, std::size_t about) { … }});
//
// Every member gets the same but for its id; then they are started, and go on from there.
#pragma once
#include <expected>
#include <functional>
#include <string>

#include "cluster/book.hpp"
#include "core/codec.hpp"

namespace conclave::cluster {

struct Seed {
  std::string data = {};  // must not be there, or be empty
  std::string group = {};
  NodeId self = {};
  Book book = {};  // founded; its voters vote
  // The place in the log that the state stands for.
  std::uint64_t index = 0;
  std::uint64_t term = 0;
  // Appends more of the machine's state, until there are about so many bytes. False: that was all.
  std::function<bool(Bytes& out, std::size_t about)> state = {};
};

// What went wrong, if anything did. A directory that is not finished is refused by whoever is started in it.
std::expected<void, std::string> seed(const Seed& seed);

}  // namespace conclave::cluster
