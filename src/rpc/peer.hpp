// Who is at the other end of a connection.
#pragma once
#include <cstdint>
#include <string>

namespace conclave::rpc {

// Never used twice by one server. What lives as long as its client's connection is filed under it.
enum class ConnectionId : std::uint64_t {};

struct Peer {
  ConnectionId connection = {};
  std::string address = {};           // "192.0.2.7:4711"
  std::string certificate_name = {};  // CN of its certificate, if one was asked for
};

}  // namespace conclave::rpc
