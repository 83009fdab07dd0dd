#include "catalogue/election/bounds.hpp"

namespace conclave::catalogue {

std::vector<Parameter> bounds_parameters() {
  return {{"T_t", "the longest a message travels, in ticks", "10", 1, 1'000'000},
          {"T_p", "the longest a process needs to answer, in ticks", "1", 0, 1'000'000}};
}

std::uint64_t number_of(const Setting& setting, const std::string& parameter, std::uint64_t usual) {
  const auto set = setting.parameters.find(parameter);
  return set == setting.parameters.end() ? usual : std::stoull(set->second);
}

election::Bounds bounds_of(const Setting& setting) {
  const election::Bounds usual;
  return {.transmission = {number_of(setting, "T_t", usual.transmission.count)},
          .processing = {number_of(setting, "T_p", usual.processing.count)}};
}

}  // namespace conclave::catalogue
