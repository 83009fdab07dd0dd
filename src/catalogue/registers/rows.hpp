// The rows of the shared-memory family, and what they have in common.
#pragma once
#include "catalogue/entry.hpp"
#include "core/program.hpp"
#include "sim/schedule.hpp"

namespace conclave::catalogue {

Entry dijkstra();
Entry bakery();

std::unique_ptr<trace::Monitor> registers_monitor(const sim::Options& options, const Setting& setting);
// More contention than messages need: an entry is a few dozen instructions.
void usual_registers(sim::Options& options);
Parameter schedule_parameter();
std::optional<std::string> refuse_schedule(const sim::Options& options, const Setting& setting);

// The variants `safe` and `buffered` are the algorithm as it stands, on such registers; `unfenced` lacks the
// memory fences on the latter.
// Grants carry fencing tokens, unless the parameter says otherwise: a token that grows for ever makes
// infinitely many states.
Parameter tokens_parameter();
bool with_tokens(const Setting& setting);
Registers registers_of(const Setting& setting);
sim::Schedule schedule_of(const Setting& setting, std::uint32_t nodes);

// What one process alone reads and writes per entry, over its second and later entries.
struct Alone {
  double reads = 0;
  double writes = 0;
};
Alone measure_alone(const Entry& entry, std::uint32_t nodes, std::uint64_t seed, bool taking_turns);
// Under contention: everybody asks again at once, and leaves at once.
struct Contended {
  double accesses = 0;  // per entry
  std::uint64_t most_overtaken = 0;
  std::uint64_t highest_ticket = 0;
};
Contended measure_contended(const Entry& entry, std::uint32_t nodes, std::uint32_t entries,
                            std::uint64_t seed);

}  // namespace conclave::catalogue
