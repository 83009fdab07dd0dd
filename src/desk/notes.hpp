// What the desks of the members tell each other: who leads which election. docs/desk.md has the rules.
//
// A note comes from another process. Whatever its bytes, taking it apart ends in a note that keeps the
// bounds, or in an error.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>

#include "core/codec.hpp"
#include "live/frames.hpp"

namespace conclave::desk {

inline constexpr std::size_t longest_client_name = 1000;  // of a lock or an election, as clients write it
inline constexpr std::size_t longest_value = 64 * 1024;   // of a leader

// Nothing that I told you before holds any longer. What does follows.
struct Anew {
  std::uint8_t version = 1;
  bool operator==(const Anew&) const = default;
};
// A client of mine leads, with this value now.
struct Leads {
  std::string name = {};
  std::string key = {};
  std::string value = {};
  std::uint64_t fence = 0;
  std::uint64_t version = 1;  // grows with every value that is proclaimed
  std::int64_t lease = 0;
  bool operator==(const Leads&) const = default;
};
struct Ended {
  std::string name = {};
  std::uint64_t fence = 0;
  bool operator==(const Ended&) const = default;
};
using Note = std::variant<Anew, Leads, Ended>;

enum class NoteError {
  malformed,        // no note of ours
  unknown_version,  // of a desk that speaks otherwise
  out_of_bounds,    // a name, a key or a value that no client can have asked for
};
std::string_view describe(NoteError error);

std::expected<Note, NoteError> decode_note(live::ByteView bytes);

}  // namespace conclave::desk
