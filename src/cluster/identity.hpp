// By what data are known to be those of one member of one cluster: on its disk, at its links, and in its
// snapshots, which begin with the book of members.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "cluster/book.hpp"
#include "core/codec.hpp"

namespace conclave::cluster {

// On a member's directory.
std::string stamp_of(const std::string& group, NodeId self);

// What members call the group among each other. A cluster that began with a saved state is another one than
// the cluster that was saved: "conclave+0123456789abcdef". Whoever joins it later is told this name as the
// group's, and it stays as it is.
std::string group_of(const std::string& group, std::uint64_t lineage);

// What a snapshot of Raft's begins with; the machine's bytes follow.
Bytes preface_of(const Book& book);

struct SplitState {
  std::optional<Book> book = {};
  std::span<const std::uint8_t> machine = {};
};
// No book if there is none; nothing at all if it cannot be read.
std::optional<SplitState> split_state(std::span<const std::uint8_t> state);

}  // namespace conclave::cluster
