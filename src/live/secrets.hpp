// What the handshake needs of cryptography, by OpenSSL.
#pragma once
#include <string>
#include <string_view>

namespace conclave::live {

std::string sha256(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);

// Takes the same time wherever the first difference is, so that a guesser learns nothing from being wrong.
bool same_secret(std::string_view a, std::string_view b);

// Bytes that nobody can foresee.
std::string fresh_nonce();

}  // namespace conclave::live
