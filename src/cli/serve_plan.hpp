// What `conclave serve` is told, by flags and by a file: the flags count where both speak.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

namespace conclave::cli {

struct ServePlan {
  std::string engine = {};
  std::string variant = {};
  std::uint32_t id = 0;
  std::string group = {};
  std::string members = {};                      // "1=host:port,2=host:port"
  std::string clients = {};                      // the same, where clients reach whom
  std::string via = {};                          // the same, where members are dialled behind a forward
  std::string discover = {};                     // find the members of this group instead
  std::uint32_t expect = 0;                      // … so many
  std::string registry = {};                     // … through this address
  std::string listen = {};                       // for members, if not where the list says
  std::string client = {};                       // for clients
  std::string data = {};                         // where the engine raft keeps its log
  std::string compaction_mode = {};              // of history: periodic or revision
  std::string retention = {};                    // … and how much of it stays
  std::string quota = {};                        // what the store may take
  bool join = false;                             // a cluster that is there already
  std::vector<std::uint64_t> skip_entries = {};  // of the log, that count as nothing
  std::string key_file = {};
  std::string tls_cert = {};
  std::string tls_key = {};
  std::string tls_ca = {};
  bool client_tls = false;
  std::string client_ca = {};         // who signs the certificates that clients must show
  std::string client_hosts = {};      // names by which clients call this member, with commas between
  std::string client_memory = {};     // for all of them together
  bool insecure_clients = false;      // on an address that others reach, without TLS
  bool insecure_members = false;      // likewise, without a key and without TLS
  std::vector<std::string> set = {};  // "name=value"
  double down_after = 0;              // seconds; 0: the usual
  double forget_after = 0;
  std::string trace = {};
};

// Fills what the flags left open. One sentence that names the file, the line and what is wrong.
std::expected<void, std::string> read_plan(const std::string& path, ServePlan& plan);

}  // namespace conclave::cli
