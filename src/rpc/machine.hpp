// What this machine has for a server: descriptors, and memory.
#pragma once
#include <cstddef>
#include <string>

#include "rpc/limits.hpp"

namespace conclave::rpc {

// Raises this process's soft limit of descriptors to the hard one. How many it may have now.
std::size_t raise_descriptors();

// Of so many descriptors, those that clients may have: the others are for the disk and for peers.
std::size_t descriptors_for_clients(std::size_t descriptors);

// The machine's memory, or less if this process may have only a part of it. `root`: where /proc and /sys are.
std::size_t machine_memory(const std::string& root = "");

// The usual share of it for clients.
std::size_t memory_for_clients(std::size_t machine_memory);

// For a server on this machine; with so much memory for clients, or (0) the usual share.
ServerLimits limits_here(std::size_t client_memory = 0);

}  // namespace conclave::rpc
