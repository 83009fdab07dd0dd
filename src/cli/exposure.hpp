// What is said to an operator who opens a port to other machines without anything that keeps strangers out.
#pragma once
#include <expected>
#include <string>

#include "cli/serve_plan.hpp"
#include "live/members.hpp"

namespace conclave::cli {

// What is wrong with ports that are open to others without anything that keeps strangers out; and how to
// mend it.
std::expected<void, std::string> check_clients_port(const ServePlan& plan, const live::Address& listen);
std::expected<void, std::string> check_members_port(const ServePlan& plan, const live::Address& listen);

}  // namespace conclave::cli
