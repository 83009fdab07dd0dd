// Events, cuts and checkpoints as people write them: alice.3, alice=3,bob=5.
#pragma once
#include <expected>
#include <string>

#include "causality/log.hpp"
#include "causality/recovery.hpp"

namespace conclave::causality {

// alice.3 or alice:3. The error says what there is instead.
std::expected<EventId, std::string> parse_event(const std::string& text, const Execution& execution);
// alice=3,bob=5; whoever is not named has done nothing yet.
std::expected<Cut, std::string> parse_cut(const std::string& text, const Execution& execution);
// alice=2,alice=5,bob=3: after which events who saved its state.
std::expected<Checkpoints, std::string> parse_checkpoints(const std::string& text,
                                                          const Execution& execution);

std::string to_text(const Cut& cut, const Execution& execution);
// alice.1–4 → bob.2, at most so many stretches from either end.
std::string to_text(const std::vector<Stretch>& path, const Execution& execution, std::size_t most = 12);

}  // namespace conclave::causality
