// Who is in a group, and what all of them must agree on before they talk.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/node_id.hpp"

namespace conclave::live {

struct Address {
  std::string host = {};
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};
std::string in_words(const Address& address);

// Whether other machines reach what listens there: not if it is a loopback address, or a name all of whose
// addresses are such. Asks the resolver of the system for a name, and waits for it. False of a name that is
// not known: listening there fails anyway.
bool reached_from_elsewhere(const std::string& host);

struct Peer {
  NodeId id = {};
  std::string host = {};
  std::uint16_t port = 0;
  Address address() const { return {host, port}; }
};

// How far the members of a group agree on who they are, before they talk.
enum class MemberList : std::uint8_t {
  fixed,     // all have the same list, for ever
  founding,  // the same list at first; it will change
  changing,  // whoever has the key of the group and an id that is known is a member
};

// SHA-256 over a line "id=host:port" for each, by ascending id: equal lists have equal digests, however they
// were written down.
std::string members_digest(std::vector<Peer> members);

// What is wrong with the list, as a sentence; nothing if `self` can be one of them.
std::string wrong_with(const std::vector<Peer>& members, NodeId self);

}  // namespace conclave::live
