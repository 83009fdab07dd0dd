// Clients in line for what this member as a whole asks of the group: a lock, or to lead.
//
// To the group this member is one process. While a line is not empty the member asks; when it is granted the
// head of the line holds it; when that one gives it back, the member gives it back too and asks again for the
// next, so that clients of other members get their turn in between.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "desk/leases.hpp"
#include "rpc/caller.hpp"
#include "rpc/shares.hpp"

namespace conclave::desk {

using rpc::Caller;
using rpc::CallerPtr;

// One client's wish for a place: it waits in line, and then holds it.
struct Claim {
  std::string id = {};     // of this claim among all
  std::string place = {};  // what the group calls it
  LeaseId lease = 0;       // 0: it lives as long as the connection
  rpc::ConnectionId connection = {};
  std::string client = {};  // its address
  std::string value = {};   // that it leads with
  std::uint64_t version = 1;
  std::chrono::steady_clock::time_point since = {};  // in line, or holding
  std::uint64_t fence = 0;                           // 0: it waits
  std::uint64_t ticket = 0;                          // its number in the line
  std::vector<CallerPtr> callers = {};               // who wait for the answer
  rpc::Shares::Part part = {};
  bool holds() const { return fence > 0; }
};

struct LineLimits {
  std::size_t waiting_per_place = 10'000;
  std::size_t claims = 100'000;
};

class Lines {
 public:
  // What stands between this member and the others; either may call back at once.
  struct Source {
    std::function<void(const std::string& place)> ask;
    std::function<void(const std::string& place)> give_back;  // or take the request back
    // Calls it later, from the loop.
    std::function<void(std::function<void()>)> later;
  };
  struct Events {
    std::function<void(Claim&)> holds;        // it is the first in line, and the member was granted the place
    std::function<void(const Claim&)> ended;  // it is no longer there, and what it held is about to be free
    // It held, and does no longer: not by its own will.
    std::function<void(const Claim&, const std::string& why)> lost;
    std::function<void(const std::string& place)> stray_grant;  // that nobody waited for
  };
  struct Line {
    enum class State { idle, asked, held };
    State state = State::idle;
    Claim* holder = nullptr;
    std::map<std::uint64_t, Claim*> waiting = {};  // by ticket
  };

  Lines(LineLimits limits, Source source, Events events)
      : limits_(limits), source_(std::move(source)), events_(std::move(events)) {}

  Claim* find(const std::string& id);
  bool has_room(const std::string& place) const;
  // At the end of the line; `holds` may be told before this returns.
  void join(Claim claim);
  void end(const std::string& id);

  // What the group says.
  void granted(const std::string& place, std::uint64_t fence);
  void lost(const std::string& place, const std::string& why);

  const std::map<std::string, Line>& lines() const { return lines_; }
  std::size_t waiting() const { return waiting_; }
  std::size_t held() const { return claims_.size() - waiting_; }
  // Forgets all, telling nobody but who waits.
  void dismiss(const rpc::Status& why);

 private:
  void serve(const std::string& place);

  LineLimits limits_;
  Source source_;
  Events events_;
  std::unordered_map<std::string, Claim> claims_ = {};
  std::map<std::string, Line> lines_ = {};
  std::uint64_t last_ticket_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace conclave::desk
