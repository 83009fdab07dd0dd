// Addresses, lists of members and keys, as users write them.
#pragma once
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "live/members.hpp"

namespace conclave::cli {

// host:port, or a host alone if there is a usual port (not 0).
std::expected<live::Address, std::string> address_in(std::string_view text, std::uint16_t usual_port = 0);

// 1=host:port,2=host:port,…
std::expected<std::vector<live::Peer>, std::string> members_in(std::string_view text);
std::string members_text(const std::vector<live::Peer>& members);

// The contents of a file without the end of its line; empty for no file.
std::expected<std::string, std::string> key_in(const std::string& path);

}  // namespace conclave::cli
