// Who leads which election, as far as the desks told each other. Bounded for each member that tells.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/node_id.hpp"
#include "desk/notes.hpp"

namespace conclave::desk {

struct LeaderLimits {
  // Not less than what the clients of one member can ask for.
  std::size_t names_per_member = 100'000;
  std::size_t bytes_per_member = 320 * 1024 * 1024;
};

class Leaders {
 public:
  struct Told {
    NodeId member;
    const Leads* leads;
  };

  explicit Leaders(LeaderLimits limits = {}) : limits_(limits) {}

  // False if that member told too much already. Names whose leader changed are then in `changed`.
  bool take(NodeId from, const Note& note);
  // It starts anew, or will not come back.
  void forget(NodeId member);
  // The names that `take` and `forget` touched since it was last asked.
  std::vector<std::string> changed() { return std::exchange(changed_, {}); }

  // Locks give fences that grow: the greatest there ever was is the present leader, unless that ended.
  std::optional<Told> greatest(const std::string& name) const;
  // What that member said, where something else says who leads.
  const Leads* told_by(const std::string& name, NodeId member) const;
  // Everything that one member leads.
  std::vector<const Leads*> all_of(NodeId member) const;
  std::vector<std::string> names() const;

 private:
  struct Election {
    std::uint64_t greatest = 0;  // fence
    std::map<NodeId, Leads> told = {};
  };
  struct Account {
    std::size_t names = 0;
    std::size_t bytes = 0;
  };

  bool leads(NodeId from, const Leads& note);
  void ended(NodeId from, const Ended& note);
  void drop(Election& election, NodeId member);
  void forget_old_names();

  LeaderLimits limits_;
  std::map<std::string, Election> elections_ = {};
  std::map<NodeId, Account> accounts_ = {};
  std::vector<std::string> changed_ = {};
};

}  // namespace conclave::desk
