// What `conclave serve` is told, by flags and by a file: the flags count where both speak.
#pragma once
#include <expected>
#include <map>
#include <string>
#include <vector>

#include "live/links.hpp"

namespace conclave::cli {

struct ServePlan {
  std::string engine = {};
  std::string variant = {};
  std::uint32_t id = 0;
  std::string group = {};
  std::vector<std::string> members = {};  // "1=host:port"
  std::vector<std::string> clients = {};  // "1=host:port", where clients reach whom
  std::string listen = {};                // for members, if not where the list says
  std::string client = {};                // for clients
  std::string key_file = {};
  std::string tls_cert = {};
  std::string tls_key = {};
  std::string tls_ca = {};
  bool client_tls = false;
  std::vector<std::string> set = {};  // "name=value"
  double down_after = 0;              // seconds; 0: the usual
  double forget_after = 0;
  std::string trace = {};
};

// Fills what the flags left open. One sentence that names the file, the line and what is wrong.
std::expected<void, std::string> read_plan(const std::string& path, ServePlan& plan);

// "1=host:port" and the like, or what is wrong with it.
std::expected<live::Peer, std::string> read_peer(const std::string& text);
std::expected<live::Address, std::string> read_address(const std::string& text);

}  // namespace conclave::cli
