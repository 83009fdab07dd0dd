#include "desk/notes.hpp"

namespace conclave::desk {

namespace {

constexpr std::size_t longest_key_tail = 40;

bool name_in_bounds(const std::string& name) { return !name.empty() && name.size() <= longest_client_name; }

// Clients know fences as revisions, which have a sign.
bool fence_in_bounds(std::uint64_t fence) { return fence > 0 && fence <= INT64_MAX; }

bool in_bounds(const Anew&) { return true; }
bool in_bounds(const Ended& note) { return name_in_bounds(note.name) && fence_in_bounds(note.fence); }
bool in_bounds(const Leads& note) {
  const std::string prefix = note.name + '/';
  return name_in_bounds(note.name) && fence_in_bounds(note.fence) && note.version > 0 &&
         note.version <= INT64_MAX && note.value.size() <= longest_value && note.key.starts_with(prefix) &&
         note.key.size() <= prefix.size() + longest_key_tail;
}

}  // namespace

std::string_view describe(NoteError error) {
  switch (error) {
    case NoteError::malformed: return "it cannot be read";
    case NoteError::unknown_version: return "its version is not known";
    case NoteError::out_of_bounds: return "it says what no client can have asked for";
  }
  return "unknown error";
}

std::expected<Note, NoteError> decode_note(live::ByteView bytes) {
  auto note = decode<Note>(live::numbers_of(bytes));
  if (!note) return std::unexpected(NoteError::malformed);
  if (const Anew* anew = std::get_if<Anew>(&*note); anew != nullptr && anew->version != Anew{}.version)
    return std::unexpected(NoteError::unknown_version);
  if (!std::visit([](const auto& said) { return in_bounds(said); }, *note))
    return std::unexpected(NoteError::out_of_bounds);
  return std::move(*note);
}

}  // namespace conclave::desk
