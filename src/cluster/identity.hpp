// By what data are known to be those of one member of one cluster: on its disk, at its links, and in its
// snapshots, which begin with the book of members.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "cluster/book.hpp"
#include "core/bulk.hpp"
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
  Bulk machine = {};
};
// No book if there is none; nothing at all if it cannot be read.
std::optional<SplitState> split_state(const Bulk& state);

// The same of a state that comes a part at a time.
class StateParts {
 public:
  enum class Next { more, machine, wrong };
  // more: what has come so far is not the whole preface. machine: `rest` is what has come of the machine's
  // bytes, in this part. wrong: no preface begins like that.
  struct Taken {
    Next next = Next::more;
    std::span<const std::uint8_t> rest = {};
  };
  Taken take(std::span<const std::uint8_t> part);
  // When nothing more comes: what is too short for a preface is the machine's.
  std::span<const std::uint8_t> left() const { return is_over_ ? std::span<const std::uint8_t>() : head_; }

 private:
  Bytes head_ = {};
  bool is_over_ = false;
};

}  // namespace conclave::cluster
