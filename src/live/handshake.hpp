// The handshake of a link as a value without sockets: frames in, frames out, and in the end either both sides
// know who the other is, or one tells the other why not.
//
//   dialler → acceptor   Hello: the versions that I speak, a nonce
//   acceptor → dialler   Hello: the same from the other side
//   dialler → acceptor   Card: who I am, what I take for granted, what I have of yours
//   acceptor → dialler   Card: the same from the other side
//
// With a key, cards travel under a seal whose keys are drawn from the shared one, from every byte of both
// hellos, and from a secret of the TLS session if there is one. That is proof and secrecy at once: a card can
// only be written and read by who knows the key, and in this very connection and direction; whoever does not
// know it hears two version numbers and a nonce. What follows goes on under the same seal, unless TLS has its
// own. Whether there is a seal is decided by having a key, never by what the other side says.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "live/frames.hpp"
#include "live/members.hpp"
#include "live/seal.hpp"

namespace conclave::live {

// What both sides must have in common.
struct Terms {
  std::string group = {};
  std::string algorithm = {};
  std::string members = {};  // digest
  std::uint64_t epoch = 0;
  std::string key = {};
  std::vector<NodeId> ids = {};  // of all members
  VersionRange versions = wire_versions;
  // Where members come and go. `epoch` then says which data a member has, and is compared by whoever knows.
  MemberList list = MemberList::fixed;
  NodeId greatest = {};    // id that was ever given: up to it, who is not in the list was removed
  bool welcoming = false;  // our list may be old: whoever proves that it knows the key may be in a newer one

  bool knows(NodeId id) const;
};

// One side of a link as its card shows it.
struct Standing {
  std::uint64_t incarnation = 0;
  std::uint64_t stream = 0;
  std::uint64_t first_stream = 0;
  Knowledge knows = {};
};

class Handshake {
 public:
  // `standing` says where we stand with a peer, and is asked when our card is written. The smaller id dials.
  using StandingOf = std::function<Standing(NodeId)>;
  static Handshake dial(const Terms& terms, NodeId self, NodeId peer, StandingOf standing, std::string nonce,
                        std::string binding, Bytes& out);
  static Handshake accept(const Terms& terms, NodeId self, StandingOf standing, std::string nonce,
                          std::string binding);

  // True when it is finished. What is to be sent is appended to `out`.
  std::expected<bool, Refusal> on_frame(const Frame& frame, Bytes& out);

  const Card& ours() const { return ours_; }
  // When the handshake is finished; before that nothing is believed.
  const std::optional<Card>& theirs() const { return theirs_; }
  // When it is finished: what goes on under this seal. Nothing without a key.
  std::optional<Seal> take_seal() { return std::exchange(seal_, std::nullopt); }

 private:
  enum class Role { dialler, acceptor };
  Handshake(Role role, const Terms& terms, NodeId self, StandingOf standing, std::string nonce,
            std::string binding);

  std::expected<bool, Refusal> on_hello(const Frame& frame, Bytes& out);
  std::expected<bool, Refusal> on_sealed(const Frame& frame, Bytes& out);
  std::expected<bool, Refusal> on_card(const Frame& frame, Bytes& out);
  std::optional<Refusal> objection(const Card& theirs) const;
  std::optional<Refusal> objection_to_id(NodeId from) const;
  bool members_fit(const Card& theirs) const;
  void say_hello(Bytes& out);
  void show_card(Bytes& out);
  Seal::Keys draw_keys() const;

  Role role_;
  const Terms* terms_;
  NodeId self_;
  std::string nonce_;
  std::string binding_;
  StandingOf standing_;
  bool greeted_ = false;  // their hello has arrived
  std::optional<Seal> seal_ = {};
  Card ours_ = {};
  std::optional<Card> theirs_ = {};
  std::string hellos_;  // both bodies as they went over the wire, each with its length, the dialler's first
};

}  // namespace conclave::live
