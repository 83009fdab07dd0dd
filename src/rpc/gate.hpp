// Which requests over plain HTTP are let in. A page in somebody's browser can send requests to whatever that
// browser reaches, this server too, and its user is not asked: docs/decisions/0024 says how they are told
// from those that a program makes.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/http.hpp"

namespace conclave::rpc {

// Whom a path is for.
enum class Access : std::uint8_t {
  anybody,    // it tells something, and has no effects
  calls,      // the API, by JSON
  operators,  // the same, and nothing that a browser should ever do
};

enum class Objection : std::uint8_t { host, origin, type };

struct Refusal {
  Objection objection;
  unsigned status;
  std::string text;
};

// What is said to a request that is not let in. `is_ours`: whether clients call this server by that name.
std::optional<Refusal> refusal_of(const HttpRequest& request, Access access,
                                  const std::function<bool(std::string_view name)>& is_ours);

// The host of "host:port", without its port and brackets, in lower case.
std::string host_in(std::string_view authority);
bool is_address(const std::string& host);

}  // namespace conclave::rpc
