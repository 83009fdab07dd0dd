// A figure of a paper, measured again and shown next to what the paper says.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace conclave::cli {

struct FigureOrder {
  std::string row;  // of the catalogue
  std::string name;
  std::optional<std::int64_t> trials = {};
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  std::vector<std::string> set = {};
  std::string plot = {};
  bool json = false;
};

int show_figure(const FigureOrder& order);

}  // namespace conclave::cli
