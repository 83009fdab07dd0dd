// Who on this member waits for a lock or an election.
//
// A line is nothing but keys: whoever was created first under `name/` holds it, whether Lock, Campaign or a
// plain put made the key. Here stands who is to be told, and the same command that frees a lock tells the
// next.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kv/store.hpp"

namespace conclave::kv {

using WaiterId = std::uint64_t;  // the caller's name for whoever asked

struct Turn {
  WaiterId waiter = 0;
  RecordRef place =
      {};  // whose create revision is the fence; none: the place is gone, by its lease or by a delete
};

class Lines {
 public:
  explicit Lines(const Store& store) : store_(store) {}

  // The waiter's place in the line is `key`, which stands under `name/`. Several may wait for one place.
  // Whoever need not wait is among the `turns` at once.
  void wait(std::string_view name, std::string_view key, WaiterId waiter, std::vector<Turn>& turns);
  // Whoever no longer wants to know. The place remains until its key is deleted.
  void leave(WaiterId waiter);
  std::size_t size() const { return waiters_.size(); }

  // After every command, with its outcome: adds whose turn it is.
  void see(const Outcome& outcome, std::vector<Turn>& turns);

 private:
  using Line = std::multimap<std::string, WaiterId, std::less<>>;  // by place
  struct Spot {
    std::string name = {};
    std::string key = {};
  };

  void call_first(std::string_view name, std::vector<Turn>& turns);
  void dismiss(std::map<std::string, Line, std::less<>>::iterator line, std::string_view key,
               const RecordRef& place, std::vector<Turn>& turns);

  const Store& store_;
  std::map<std::string, Line, std::less<>> lines_;
  std::map<WaiterId, Spot> waiters_;
};

}  // namespace conclave::kv
