#include "catalogue/entry.hpp"
#include "catalogue/families.hpp"
#include "protocols/membership/registry.hpp"

namespace conclave::catalogue {

std::vector<Entry> membership_rows() {
  return {{.name = "discovery",
           .family = "membership",
           .title = "Discovery through a registry, or by multicast",
           .paper = "name servers and registries, in common practice",
           .source = "src/protocols/membership/registry.hpp",
           .worlds = {"tool", "live"},
           .assumes = membership::Registry::assumes,
           .cost = "one registration an instance, and two messages every time it asks",
           .remark = "conclave discover and conclave registry run it between processes"}};
}

}  // namespace conclave::catalogue
