// A refusal, as the JSON gateway tells it.
#pragma once
#include <string>

#include "rpc/status.hpp"

namespace conclave::rpc {

std::string error_json(const Status& status);

}  // namespace conclave::rpc
