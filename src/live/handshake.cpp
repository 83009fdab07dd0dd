#include "live/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "live/secrets.hpp"

namespace conclave::live {
namespace {

std::string with_length(ByteView bytes) {
  std::string text(sizeof(std::uint32_t), '\0');
  store(reinterpret_cast<std::byte*>(text.data()), static_cast<std::uint32_t>(bytes.size()));
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text;
}

Refusal refused(RefusalCode code, std::string text) { return {code, std::move(text)}; }

}  // namespace

bool Terms::knows(NodeId id) const { return std::ranges::find(ids, id) != ids.end(); }

Handshake::Handshake(Role role, const Terms& terms, NodeId self, StandingOf standing, std::string nonce,
                     std::string binding)
    : role_(role),
      terms_(&terms),
      self_(self),
      nonce_(std::move(nonce)),
      binding_(std::move(binding)),
      standing_(std::move(standing)) {
  ours_.group = terms.group;
  ours_.algorithm = terms.algorithm;
  ours_.members = terms.members;
  ours_.epoch = terms.epoch;
  ours_.from = self;
}

Handshake Handshake::dial(const Terms& terms, NodeId self, NodeId peer, StandingOf standing,
                          std::string nonce, std::string binding, Bytes& out) {
  Handshake handshake(Role::dialler, terms, self, std::move(standing), std::move(nonce), std::move(binding));
  handshake.ours_.to = peer;
  handshake.say_hello(out);
  return handshake;
}

Handshake Handshake::accept(const Terms& terms, NodeId self, StandingOf standing, std::string nonce,
                            std::string binding) {
  return {Role::acceptor, terms, self, std::move(standing), std::move(nonce), std::move(binding)};
}

void Handshake::say_hello(Bytes& out) {
  const std::size_t start = out.size();
  encode_hello({terms_->versions, nonce_}, out);
  hellos_ += with_length(bytes_of(out).subspan(start + frame_head_bytes));
}

std::expected<bool, Refusal> Handshake::on_frame(const Frame& frame, Bytes& out) {
  if (frame.kind == FrameKind::hello && !greeted_) return on_hello(frame, out);
  if (frame.kind == FrameKind::card && greeted_ && !theirs_) {
    if (seal_)
      return std::unexpected(
          refused(RefusalCode::wrong_key, "this member has a key, and the other has none"));
    return on_card(frame, out);
  }
  if (frame.kind == FrameKind::sealed && greeted_ && !theirs_) return on_sealed(frame, out);
  return std::unexpected(refused(RefusalCode::garbage, "a frame that is not due in the handshake"));
}

std::expected<bool, Refusal> Handshake::on_hello(const Frame& frame, Bytes& out) {
  const auto theirs = decode_hello(frame.body, terms_->versions);
  if (!theirs) return std::unexpected(refusal_for(theirs.error()));
  const VersionRange ours = terms_->versions;
  if (!overlap(theirs->versions, ours))
    return std::unexpected(
        refused(RefusalCode::wrong_version,
                fmt::format("wire versions {} to {} are spoken here, {} to {} there", ours.least, ours.most,
                            theirs->versions.least, theirs->versions.most)));
  greeted_ = true;
  hellos_ += with_length(frame.body);
  if (role_ == Role::acceptor) say_hello(out);
  if (!terms_->key.empty()) seal_.emplace(draw_keys());
  if (role_ == Role::dialler) show_card(out);
  return false;
}

// Both hellos are in it, the dialler's first, so the keys are as fresh as either nonce; and what an old
// version heard cannot be made of it, if both sides speak a newer one.
Seal::Keys Handshake::draw_keys() const {
  const std::string use = hellos_ + with_length(bytes_of(binding_));
  const std::string drawn = hkdf_sha256(terms_->key, "conclave link 2", use, 2 * seal_key_bytes);
  Seal::Keys keys;
  auto& forth = role_ == Role::dialler ? keys.sending : keys.receiving;
  auto& back = role_ == Role::dialler ? keys.receiving : keys.sending;
  std::memcpy(forth.data(), drawn.data(), seal_key_bytes);
  std::memcpy(back.data(), drawn.data() + seal_key_bytes, seal_key_bytes);
  return keys;
}

void Handshake::show_card(Bytes& out) {
  const Standing standing = standing_(ours_.to);
  ours_.incarnation = standing.incarnation;
  ours_.stream = standing.stream;
  ours_.first_stream = standing.first_stream;
  ours_.knows = standing.knows;
  if (!seal_) return encode_card(ours_, out);
  Bytes card;
  encode_card(ours_, card);
  const ByteView whole = bytes_of(card);
  seal_->close({&whole, 1}, out);
}

std::expected<bool, Refusal> Handshake::on_sealed(const Frame& frame, Bytes& out) {
  if (!seal_)
    return std::unexpected(refused(RefusalCode::wrong_key, "the other has a key, and this member has none"));
  std::vector<std::byte> opened;
  if (!seal_->open(frame.body, opened))
    return std::unexpected(refused(RefusalCode::wrong_key, "the proof does not fit the key of this group"));
  const auto inside = next_frame(opened, most_greeting_bytes);
  if (!inside) return std::unexpected(refusal_for(inside.error()));
  if (!*inside || (*inside)->size != opened.size() || (*inside)->kind != FrameKind::card)
    return std::unexpected(refused(RefusalCode::garbage, "something else than a card under the first seal"));
  return on_card(**inside, out);
}

std::expected<bool, Refusal> Handshake::on_card(const Frame& frame, Bytes& out) {
  auto card = decode_card(frame.body);
  if (!card) return std::unexpected(refusal_for(card.error()));
  if (auto no = objection(*card)) return std::unexpected(std::move(*no));
  theirs_ = std::move(*card);
  if (role_ == Role::acceptor) {
    ours_.to = theirs_->from;
    show_card(out);
  }
  return true;
}

std::optional<Refusal> Handshake::objection(const Card& theirs) const {
  if (theirs.group != terms_->group)
    return refused(RefusalCode::wrong_group, fmt::format("this is group '{}'", terms_->group));
  if (theirs.algorithm != terms_->algorithm)
    return refused(RefusalCode::wrong_algorithm, fmt::format("the group runs '{}'", terms_->algorithm));
  if (!members_fit(theirs)) return refused(RefusalCode::wrong_members, "the lists of members differ");
  if (theirs.epoch != terms_->epoch && terms_->list == MemberList::fixed)
    return refused(RefusalCode::wrong_epoch,
                   fmt::format("epoch {} here, {} there", terms_->epoch, theirs.epoch));
  if (theirs.to != self_)
    return refused(RefusalCode::wrong_recipient,
                   fmt::format("this is member {}, not {}", self_.value, theirs.to.value));
  if (theirs.from == self_)
    return refused(RefusalCode::duplicate_id, fmt::format("member {} is already here", self_.value));
  if (auto no = objection_to_id(theirs.from)) return no;
  if (role_ == Role::dialler && theirs.from != ours_.to)
    return refused(RefusalCode::wrong_recipient, fmt::format("member {} was dialled", ours_.to.value));
  return std::nullopt;
}

// Those who begin together begin with one list. Later each has the list that its log says, and one may be
// behind the other.
bool Handshake::members_fit(const Card& theirs) const {
  if (theirs.members == terms_->members || terms_->list == MemberList::changing) return true;
  return terms_->list == MemberList::founding && theirs.members == members_digest({});
}

// Where members change, one that was removed is let in up to here: so that it can be told, by somebody who
// has proved to know. Who is silent for long may dial although it is the greater: our address of it may be
// old.
std::optional<Refusal> Handshake::objection_to_id(NodeId from) const {
  const bool changes = terms_->list != MemberList::fixed;
  const bool known = terms_->knows(from);
  const bool was_removed = changes && !known && from <= terms_->greatest;
  const bool may_be_new = changes && terms_->welcoming;
  if (!known && !was_removed && !may_be_new)
    return refused(RefusalCode::unknown_member, fmt::format("no member {}", from.value));
  if (role_ == Role::acceptor && from > self_ && !was_removed && !may_be_new)
    return refused(RefusalCode::unknown_member,
                   fmt::format("member {} is dialled, it does not dial {}", from.value, self_.value));
  return std::nullopt;
}

}  // namespace conclave::live
