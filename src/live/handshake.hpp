// The handshake of a link as a value without sockets: frames in, frames out, and in the end either both sides
// know who the other is, or one tells the other why not.
//
//   dialler → acceptor   Hello: who I am, what I take for granted, what I have of yours, a nonce
//   acceptor → dialler   Hello: the same from the other side
//   dialler → acceptor   Proof: HMAC with the shared key over both hellos
//   acceptor → dialler   Proof: … and over the dialler's proof
//
// Each proof covers both fresh nonces and every byte of both hellos, so neither can be replayed, reflected or
// altered. With TLS it also covers a secret of the TLS session: a proof cannot be carried into another one.
// Without TLS the handshake says who is at the other end when the connection begins, and no more.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "live/frames.hpp"
#include "live/members.hpp"

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

// One side of a link as its hello shows it.
struct Standing {
  std::uint64_t incarnation = 0;
  std::uint64_t stream = 0;
  std::uint64_t first_stream = 0;
  Knowledge knows = {};
};

class Handshake {
 public:
  // The smaller id dials.
  static Handshake dial(const Terms& terms, NodeId self, NodeId peer, const Standing& ours,
                        std::uint64_t attempt, std::string nonce, std::string binding, Bytes& out);
  // `standing` says where we stand with the peer that the hello names.
  static Handshake accept(const Terms& terms, NodeId self, std::function<Standing(NodeId)> standing,
                          std::string nonce, std::string binding);

  // True when it is finished. What is to be sent is appended to `out`.
  std::expected<bool, Refusal> on_frame(const Frame& frame, Bytes& out);

  const Hello& ours() const { return ours_; }
  // Known as soon as its hello has arrived; true only when the handshake is finished.
  const std::optional<Hello>& theirs() const { return theirs_; }

 private:
  enum class Role { dialler, acceptor };
  Handshake(Role role, const Terms& terms, NodeId self, std::string nonce, std::string binding);

  std::expected<bool, Refusal> on_hello(const Frame& frame, Bytes& out);
  std::expected<bool, Refusal> on_proof(const Frame& frame, Bytes& out);
  std::optional<Refusal> objection(const Hello& theirs) const;
  std::optional<Refusal> objection_to_id(NodeId from) const;
  bool members_fit(const Hello& theirs) const;
  void say_hello(Bytes& out);
  std::string proof_by(Role prover) const;

  Role role_;
  const Terms* terms_;
  NodeId self_;
  std::string binding_;
  std::function<Standing(NodeId)> standing_;
  Hello ours_ = {};
  std::optional<Hello> theirs_ = {};
  std::string hellos_;  // both bodies as they went over the wire, each with its length, the dialler's first
};

}  // namespace conclave::live
