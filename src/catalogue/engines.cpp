#include "catalogue/engines.hpp"

#include "core/ensure.hpp"

namespace conclave::catalogue {

std::vector<std::string> engines() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.engine) names.emplace_back(entry.name);
  }
  return names;
}

std::vector<std::string> lock_engines() {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.engine && entry.family == "mutex") names.emplace_back(entry.name);
  }
  return names;
}

live::Engine engine_of(const Entry& entry, Setting setting) {
  ensure(entry.engine != nullptr, "only some algorithms run as a service");
  // A tick is a millisecond. The usual bounds are those of a simulated network, and a busy machine answers
  // later; a token that nobody wants would keep every processor busy.
  constexpr std::pair<std::string_view, std::string_view> usual[] = {
      {"T_t", "100"}, {"T_p", "50"}, {"hop", "500"}, {"patience", "1000"}, {"rest", "5"}};
  for (const auto& [name, value] : usual) {
    const bool takes = std::ranges::find(entry.parameters, name, &Parameter::name) != entry.parameters.end();
    if (takes) setting.parameters.try_emplace(std::string(name), value);
  }
  setting.protocol = entry.name;
  return entry.engine(setting);
}

}  // namespace conclave::catalogue
