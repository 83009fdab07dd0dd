// How a call ended: gRPC's codes, and the two ways they travel (a header, or an HTTP status for the gateway).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace conclave::rpc {

enum class Code : std::uint8_t {
  ok,
  cancelled,
  unknown,
  invalid_argument,
  deadline_exceeded,
  not_found,
  already_exists,
  permission_denied,
  resource_exhausted,
  failed_precondition,
  aborted,
  out_of_range,
  unimplemented,
  internal,
  unavailable,
  data_loss,
  unauthenticated,
};

std::string_view name(Code code);

struct Status {
  Code code = Code::ok;
  std::string message = {};

  bool ok() const { return code == Code::ok; }
  bool operator==(const Status&) const = default;
};

// The value of grpc-status, and back; a number that gRPC does not know is "unknown".
std::string_view number(Code code);
Code parse_code(std::string_view digits);

// The value of grpc-message: printable ASCII as it is, everything else as %XX.
std::string encode_message(std::string_view text);
std::string decode_message(std::string_view text);

// What a gateway answers for a code, and what a client makes of an answer that no gRPC server gave.
unsigned http_status(Code code);
Code code_of_http(unsigned status);

}  // namespace conclave::rpc
