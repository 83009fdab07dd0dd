// What the steps of an election tell, in the words of vectors: who sent what, for whose election, and what
// came of it. The same for runs directed by hand and for runs in virtual time.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accept/vectors.hpp"
#include "core/node_set.hpp"
#include "trace/election_monitor.hpp"
#include "trace/step.hpp"

namespace conclave::accept::election {

class ElectionStory {
 public:
  struct Message {
    std::uint64_t id = 0;
    std::uint64_t step = 0;  // that sent it
    Ticks at = {};
    std::string type = {};  // ELECTION
    NodeId from = {};
    NodeId to = {};
    Json content = {};
    std::optional<NodeId> initiator = {};  // whose election it belongs to
    bool bounced = false;                  // an attempt: its receiver was down, and the sender knew
  };

  explicit ElectionStory(const std::vector<trace::Step>& steps);

  // Without attempts, in the order of sending.
  const std::vector<Message>& messages() const { return messages_; }
  Json sent() const;  // by type
  Json attempts() const;
  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t lost_to_dead() const { return lost_; }
  // Who began to announce a winner, in order of time.
  const std::vector<NodeId>& announcers() const { return announcers_; }
  // When that process last decided that it had won itself.
  std::optional<Ticks> decided(NodeId winner) const;
  Json receipts() const;  // of announcements: by receiver, [time, from]
  Json lists() const;     // that ELECTION messages carried
  Json sequence(const Json& wanted, const Json& columns, std::optional<NodeId> initiator = {}) const;
  // The state of affairs when that many messages had been sent.
  Json snapshot(std::size_t sends) const;

 private:
  void look_at(const trace::Step& step);
  const Message* find(std::uint64_t id) const;
  Message* returned(const trace::Step& step);

  struct Change {
    std::uint64_t step;
    NodeId node;
    bool takes_part;
  };

  std::vector<Message> messages_;
  std::map<std::uint64_t, std::size_t> place_;  // of each message, by its id
  std::vector<Message> attempts_;
  std::vector<NodeId> announcers_;
  std::vector<Change> changes_;
  std::map<NodeId, Ticks> decided_;
  std::map<NodeId, Json> receipts_;
  std::uint64_t delivered_ = 0;
  std::uint64_t lost_ = 0;
};

// Everything that an election vector may ask about one run.
Json election_outcome(const Vector& vector, const std::vector<trace::Step>& steps,
                      const trace::ElectionMonitor& monitor, const NodeSet& members);

// For rows and processes of vectors.
NodeId process(const Json& value);
std::vector<NodeId> processes(const Json& list);
Json to_json(const std::vector<NodeId>& nodes);

}  // namespace conclave::accept::election
