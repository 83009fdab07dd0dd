#include "cli/addresses.hpp"

#include <sys/stat.h>

#include <charconv>

#include "cli/terminal.hpp"
#include "rpc/address.hpp"

namespace conclave::cli {

std::expected<live::Address, std::string> address_in(std::string_view text, std::uint16_t usual_port) {
  const bool has_port = text.ends_with(']') ? false : text.contains(':');
  auto parsed = rpc::parse_address(has_port || usual_port == 0 ? std::string(text)
                                                               : fmt::format("{}:{}", text, usual_port));
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return live::Address{parsed->host, static_cast<std::uint16_t>(std::stoul(parsed->port))};
}

std::expected<std::vector<live::Peer>, std::string> members_in(std::string_view text) {
  std::vector<live::Peer> members;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    std::uint32_t id = 0;
    const char* const end = one.data() + (equals == one.npos ? 0 : equals);
    if (const auto [rest, error] = std::from_chars(one.data(), end, id); error != std::errc{} || rest != end)
      return std::unexpected(fmt::format("'{}' is no member: write ID=HOST:PORT", one));
    auto address = address_in(one.substr(equals + 1));
    if (!address) return std::unexpected(std::move(address.error()));
    members.push_back({{id}, address->host, address->port});
  }
  return members;
}

std::string members_text(const std::vector<live::Peer>& members) {
  std::string text;
  for (const live::Peer& member : members)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", member.id.value, in_words(member.address()));
  return text;
}

std::expected<std::string, std::string> key_in(const std::string& path) {
  if (path.empty()) return std::string();
  // A key that others may read is no secret.
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) == 0 && (facts.st_mode & (S_IRGRP | S_IROTH)) != 0)
    return std::unexpected(fmt::format("{} can be read by others: chmod 600 {}", path, path));
  auto key = read_file(path);
  if (!key) return key;
  while (key->ends_with('\n') || key->ends_with('\r')) key->pop_back();
  if (key->size() < 16)
    return std::unexpected(
        fmt::format("{} has fewer than 16 bytes: head -c 32 /dev/urandom | base64 > {}", path, path));
  return key;
}

}  // namespace conclave::cli
