// What a drawing of a run has to know beside its steps, and how it says in words what happened in one.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/step.hpp"

namespace conclave::trace {

// A message of the run, by the step that sent it.
struct Flight {
  std::size_t row = 0;
  NodeId from = {};
  const Sent* sent = nullptr;
  bool by_application = false;
};

// Who takes part, and what is sent.
struct Cast {
  NodeSet nodes = {};
  std::unordered_map<std::uint64_t, Flight> flights = {};  // by message id
  std::map<NodeId, std::string> names = {};                // of those that are not p1, p2, …

  std::string name(NodeId node) const;
  const Flight* flight(const Step& step) const {
    const auto found = step.message ? flights.find(*step.message) : flights.end();
    return found == flights.end() ? nullptr : &found->second;
  }
};

// The steps that are worth a row, as many as fit.
struct Rows {
  std::vector<const Step*> steps = {};
  std::size_t left_out = 0;
};

Rows first_rows(const std::vector<Step>& steps, std::size_t most);
Cast cast_of(const Header& header, const std::vector<const Step*>& rows);

struct Condition {
  bool down = false;
  bool paused = false;
  bool waiting = false;
  bool inside = false;
  bool operator==(const Condition&) const = default;
};

// The condition of every node, step after step.
class Conditions {
 public:
  void see(const Step& step);
  Condition of(NodeId node) const;
  // Who was inside when this step let its node in: nobody, if the algorithm is right.
  NodeSet intruded_upon_by(const Step& step) const;

 private:
  std::map<NodeId, Condition> nodes_;
};

bool grants(const Step& step);
std::string name_of(NodeId node);
std::string names_of(const NodeSet& nodes);
std::string in_words(const Step& step, const Cast& cast, const NodeSet& intruded_upon = {});

// Type and fields of a message, an event or a command; the fields only if they are short enough to help.
std::string describe(const Item& item);

inline bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }

// Every character counts as one column: true for all that we draw ourselves.
inline std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// How many bytes the first characters take.
inline std::size_t first_bytes(std::string_view text, std::size_t characters) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_character(text[at]) && characters-- == 0) break;
  }
  return at;
}

// Not for terminals, and not for XML.
inline bool is_control(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

}  // namespace conclave::trace
