// Fills the function of an entry that lets real processes compete for a section over shared memory.
#pragma once
#include "catalogue/entry.hpp"
#include "live/register_tally.hpp"

namespace conclave::catalogue {

// Memory is what it is: variants on other registers, and the trace of each access, are the simulator's.
template <Withdraws P>
void bind_live_registers(Entry& entry) {
  entry.play = [](const live::Casting& casting, const Setting&, trace::Observer&) {
    return live::play_registers<P>(casting);
  };
}

}  // namespace conclave::catalogue
