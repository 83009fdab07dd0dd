// What the rows of the bully algorithm and its forms share.
#pragma once
#include "catalogue/entry.hpp"
#include "protocols/election/bully.hpp"

namespace conclave::catalogue {

election::Bully::Setup bully_setup(const Setting& setting);
std::vector<Parameter> bully_parameters();
// Elections at random times in a world that keeps the bounds.
void bully_usual(sim::Options& options);

// What the literature has for n processes of which the greatest is dead.
struct BullyClaims {
  double smallest_starts;
  double greatest_live_starts;
  double all_start;
  double comes_back;  // the greatest one, while another coordinates
};

std::vector<Measurement> measure_bully(std::string_view row, std::uint32_t nodes, std::uint64_t seed,
                                       const BullyClaims& claims);

}  // namespace conclave::catalogue
