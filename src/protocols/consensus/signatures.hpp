// Signatures that nobody can forge: Ed25519 (Bernstein, Duif, Lange, Schwabe, Yang, CHES 2011), by OpenSSL.
//
// A process signs with its private key; everybody knows all public keys. Both are derived from one number
// and the process's id, so that a run is a function of its seed: whoever knows the number could sign for
// anybody. Real processes would draw their keys and keep them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/node_id.hpp"

namespace conclave::consensus {

struct Keys {
  std::uint64_t origin = 0;
  bool operator==(const Keys&) const = default;
};

// In hexadecimal digits: it stands in traces.
std::string sign(const Keys& keys, NodeId signer, std::string_view text);

// False also for what is no signature at all.
bool verify(const Keys& keys, NodeId signer, std::string_view text, std::string_view signature);

}  // namespace conclave::consensus
