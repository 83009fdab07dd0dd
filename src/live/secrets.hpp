// What links need of cryptography, by OpenSSL; the cipher is in seal.hpp.
#pragma once
#include <string>
#include <string_view>

namespace conclave::live {

std::string sha256(std::string_view text);
std::string hmac_sha256(std::string_view key, std::string_view text);

// RFC 5869: as many bytes as are wanted, for one use each, of a secret.
std::string hkdf_sha256(std::string_view secret, std::string_view salt, std::string_view use,
                        std::size_t bytes);

// Takes the same time wherever the first difference is, so that a guesser learns nothing from being wrong.
bool same_secret(std::string_view a, std::string_view b);

// Bytes that nobody can foresee.
std::string fresh_nonce();

}  // namespace conclave::live
