// Whatever another member says after its handshake, a member and its desk understand it or refuse it; and
// what they accept is the one encoding of what it says. The first byte is the kind of the word.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "desk/notes.hpp"
#include "live/member_wire.hpp"

namespace {

using namespace conclave;
using live::WordKind;

void require(bool claim, const char* belief) {
  if (claim) return;
  std::fprintf(stderr, "%s\n", belief);
  std::abort();
}

template <class Head>
void read_one(WordKind kind, live::ByteView body) {
  Head head;
  const auto rest = live::read_head(body, head);
  if (!rest) return;
  require(rest->size() <= body.size(), "what follows a head is part of the word");
  require(live::read_whole(body, head) == rest->empty(), "a head that ends with the word is whole");
  Bytes again;
  live::write_word(again, kind, head);
  require(std::ranges::equal(live::bytes_of(again).subspan(1), body.first(body.size() - rest->size())),
          "a head has one encoding");
}

void read_note(live::ByteView body) {
  const auto note = desk::decode_note(body);
  if (!note) return require(!desk::describe(note.error()).empty(), "a note is refused with a sentence");
  require(std::ranges::equal(live::bytes_of(encode(*note)), body), "a note has one encoding");
  if (const auto* leads = std::get_if<desk::Leads>(&*note)) {
    require(leads->key.starts_with(leads->name + "/"), "a key belongs to its name");
    require(leads->name.size() <= desk::longest_client_name && leads->value.size() <= desk::longest_value,
            "names and values are bounded");
    require(leads->fence > 0 && leads->fence <= INT64_MAX, "fences are revisions");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const live::ByteView body = std::as_bytes(std::span(data, size)).subspan(1);
  const auto kind = static_cast<WordKind>(data[0]);
  switch (kind) {
    case WordKind::inner: read_one<live::InnerHead>(kind, body); break;
    case WordKind::ready: read_one<live::ReadyHead>(kind, body); break;
    case WordKind::gone:
    case WordKind::mention: read_one<live::GoneHead>(kind, body); break;
    case WordKind::note: read_note(body); break;
    case WordKind::roster: read_one<live::RosterHead>(kind, body); break;
    case WordKind::promise:
    case WordKind::noted: read_one<live::PromiseHead>(kind, body); break;
    case WordKind::sight: read_one<live::SightHead>(kind, body); break;
  }
  return 0;
}
