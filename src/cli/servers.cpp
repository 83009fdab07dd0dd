#include "cli/servers.hpp"

#include <sstream>

#include "cli/terminal.hpp"

namespace conclave::cli {

void add_server_flags(CLI::App& verb, ServerFlags& flags) {
  verb.add_option("--endpoints", flags.endpoints,
                  "servers, with commas between: host:port, or with http:// or https://")
      ->envname("CONCLAVE_ENDPOINTS")
      ->capture_default_str();
  verb.add_option("--cacert", flags.options.authority,
                  "who signs the servers' certificates (PEM); implies https");
  verb.add_option("--cert", flags.options.certificate, "our certificate (PEM)");
  verb.add_option("--key", flags.options.key, "its key (PEM)");
  verb.add_option("--server-name", flags.options.server_name,
                  "the name to expect in the server's certificate");
}

std::vector<std::string> endpoints_of(const ServerFlags& flags) {
  std::vector<std::string> endpoints;
  std::istringstream list(flags.endpoints);
  for (std::string one; std::getline(list, one, ',');)
    if (!one.empty()) endpoints.push_back(one);
  return endpoints;
}

std::expected<Client, Error> connect_to(const ServerFlags& flags) {
  Options options = flags.options;
  options.endpoints = endpoints_of(flags);
  return connect(options);
}

int complain_of(std::string_view what, const Error& error) {
  const int usage = complain(fmt::format("{}: {}", what, error.message));
  return error.kind == ErrorKind::invalid ? usage : no_service;
}

}  // namespace conclave::cli
