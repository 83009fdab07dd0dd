// Exactly once: the part of a replicated state machine that remembers what each client was answered.
// A client numbers its commands and repeats one until it is answered; the log may so hold a command twice.
// Sessions are part of the replicated state, so every server skips the same repetitions.
//
// Paper     D. Ongaro, J. Ousterhout. USENIX ATC, 2014, section 8.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

namespace conclave::raft {

template <class ClientId, class Answer>
struct Sessions {
  struct Last {
    std::uint64_t serial = 0;
    Answer answer = {};
    bool operator==(const Last&) const = default;
  };
  // An older command than the last: the client has its answer, or gave up; nobody waits for this one.
  struct Stale {
    bool operator==(const Stale&) const = default;
  };

  std::map<ClientId, Last> last = {};
  bool operator==(const Sessions&) const = default;

  bool applied(const ClientId& client, std::uint64_t serial) const {
    const auto found = last.find(client);
    return found != last.end() && serial <= found->second.serial;
  }

  // Runs `command` unless it ran before; a repetition of the last one gets the same answer again.
  template <class Command>
  std::variant<Answer, Stale> apply(const ClientId& client, std::uint64_t serial, Command&& command) {
    const auto found = last.find(client);
    if (found == last.end() || serial > found->second.serial)
      return last.insert_or_assign(client, Last{serial, std::forward<Command>(command)()})
          .first->second.answer;
    if (serial == found->second.serial) return found->second.answer;
    return Stale{};
  }
};

}  // namespace conclave::raft
