// How verbs that need a server are told where it is.
#pragma once
#include <CLI/CLI.hpp>
#include <conclave/client.hpp>

namespace conclave::cli {

struct ServerFlags {
  std::string endpoints = "127.0.0.1:2379";  // with commas between
  Options options = {};
};

// --endpoints, or CONCLAVE_ENDPOINTS; --cacert, --cert, --key, --server-name.
void add_server_flags(CLI::App& verb, ServerFlags& flags);
std::expected<Client, Error> connect_to(const ServerFlags& flags);
// The endpoints one by one.
std::vector<std::string> endpoints_of(const ServerFlags& flags);

// Exit status where no server could be asked, or it refused.
inline constexpr int no_service = 125;
// Says what went wrong with `what`; usage_error, or no_service.
int complain_of(std::string_view what, const Error& error);

}  // namespace conclave::cli
