// Whether a port can be reached from other machines, and what is said to who opens it to all of them.
#pragma once
#include <expected>
#include <string>

#include "cli/serve_plan.hpp"
#include "live/members.hpp"

namespace conclave::cli {

// False of what is on this machine only, and of names that nobody knows: who listens there is told so.
bool reached_from_elsewhere(const live::Address& address);

// What is wrong with ports that are open to others without anything that keeps strangers out; and how to
// mend it.
std::expected<void, std::string> check_clients_port(const ServePlan& plan, const live::Address& listen);
std::expected<void, std::string> check_members_port(const ServePlan& plan, const live::Address& listen);

}  // namespace conclave::cli
