// Since when places in lines are taken and lines held, as far as this member has seen it, and whose client
// took a place here. The store knows neither: it has no clock but the leases', and no connections.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kv/store.hpp"

namespace conclave::etcd {

class LineTimes {
 public:
  using Clock = std::chrono::steady_clock;
  struct Place {
    Clock::time_point came = {};
    std::optional<Clock::time_point> held = {};  // since when it is the first
    std::string client = {};                     // its address; empty: of another member, or nobody said
  };

  // After every command, with its outcome.
  void see(const kv::Store& store, const kv::Outcome& outcome, Clock::time_point now = Clock::now());
  // The store is another one: what was known of places that it has too is kept.
  void restored(const kv::Store& store, Clock::time_point now = Clock::now());
  void note_client(std::string_view key, const std::string& address);

  const Place* find(std::string_view key) const;
  std::size_t size() const { return places_.size(); }

 private:
  void look_at_first(const kv::Store& store, std::string_view name, Clock::time_point now);

  std::map<std::string, Place, std::less<>> places_;  // by key
};

}  // namespace conclave::etcd
