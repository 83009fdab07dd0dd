// A computation whose state is to be recorded while it runs: processes pay each other money, and now and
// then somebody asks for a snapshot of all of them. No money is made or lost, so that a snapshot which
// is no possible state of the whole shows itself.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <variant>

#include "core/ensure.hpp"
#include "core/node_id.hpp"
#include "core/node_set.hpp"

namespace conclave::causality {

struct Pay {
  NodeId to = {};
  std::uint64_t amount = 0;  // at most: nobody pays what he does not have
  bool operator==(const Pay&) const = default;
};
struct Record {
  bool operator==(const Record&) const = default;
};

struct SnapshotId {
  NodeId initiator = {};
  std::uint32_t number = 0;
  auto operator<=>(const SnapshotId&) const = default;
};

// The process has written down its own state. This step is its place on the frontier of the cut.
struct Recorded {
  SnapshotId snapshot = {};
  std::uint64_t balance = 0;
  bool operator==(const Recorded&) const = default;
};
// And it knows what was under way to it.
struct Completed {
  SnapshotId snapshot = {};
  std::uint64_t in_transit = 0;
  bool operator==(const Completed&) const = default;
};

struct Spec {
  using Command = std::variant<Pay, Record>;
  using Event = std::variant<Recorded, Completed>;

  // Pays now this one and now that one; the recorder asks for a snapshot after every few payments.
  struct Client {
    NodeId self = {};
    NodeSet peers = {};
    std::uint32_t record_every = 0;  // payments; 0: never
    std::uint32_t wishes = 0;
    std::uint32_t requests = 0;
    bool recorded = false;         // since the last payment
    std::uint32_t incomplete = 0;  // snapshots begun here and not finished here
    bool operator==(const Client&) const = default;

    bool holding() const { return false; }
    bool content() const { return wishes == 0 && incomplete == 0; }
    std::optional<Command> next() const {
      if (wishes == 0 || peers.empty()) return std::nullopt;
      if (record_every > 0 && !recorded && requests % record_every == record_every - 1) return Record{};
      return Pay{nth_peer(requests * 7 + self.value), 1 + (requests * 13 + self.value) % 9};
    }
    bool may(const Command&) const { return true; }
    void wish() { ++wishes; }
    void issue(const Command& command) {
      if (std::holds_alternative<Record>(command)) {
        recorded = true;
        return;
      }
      recorded = false;
      ++requests;
      if (wishes > 0) --wishes;
    }
    void crash() {}
    void see(const Event& event) {
      if (std::holds_alternative<Recorded>(event)) ++incomplete;
      if (std::holds_alternative<Completed>(event)) {
        ensure(incomplete > 0, "a snapshot is complete after it was begun");
        --incomplete;
      }
    }

    NodeId nth_peer(std::uint32_t n) const {
      return *std::next(peers.begin(), static_cast<std::ptrdiff_t>(n % peers.size()));
    }
  };
};

}  // namespace conclave::causality
