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

Handshake::Handshake(Role role, const Terms& terms, NodeId self, std::string nonce, std::string binding)
    : role_(role), terms_(&terms), self_(self), binding_(std::move(binding)) {
  ours_.group = terms.group;
  ours_.algorithm = terms.algorithm;
  ours_.members = terms.members;
  ours_.epoch = terms.epoch;
  ours_.from = self;
  ours_.nonce = std::move(nonce);
}

Handshake Handshake::dial(const Terms& terms, NodeId self, NodeId peer, const Standing& ours,
                          std::uint64_t attempt, std::string nonce, std::string binding, Bytes& out) {
  Handshake handshake(Role::dialler, terms, self, std::move(nonce), std::move(binding));
  handshake.standing_ = [ours](NodeId) { return ours; };
  handshake.ours_.to = peer;
  handshake.ours_.attempt = attempt;
  handshake.say_hello(out);
  return handshake;
}

Handshake Handshake::accept(const Terms& terms, NodeId self, std::function<Standing(NodeId)> standing,
                            std::string nonce, std::string binding) {
  Handshake handshake(Role::acceptor, terms, self, std::move(nonce), std::move(binding));
  handshake.standing_ = std::move(standing);
  return handshake;
}

void Handshake::say_hello(Bytes& out) {
  const Standing standing = standing_(ours_.to);
  ours_.incarnation = standing.incarnation;
  ours_.stream = standing.stream;
  ours_.first_stream = standing.first_stream;
  ours_.knows = standing.knows;
  const std::size_t start = out.size();
  encode_hello(terms_->versions, ours_, out);
  hellos_ += with_length(bytes_of(out).subspan(start + frame_head_bytes));
}

std::expected<bool, Refusal> Handshake::on_frame(const Frame& frame, Bytes& out) {
  if (frame.kind == FrameKind::hello && !theirs_) return on_hello(frame, out);
  if (frame.kind == FrameKind::proof && theirs_) return on_proof(frame, out);
  return std::unexpected(refused(RefusalCode::garbage, "a frame that is not due in the handshake"));
}

std::expected<bool, Refusal> Handshake::on_hello(const Frame& frame, Bytes& out) {
  const auto greeting = decode_hello(frame.body, terms_->versions);
  if (!greeting) return std::unexpected(refusal_for(greeting.error()));
  if (!greeting->hello)
    return std::unexpected(
        refused(RefusalCode::wrong_version,
                fmt::format("wire versions {} to {} are spoken here, {} to {} there", terms_->versions.least,
                            terms_->versions.most, greeting->versions.least, greeting->versions.most)));
  if (auto no = objection(*greeting->hello)) return std::unexpected(std::move(*no));
  theirs_ = greeting->hello;
  hellos_ += with_length(frame.body);
  if (role_ == Role::acceptor) {
    ours_.to = theirs_->from;
    ours_.attempt = theirs_->attempt;
    say_hello(out);
  } else {
    encode_proof(proof_by(Role::dialler), out);
  }
  return false;
}

std::optional<Refusal> Handshake::objection(const Hello& theirs) const {
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
  if (role_ == Role::dialler && (theirs.from != ours_.to || theirs.attempt != ours_.attempt))
    return refused(RefusalCode::wrong_recipient, fmt::format("member {} was dialled", ours_.to.value));
  return std::nullopt;
}

// Those who begin together begin with one list. Later each has the list that its log says, and one may be
// behind the other.
bool Handshake::members_fit(const Hello& theirs) const {
  if (theirs.members == terms_->members || terms_->list == MemberList::changing) return true;
  return terms_->list == MemberList::founding && theirs.members == members_digest({});
}

// Where members change, one that was removed is let in up to its proof: so that it can be told, by somebody
// who has proved to know. Who is silent for long may dial although it is the greater: our address of it may
// be old.
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

// The label keeps the two proofs apart: one cannot be sent back as the other.
std::string Handshake::proof_by(Role prover) const {
  std::string text = prover == Role::dialler ? "conclave link dialler" : "conclave link acceptor";
  text += hellos_;
  text += with_length(bytes_of(binding_));
  if (prover == Role::acceptor) text += proof_by(Role::dialler);
  return hmac_sha256(terms_->key, text);
}

std::expected<bool, Refusal> Handshake::on_proof(const Frame& frame, Bytes& out) {
  const auto proof = decode_proof(frame.body);
  if (!proof) return std::unexpected(refusal_for(proof.error()));
  const Role prover = role_ == Role::dialler ? Role::acceptor : Role::dialler;
  if (!same_secret(*proof, proof_by(prover)))
    return std::unexpected(refused(RefusalCode::wrong_key, "the proof does not fit the key of this group"));
  if (role_ == Role::acceptor) encode_proof(proof_by(Role::acceptor), out);
  return true;
}

}  // namespace conclave::live
